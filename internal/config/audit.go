// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// Audit adapts security_audit.
type Audit struct {
	// Exempt lists checks that are not made on this machine.
	Exempt []Exemption `yaml:"exempt"`
}

// An Exemption is a check that does not count, and why.
type Exemption struct {
	ID     string `yaml:"id"`
	Reason string `yaml:"reason"`
}

// Reasons are the exemptions by id.
func (a Audit) Reasons() map[string]string {
	reasons := map[string]string{}
	for _, e := range a.Exempt {
		reasons[e.ID] = e.Reason
	}
	return reasons
}

// check leaves the ids to the audit, which knows its checks.
func (a Audit) check() error {
	seen := map[string]bool{}
	for _, e := range a.Exempt {
		switch {
		case e.ID == "" || strings.TrimSpace(e.Reason) == "":
			return fmt.Errorf("audit.exempt: %q needs an id and a reason, {id: ID, reason: WHY}", e.ID)
		case seen[e.ID]:
			return fmt.Errorf("audit.exempt names %q twice", e.ID)
		}
		seen[e.ID] = true
	}
	return nil
}
