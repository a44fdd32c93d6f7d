// SPDX-License-Identifier: Apache-2.0

package identity

import "strings"

// MaxAgentID is the longest agent id, in characters.
const MaxAgentID = 64

// AgentID returns the default name of a host in documents: SENTINEL- and the host
// name up to its first dot. Like a configured ID it consists of letters, digits,
// '-', '_' and '.'; anything else in a host name becomes '-'.
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

// Allowed reports whether an agent ID may contain r. IDs end up in documents of
// fleets, in file names and in headers.
func Allowed(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}
