// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// Audit holds the settings of security_audit.
type Audit struct {
	// Exempt lists the checks that are not run on this machine.
	Exempt []Exemption `yaml:"exempt"`
}

// An Exemption is a check that is not run, and the reason.
type Exemption struct {
	ID     string `yaml:"id"`
	Reason string `yaml:"reason"`
}

// Reasons returns the reasons of the exemptions by check ID.
func (a Audit) Reasons() map[string]string {
	reasons := map[string]string{}
	for _, e := range a.Exempt {
		reasons[e.ID] = e.Reason
	}
	return reasons
}

// check does not know which IDs exist; the audit rejects unknown ones.
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
