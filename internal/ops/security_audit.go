// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var securityAudit = Operation{
	Name:   "security_audit",
	Action: "security_audit",
	Flag:   "security-audit",
	Alias:  "audit",
	Title:  "Security audit",
	Description: "Run a security posture assessment: SSH, accounts, sudo, file permissions, firewall, exposed services, updates, encryption, kernel settings. " +
		"Use when user asks \"Is my system secure?\" or for compliance checks. " +
		"What is wrong has its evidence and a fix. skipped lists what was not checked and why; score counts only what was, and coverage says how much that is. " +
		"changed compares with the audit before. Changes nothing." + dataOnly,
	Usage:      "how well this machine is protected",
	Toolset:    DefaultToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantRead,
	Deadline:   44 * time.Second,
	Lists:      true,
	Fields:     []Field{verbose("Also what passed with its value, and descriptions, references and all evidence")},
}
