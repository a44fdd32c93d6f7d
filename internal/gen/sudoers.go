// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"sentinel/internal/elevation"
	"sentinel/internal/ops"
)

// rulesPath is the program in the rules of sudo; make replaces it by that of its prefix.
const rulesPath = "/usr/local/bin/sentinel"

const rulesHead = `# SPDX-License-Identifier: Apache-2.0
#
# Lets sentinel-mcp run these tools of sentinel as root, without a password, for
# the members of the group "sentinel". They can end processes, block addresses, restart services and
# send the health of this machine to the receivers of its configuration; policy in
# /etc/sentinel/config.yaml restricts that. allow_service and disable_firewall are refused until
# policy.enabled_tools there names them.
#
# Install, as root:
#
#   groupadd --system sentinel
#   visudo -csf sentinel
#   install -o root -g root -m 0440 sentinel /etc/sudoers.d/sentinel
#   visudo -c
#   usermod --append --groups sentinel USER
#
# The name of the installed file must not contain a dot: sudo ignores such files.
# "sentinel --doctor", run by the user, then shows what is allowed. A new membership takes effect
# at the next login.
#
# To allow less, delete aliases from the last line, each with a comma. What each grants:
#
`

const rulesForm = `#
# Each line is one literal command line: no wildcard, which in sudo also matches further arguments,
# and no regular expression, which not every sudo has. Arguments of a tool are not on it; they come
# on standard input, and sentinel checks them. If sentinel is installed elsewhere, change every
# path; the program and the folders above it must belong to root and be writable for nobody else.
`

// sudoRules returns packaging/sudoers.d/sentinel: an alias for each grant, and all of them for the
// group.
func sudoRules() string {
	var b strings.Builder
	b.WriteString(rulesHead)
	var names []string
	for _, g := range ops.Grants() {
		fmt.Fprintf(&b, "#   %-17s %s\n", g, g.Meaning())
		names = append(names, string(g))
	}
	b.WriteString(rulesForm)
	for _, g := range ops.Grants() {
		var lines []string
		for _, tool := range g.Tools() {
			lines = append(lines, "    "+rulesPath+" "+strings.Join(elevation.Request(tool), " "))
		}
		fmt.Fprintf(&b, "\nCmnd_Alias %s = \\\n%s\n", g, strings.Join(lines, ", \\\n"))
	}
	fmt.Fprintf(&b, "\n%%%s ALL=(root) NOPASSWD: %s\n", elevation.Group, strings.Join(names, ", "))
	return b.String()
}
