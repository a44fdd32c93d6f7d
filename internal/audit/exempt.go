// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/fault"
)

// KnownID reports whether one of the checks has the ID.
func KnownID(checks []Check, id string) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.ID == id })
}

// CheckExempt rejects an exemption without a reason, or of a check that does not
// exist: it would have no effect, and nobody would notice.
func CheckExempt(checks []Check, exempt map[string]string) error {
	for _, id := range slices.Sorted(maps.Keys(exempt)) {
		switch {
		case !KnownID(checks, id):
			return fault.New(fault.ConfigInvalid, fmt.Sprintf("audit.exempt names %q, and there is no such check.", id)).
				WithFix("Take an id from docs/audit.md or from the checks of: sentinel --security-audit")
		case strings.TrimSpace(exempt[id]) == "":
			return fault.New(fault.ConfigInvalid, fmt.Sprintf("audit.exempt gives no reason for %q.", id)).
				WithFix("Write down why the check does not count on this machine: {id: " + id + ", reason: ...}")
		}
	}
	return nil
}
