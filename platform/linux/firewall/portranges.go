// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"strconv"
	"strings"

	"sentinel/internal/firewall"
	"sentinel/internal/network"
)

// A span is a range of ports of one protocol, or of TCP and UDP when it names none.
type span struct {
	from, to uint16
	protocol string
}

type spans []span

func (s spans) has(p firewall.Port) bool {
	for _, r := range s {
		if r.from <= p.Number && p.Number <= r.to && (r.protocol == p.Protocol || r.protocol == "" && p.Protocol != string(network.UDPLite)) {
			return true
		}
	}
	return false
}

// parseSpans parses "22", "22/tcp", "80,443/tcp", "6000:6007/udp" as ufw writes
// ports, and "6000-6007/udp" as firewalld does. Anything else is nil.
func parseSpans(text string) spans {
	list, protocol, named := strings.Cut(text, "/")
	if named && protocol != "tcp" && protocol != "udp" {
		return nil
	}
	var all spans
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.ReplaceAll(part, "-", ":"), ":")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || from == 0 || from > to {
			return nil
		}
		all = append(all, span{uint16(from), uint16(to), protocol})
	}
	return all
}
