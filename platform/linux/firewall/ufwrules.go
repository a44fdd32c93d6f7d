// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

// A scope is whom a rule is about.
type scope int

const (
	forEveryone scope = iota
	forNetwork        // those with an address in it
	forSome           // those that come by an interface, to an address, from a port
)

// A rule is one of ufw's about packets that come in.
type rule struct {
	text     string // as ufw takes it, without its comment: "deny 22/tcp"
	accept   bool   // allow and limit; deny and reject do not
	ports    spans  // nil means every port of the protocol
	protocol string // empty means every one
	app      string // the profile that has the ports; empty once they are known
	scope    scope
	from     netip.Prefix // with the scope forNetwork
}

// covers says whether a rule is about a port. One whose ports are not known
// could be.
func (r rule) covers(p firewall.Port) bool {
	if r.ports != nil {
		return r.ports.has(p)
	}
	return r.protocol == "" || r.protocol == p.Protocol
}

// A decision is what the rules of ufw do with new connections to a port.
type decision struct {
	verdict firewall.Verdict
	by      *rule // the one that refuses
	// first says that only the last word of the owner, a rule that names no port,
	// stands in the way of letting the port in, which a rule before it gets round.
	first bool
}

// decide goes through rules as ufw does: they are in order and the first that
// covers a packet decides. What the owner refuses to certain addresses is left to stand
// unless one of peers is among them.
func decide(rules []rule, p firewall.Port, peers []netip.Addr) decision {
	kept := false
	for i, r := range rules {
		switch {
		case !r.covers(p) || r.accept && (r.scope != forEveryone || r.app != ""):
		case r.accept:
			return decision{verdict: firewall.Open}
		case r.scope == forNetwork && !within(r.from, peers):
			kept = true
		case r.scope == forEveryone && r.ports == nil && r.app == "" && !kept:
			return decision{verdict: firewall.Closed, first: true}
		default:
			return decision{verdict: firewall.Refused, by: &rules[i]}
		}
	}
	return decision{verdict: firewall.Closed}
}

// ruling is a decision in the words of ufw.
func (d decision) ruling() firewall.Ruling {
	if d.by == nil {
		return firewall.Ruling{Verdict: d.verdict}
	}
	return firewall.Ruling{
		Verdict: d.verdict, Rule: "there is the rule ufw " + d.by.text,
		Fix: "Remove that rule first: sudo ufw delete " + d.by.text + ".",
	}
}

// parseAdded parses "ufw show added": the rules of the owner as commands, one a
// line, which ufw prints whether it is on or off (ufw(8)).
func parseAdded(b []byte) []rule {
	var rules []rule
	for line := range strings.Lines(string(b)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "ufw ")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, " comment '")
		if r, ok := parseRule(text); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseRule reads the forms of a rule about what comes in: "allow 22/tcp", "deny
// 80", "deny in on eth0 from 192.0.2.0/24 to any port 80 proto tcp".
func parseRule(text string) (rule, bool) {
	list := words(text)
	if len(list) < 2 {
		return rule{}, false
	}
	accept, ok := decides(list[0])
	rest := slices.DeleteFunc(list[1:], func(w string) bool { return w == "log" || w == "log-all" })
	if !ok || len(rest) == 0 || rest[0] == "out" {
		return rule{}, false
	}
	r := rule{text: text, accept: accept}
	if rest[0] == "in" {
		rest = rest[1:]
	}
	if len(rest) == 1 {
		r.target(rest[0], "")
		return r, true
	}
	return r, r.extended(rest) && (r.ports != nil || ports(r.protocol))
}

func decides(action string) (accept, ok bool) {
	switch action {
	case "allow", "limit":
		return true, true
	case "deny", "reject":
		return false, true
	}
	return false, false
}

// ports says whether a protocol of ufw's has ports that are of interest here.
func ports(protocol string) bool { return protocol == "" || protocol == "tcp" || protocol == "udp" }

// extended reads the long form, pair by pair. It says whether there is more of
// the rule than a part of a pair.
func (r *rule) extended(list []string) bool {
	side, port := "", ""
	for ; len(list) >= 2; list = list[2:] {
		key, value := list[0], list[1]
		switch {
		case key == "from" || key == "to":
			side = key
			r.limit(key, value)
		case key == "proto":
			r.protocol = value
		case side == "to" && (key == "port" || key == "app"):
			port = value
		default: // an interface, or the port of the other end
			r.narrow()
		}
	}
	if port != "" {
		r.target(port, r.protocol)
	}
	return len(list) == 0 && (side != "" || r.scope != forEveryone)
}

// limit notes an address. That of the other end says more than anything else
// about whom the rule is for.
func (r *rule) limit(side, value string) {
	if value == "any" {
		return
	}
	from, ok := parsePrefix(value)
	if side == "from" && ok {
		r.scope, r.from = forNetwork, from
		return
	}
	r.narrow()
}

func (r *rule) narrow() {
	if r.scope == forEveryone {
		r.scope = forSome
	}
}

// target notes ports, or the profile that has them.
func (r *rule) target(value, protocol string) {
	if protocol != "" {
		value += "/" + protocol
	}
	if r.ports = parseSpans(value); r.ports == nil {
		r.app = value
	}
}

// parseProfile takes the ports out of "ufw app info NAME": they are indented
// below "Port:" or "Ports:".
func parseProfile(b []byte) spans {
	var all spans
	below := false
	for line := range strings.Lines(string(b)) {
		text := strings.TrimSpace(line)
		if below && strings.HasPrefix(line, " ") {
			all = append(all, parseSpans(text)...)
			continue
		}
		below = text == "Port:" || text == "Ports:"
	}
	return all
}
