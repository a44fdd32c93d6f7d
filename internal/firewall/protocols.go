// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/fault"
)

// portless are protocols of IP that have no ports, by the names of /etc/protocols, with their numbers.
var portless = map[string]uint8{
	"ipencap": 4, "ipv6": 41, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "eigrp": 88, "ospf": 89, "pim": 103, "vrrp": 112, "l2tp": 115, "isis": 124, "sctp": 132,
}

// numbered stands before the number of a protocol that has no name here.
const numbered = "protocol-"

// letInAnyway are the protocols that are let in already or come in by ports: ICMP, IGMP, TCP, UDP and
// ICMPv6. At 255 a raw socket receives nothing (raw(7)).
var letInAnyway = []uint8{0, 1, 2, 6, 17, 58, 255}

// Protocol returns what lets a protocol of IP in; false for those that are let in by other rules.
func Protocol(number uint8) (Port, bool) {
	if slices.Contains(letInAnyway, number) {
		return Port{}, false
	}
	for name, n := range portless {
		if n == number {
			return Port{Protocol: name}, true
		}
	}
	return Port{Protocol: numbered + strconv.Itoa(int(number))}, true
}

// ParseProtocol returns what lets a protocol in, given by its name or its number as programs take them.
func ParseProtocol(text string) (Port, bool) {
	if _, ok := portless[text]; ok {
		return Port{Protocol: text}, true
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return Port{}, false
	}
	return Protocol(uint8(n))
}

// ProtocolNumber is the number of a protocol without ports; 0 for what has ports.
func (p Port) ProtocolNumber() uint8 {
	if p.Number != 0 {
		return 0
	}
	if n, ok := portless[p.Protocol]; ok {
		return n
	}
	digits, ok := strings.CutPrefix(p.Protocol, numbered)
	n, err := strconv.ParseUint(digits, 10, 8)
	if same, known := Protocol(uint8(n)); !ok || err != nil || !known || same != p {
		return 0
	}
	return uint8(n)
}

// ParseOpening parses the form of [Port.String] for a port or a protocol without ports.
func ParseOpening(text string) (Port, error) {
	if p := (Port{Protocol: text}); p.ProtocolNumber() != 0 {
		return p, nil
	}
	return ParsePort(text)
}

// letIn decides about the protocols without ports. Sentinel's own rules let them in; what ufw and
// firewalld do with them is not read, so a session or a service that depends on one is a reason to
// refuse, unless a rule of the owner names it.
func (e *Enabling) letIn(rules Rules) error {
	for _, p := range slices.Clone(e.ports) {
		if p.ProtocolNumber() == 0 || e.manager.Name() == Nftables {
			continue
		}
		e.ports = slices.DeleteFunc(e.ports, func(o Port) bool { return o == p })
		if rules.names(p.Protocol) {
			continue
		}
		whose := "in which the tunnel of a session travels"
		if !slices.Contains(e.remotePorts, p) {
			whose = "which a service of the system receives by a raw socket"
		}
		said := fmt.Sprintf("%s shuts out the protocol %s, %s.", e.manager.Name(), p.Protocol, whose)
		if !e.force {
			return fault.New(fault.FirewallFailed, "Once it is on, "+said).
				WithFix("Let it in first: " + allowProtocol(e.manager.Name(), p) + " Or at a console of the machine run: sudo sentinel --fix-firewall --force")
		}
		e.note += " As its rules stand, " + said
	}
	return nil
}

// names reports whether a rule of the owner that is not read has a protocol in it.
func (r Rules) names(protocol string) bool {
	between := func(c rune) bool { return strings.ContainsRune(` "='`, c) }
	return slices.ContainsFunc(r.Unread, func(text string) bool { return slices.Contains(strings.FieldsFunc(text, between), protocol) })
}

// allowProtocol says how. Of other protocols ufw(8) takes no rules, and iptables(8) takes numbers for all.
func allowProtocol(manager string, p Port) string {
	number := strconv.Itoa(int(p.ProtocolNumber()))
	switch {
	case manager == UFW && slices.Contains([]string{"ah", "esp", "gre", "ipv6"}, p.Protocol):
		return "sudo ufw allow proto " + p.Protocol + " to any."
	case manager == UFW:
		return "add -A ufw-before-input -p " + number + " -j ACCEPT before COMMIT in /etc/ufw/before.rules, or for IPv6 -A ufw6-before-input -p " + number + " -j ACCEPT in /etc/ufw/before6.rules."
	}
	word := strings.TrimPrefix(p.Protocol, numbered)
	return "sudo firewall-cmd --permanent --add-protocol=" + word + " (while it is off: sudo firewall-offline-cmd --add-protocol=" + word + ")."
}
