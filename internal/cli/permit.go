// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

// permit refuses what the caller may not have done, before anything is looked
// at: a refusal must not tell what only root can see.
//
// The policy is enforced here, as root, and not only where requests come from: a
// caller who may use sudo can start sentinel without sentinel-mcp.
func (s session) permit(call invocation) error {
	op := call.op
	switch {
	case op.Privilege == ops.NeedsRoot && !s.root:
		return fault.New(fault.PermissionDenied, op.Name+" needs root.").WithFix(permissionFix(call))
	case op.OptIn && call.request && !slices.Contains(s.config.Policy.EnabledTools, op.Name):
		return fault.New(fault.DisabledByPolicy, op.Name+" is off for programs until policy.enabled_tools of this machine's configuration names it.").
			WithFix("The administrator of this machine can switch it on in /etc/sentinel/config.yaml with policy: {enabled_tools: [" + op.Name + "]}, or run it at a shell: sudo sentinel " + op.Spelled())
	case !limited(s.who):
		return nil
	case slices.Contains(s.config.Policy.DisabledTools, op.Name):
		return fault.New(fault.DisabledByPolicy, op.Name+" is switched off by policy.disabled_tools of this machine's configuration.")
	case s.config.Policy.ReadOnly && op.Effect != ops.Read:
		return fault.New(fault.DisabledByPolicy, op.Name+" is refused: policy.read_only of this machine's configuration allows reading alone.")
	default:
		return nil
	}
}

// permissionFix names the command that would do it. An assistant cannot type
// it; its user can, or can install the rules of sudo.
func permissionFix(call invocation) string {
	if call.request {
		return "Allow the tool in sudoers: install packaging/sudoers.d/sentinel as /etc/sudoers.d/sentinel with visudo, then check with: sentinel --doctor"
	}
	command := "sudo sentinel " + call.typed()
	if call.force {
		command += " --force"
	}
	return "Run it with sudo: " + command
}

// writesPerMinute bounds what is not destructive: a caller could otherwise let
// in every blocked address within seconds, and fill the journal.
const writesPerMinute = 60

// sendsPerMinute bounds what is sent out on behalf of root.
const sendsPerMinute = 60

// rateLimit bounds the changes of those whom the policy limits; nil is no bound.
func (s session) rateLimit(op ops.Operation) *journal.Limit {
	switch {
	case !limited(s.who):
		return nil
	case op.Effect == ops.Destructive:
		return &journal.Limit{Most: s.config.Policy.DestructivePerMinute, Within: time.Minute, Counts: countsAs(ops.Destructive)}
	case op.Effect == ops.SendsOut:
		return &journal.Limit{Most: sendsPerMinute, Within: time.Minute, Counts: countsAs(ops.SendsOut)}
	default:
		return &journal.Limit{Most: writesPerMinute, Within: time.Minute, Counts: countsAs(ops.Destructive, ops.Write)}
	}
}

// countsAs counts what limited callers did of these effects.
func countsAs(effects ...ops.Effect) func(journal.Record) bool {
	return func(r journal.Record) bool {
		op, known := ops.ByName(r.Tool)
		return known && slices.Contains(effects, op.Effect) && r.Who != nil && limited(*r.Who)
	}
}
