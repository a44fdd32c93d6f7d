// SPDX-License-Identifier: Apache-2.0

package ops

import "slices"

// A Grant is an alias of the shipped rules of sudo (packaging/sudoers.d/sentinel). An administrator
// gives each apart to the members of the group. The file is generated from this table.
type Grant string

// The grants. An operation of which root has no use has none.
const (
	GrantRead    Grant = "SENTINEL_READ"
	GrantState   Grant = "SENTINEL_STATE"
	GrantContent Grant = "SENTINEL_CONTENT"
	GrantWrite   Grant = "SENTINEL_WRITE"
)

// Grants lists those that hold a tool, in the order of the file: sudo refuses an alias without a
// command.
func Grants() []Grant {
	all := []Grant{GrantRead, GrantState, GrantContent, GrantWrite}
	return slices.DeleteFunc(all, func(g Grant) bool { return len(g.Tools()) == 0 })
}

// Tools lists the tools that a grant lets run as root.
func (g Grant) Tools() []string {
	var names []string
	for _, op := range All() {
		if op.Grant == g {
			names = append(names, op.Name)
		}
	}
	return names
}

// Meaning says what members may do by a grant, for the administrator who decides.
func (g Grant) Meaning() string {
	return map[Grant]string{
		GrantRead:    "health, inventory, audit, open ports, and what Sentinel has changed",
		GrantState:   "the state of services, processes, containers and startup items of everybody",
		GrantContent: "what logs say, who logged in, and names of other people's files",
		GrantWrite:   "changes, and telemetry to the receivers of the configuration",
	}[g]
}
