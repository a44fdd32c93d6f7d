// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

// A ufwRule is one of the owner about packets that come in.
type ufwRule struct {
	text       string // as ufw takes it, without its comment: "deny 22/tcp"
	accept     bool   // allow and limit; deny and reject do not
	ports      spans  // nil when the rule is about more, or less, than ports
	everything bool   // it names no port, nor anything else
}

// decide goes through rules as ufw does: they are in order, and the first about
// a port decides. Those that do more than to let in or deny ports are left out.
func decide(rules []ufwRule, p firewall.Port) firewall.Ruling {
	for _, r := range rules {
		switch {
		case !r.everything && !r.ports.has(p):
		case r.accept:
			return firewall.Ruling{Verdict: firewall.Open}
		case r.everything:
			return firewall.Ruling{}
		default:
			return firewall.Ruling{
				Verdict: firewall.Denied, Rule: "there is the rule ufw " + r.text,
				Fix: "Remove that rule first: sudo ufw delete " + r.text + ".",
			}
		}
	}
	return firewall.Ruling{}
}

// deniesRest says that the owner ends the rules with one that denies everything
// else, and denies nothing but plain ports besides: then a port has to be let in before that.
func deniesRest(rules []ufwRule) bool {
	rest := false
	for _, r := range rules {
		if !r.accept && r.ports == nil && !r.everything {
			return false
		}
		rest = rest || !r.accept && r.everything
	}
	return rest
}

// parseAdded parses "ufw show added": the rules of the owner as commands, one a
// line, which ufw prints whether it is on or off (ufw(8)).
func parseAdded(b []byte) []ufwRule {
	var rules []ufwRule
	for line := range strings.Lines(string(b)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "ufw ")
		text, _, _ = strings.Cut(text, " comment '")
		if r, incoming := parseRule(text); ok && incoming {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseRule reads the plain forms of a rule about what comes in, "allow 22/tcp"
// and "deny to any". Any other form keeps its text alone.
func parseRule(text string) (ufwRule, bool) {
	r := ufwRule{text: text}
	list := slices.DeleteFunc(strings.Fields(text), func(w string) bool { return w == "log" || w == "log-all" || w == "in" })
	if len(list) < 2 || list[1] == "out" {
		return r, false
	}
	switch list[0] {
	case "allow", "limit":
		r.accept = true
	case "deny", "reject":
	default:
		return r, false
	}
	what := strings.Join(list[1:], " ")
	r.everything = slices.Contains([]string{"to any", "from any", "from any to any"}, what)
	r.ports = parseSpans(plainPorts(what))
	return r, true
}

// plainPorts brings the long form of a rule for everyone, "from any to any port
// 22 proto tcp", into the short one.
func plainPorts(what string) string {
	ports, long := strings.CutPrefix(what, "from any to any port ")
	if !long {
		ports, long = strings.CutPrefix(what, "to any port ")
	}
	if protocol := " proto "; long && strings.Contains(ports, protocol) {
		return strings.Replace(ports, protocol, "/", 1)
	}
	return ports
}

// acceptedProtocols returns the protocols without ports that lines of iptables-restore(8) accept. ufw
// takes no rules of its own about most of them, and its owner puts them there (ufw-framework(8)).
func acceptedProtocols(raw []byte) []firewall.Port {
	var list []firewall.Port
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		at := slices.IndexFunc(words, func(w string) bool { return w == "-p" || w == "--protocol" })
		if at < 0 || at+1 == len(words) || words[0] != "-A" || words[len(words)-1] != "ACCEPT" {
			continue
		}
		if p, ok := firewall.ParseProtocol(words[at+1]); ok {
			list = append(list, p)
		}
	}
	return list
}

// shippedDrops end the lines by which ufw itself drops what belongs to no connection.
var shippedDrops = []string{"--ctstate INVALID -j DROP", "--state INVALID -j DROP", "-m rt --rt-type 0 -j DROP", "-A ufw-not-local -j DROP"}

// droppingRules returns the lines of iptables-restore(8) that drop or reject packets. Those of before.rules come before what is
// known to connection tracking is let in, where their owner puts them there (ufw-framework(8)).
func droppingRules(raw []byte) []string {
	var list []string
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		at := slices.IndexFunc(words, func(w string) bool { return w == "-j" || w == "--jump" })
		if at < 0 || at+1 == len(words) || !slices.Contains([]string{"-A", "-I"}, words[0]) || !slices.Contains([]string{"DROP", "REJECT"}, words[at+1]) {
			continue
		}
		rule := strings.Join(words, " ")
		if !slices.ContainsFunc(shippedDrops, func(s string) bool { return strings.HasSuffix(rule, s) }) && !isAboutPings(words) {
			list = append(list, rule)
		}
	}
	return list
}

// isAboutPings reports whether a rule is about echo requests alone, which no connection needs and many owners drop.
func isAboutPings(words []string) bool {
	at := slices.IndexFunc(words, func(w string) bool { return w == "--icmp-type" || w == "--icmpv6-type" })
	return at > 0 && at+1 < len(words) && words[at-1] != "!" && slices.Contains([]string{"echo-request", "ping", "8", "128"}, words[at+1])
}
