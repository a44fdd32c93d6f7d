// SPDX-License-Identifier: Apache-2.0

package identity

import "strings"

// MaxAgentID is the longest agent id, in characters.
const MaxAgentID = 64

// AgentID returns the name of a host in documents when none is configured:
// SENTINEL- and the host name up to its first dot. Like a configured one it holds letters,
// digits, '-', '_' and '.' alone; anything else in a host name becomes '-'.
func AgentID(hostname string) string {
	short, _, _ := strings.Cut(hostname, ".")
	id := "SENTINEL-" + strings.Map(func(r rune) rune {
		if Allowed(r) {
			return r
		}
		return '-'
	}, short)
	return id[:min(len(id), MaxAgentID)]
}

// Allowed says whether an agent id may hold r. It ends up in documents of
// fleets, in file names and in headers.
func Allowed(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}
