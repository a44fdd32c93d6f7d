// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"bufio"
	"bytes"
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

// A rule is one of ufw's that concerns packets from everywhere to one port, or
// to all of them. Rules about one address, interface or direction are no rule for everyone.
type rule struct {
	ports  spans // nil means every port
	accept bool  // allow and limit; deny and reject do not
}

// verdict returns what the first rule that covers p does, as ufw does: rules
// are in order and the first decides.
func verdict(rules []rule, p firewall.Port) firewall.Verdict {
	for _, r := range rules {
		switch {
		case r.ports != nil && !r.ports.has(p):
		case r.accept:
			return firewall.Open
		default:
			return firewall.Refused
		}
	}
	return firewall.Closed
}

// parseAdded parses "ufw show added": the rules of the owner as commands, one a
// line, which ufw prints whether it is on or off (ufw(8)).
func parseAdded(b []byte) []rule {
	var rules []rule
	scan := bufio.NewScanner(bytes.NewReader(b))
	for scan.Scan() {
		words := strings.Fields(scan.Text())
		if len(words) < 3 || words[0] != "ufw" {
			continue
		}
		if r, ok := parseRule(words[1], words[2:]); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// parseRule reads the forms of a rule for everyone: "allow 22/tcp", "deny 80",
// "deny in 80", "allow from any to any port 80 proto tcp".
func parseRule(action string, rest []string) (rule, bool) {
	accept, ok := decides(action)
	if !ok {
		return rule{}, false
	}
	if at := slices.Index(rest, "comment"); at >= 0 {
		rest = rest[:at]
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "log" || w == "log-all" })
	if len(rest) > 0 && rest[0] == "in" {
		rest = rest[1:]
	}
	if len(rest) == 1 {
		ports := parseSpans(rest[0])
		return rule{ports: ports, accept: accept}, ports != nil
	}
	return parseExtended(rest, accept)
}

// parseExtended reads the long form. Anything in it that narrows the rule down
// makes it none for everyone.
func parseExtended(words []string, accept bool) (rule, bool) {
	protocol, port, side := "", "", ""
	for len(words) >= 2 {
		switch {
		case (words[0] == "from" || words[0] == "to") && words[1] == "any":
			side = words[0]
		case words[0] == "port" && side == "to":
			port = words[1]
		case words[0] == "proto":
			protocol = words[1]
		default:
			return rule{}, false
		}
		words = words[2:]
	}
	switch {
	case len(words) > 0 || side == "":
		return rule{}, false
	case port == "" && protocol == "":
		return rule{accept: accept}, true
	case port == "":
		return rule{}, false
	case protocol != "":
		port += "/" + protocol
	}
	ports := parseSpans(port)
	return rule{ports: ports, accept: accept}, ports != nil
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

// A ufwStatus is what "ufw status verbose" shows.
type ufwStatus struct {
	active bool
	open   bool // what no rule names is let in
	v4, v6 []rule
}

// parseStatus parses the table of "ufw status verbose": target, action and
// source in columns. "(v6)" marks the rows of IPv6, which have the same rules
// again; a row with anything narrower than Anywhere is left out.
func parseStatus(b []byte) ufwStatus {
	var s ufwStatus
	scan := bufio.NewScanner(bytes.NewReader(b))
	for scan.Scan() {
		table, _, _ := strings.Cut(scan.Text(), "#") // a comment of the owner follows
		switch {
		case table == "Status: active":
			s.active = true
			continue
		case strings.HasPrefix(table, "Default: allow (incoming)"):
			s.open = true
			continue
		}
		words := slices.DeleteFunc(strings.Fields(table), func(w string) bool { return w == "(v6)" })
		r, ok := parseRow(words)
		switch {
		case !ok:
		case strings.Contains(table, "(v6)"):
			s.v6 = append(s.v6, r)
		default:
			s.v4 = append(s.v4, r)
		}
	}
	return s
}

// admits says whether a port is let in from anywhere. Without rows for IPv6 ufw
// is set up not to filter it.
func (s ufwStatus) admits(p firewall.Port) bool {
	return s.lets(s.v4, p) && (len(s.v6) == 0 || s.lets(s.v6, p))
}

func (s ufwStatus) lets(rules []rule, p firewall.Port) bool {
	v := verdict(rules, p)
	return v == firewall.Open || v == firewall.Closed && s.open
}

// parseRow reads "22/tcp ALLOW IN Anywhere", also with the name of an
// application in brackets behind its ports.
func parseRow(words []string) (rule, bool) {
	if len(words) > 2 && strings.HasPrefix(words[1], "(") {
		at := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ")") })
		words = append(words[:1:1], words[at+1:]...)
	}
	if len(words) < 4 || words[2] != "IN" || words[3] != "Anywhere" {
		return rule{}, false
	}
	if len(words) > 4 && !strings.HasPrefix(words[4], "(log") {
		return rule{}, false
	}
	accept, ok := decides(strings.ToLower(words[1]))
	if words[0] == "Anywhere" {
		return rule{accept: accept}, ok
	}
	ports := parseSpans(words[0])
	return rule{ports: ports, accept: accept}, ok && ports != nil
}
