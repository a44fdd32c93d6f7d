// SPDX-License-Identifier: Apache-2.0

package firewall

// maxProbes bounds the packets that a chain is asked about. A rule for one port is found among the ports below it.
const maxProbes = 1 << 20

// dropsAnybody reports that a rule of the chain drops or rejects what others send than hosts that were chosen: those
// that fail2ban bans, or a list of addresses. Any host can have itself chosen, and all others still get in.
func dropsAnybody(c Chain) bool {
	probes, told := maxProbes, false
	for _, r := range c.Rules {
		if r.Action == Drop {
			if told = true; !r.aboutChosen(c.Family == "ip6", &probes) {
				return true
			}
		}
	}
	return c.Drops && !told
}

// aboutChosen reports that a rule is about chosen hosts alone: whom it is about does not depend on the packet that it
// is about. It is false for a rule that none of the packets tells of.
func (r Rule) aboutChosen(v6 bool, probes *int) bool {
	for port := range 1 << 16 {
		for _, protocol := range []string{"tcp", "udp"} {
			if *probes--; *probes < 0 {
				return false
			}
			if m := r.match(Packet{Protocol: protocol, Port: uint16(port), V6: v6}); m != Never {
				return m.chooses()
			}
		}
	}
	return false
}
