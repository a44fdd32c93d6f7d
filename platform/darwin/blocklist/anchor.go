// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// maxAhead bounds how many of the anchors that packets meet before ours are read.
const maxAhead = 20

// A bypass is why packets get around our anchor.
type bypass struct {
	missing bool   // the main ruleset does not lead there
	rule    string // one that lets packets through before
}

func (b bypass) none() bool { return !b.missing && b.rule == "" }

// fault says what to do about it. Only the administrator changes the file.
func (b bypass) fault() error {
	const reload = "sudo pfctl -f /etc/pf.conf"
	switch {
	case b.missing:
		return fault.New(fault.FirewallUnavailable, "pf does not look at the anchor of sentinel: its main ruleset has no unconditional line anchor \"com.apple/*\".").
			WithFix("The /etc/pf.conf of macOS has that line, behind its scrub, nat, rdr and dummynet anchors and before any pass rule. Put it back if it is missing there, then load the file, which replaces rules that others loaded: " + reload)
	case b.rule != "":
		return fault.New(fault.FirewallUnavailable, "A rule of pf lets packets through before the anchor of sentinel is looked at: "+sanitize.Text(b.rule, 200)).
			WithFix("In /etc/pf.conf, move the line anchor \"com.apple/*\" before it, then load the file: " + reload)
	default:
		return nil
	}
}

// bypass reads the main ruleset from the kernel: the file says nothing about what
// is loaded.
func (p *PF) bypass(ctx context.Context) (bypass, error) {
	rules, err := p.tool.Rules(ctx, "")
	if err != nil {
		return bypass{}, err
	}
	ahead, why := rulesBefore(rules)
	if !why.none() {
		return why, nil
	}
	return p.through(ctx, ahead)
}

// A jump is a rule that leads into another anchor.
type jump struct {
	name  string // a path, ending with /* for all anchors below one
	quick bool   // what a rule in it decides stands
	rule  string
}

// rulesBefore reads rules up to the one that leads to our anchor, and returns the
// jumps before it.
func rulesBefore(rules []string) ([]jump, bypass) {
	var ahead []jump
	for _, rule := range rules {
		words := strings.Fields(rule)
		switch j, isJump := parseJump(words); {
		case isJump && leadsHere(j, words):
			return ahead, bypass{}
		case strings.HasSuffix(rule, "{"): // rules that depend on a condition follow
			return nil, bypass{rule: rule}
		case isJump:
			j.rule = rule
			ahead = append(ahead, j)
		case letsThrough(words, false):
			return nil, bypass{rule: rule}
		}
	}
	return nil, bypass{missing: true}
}

// parseJump reads a rule such as: anchor "com.apple/*" all.
func parseJump(words []string) (jump, bool) {
	if len(words) < 2 || words[0] != "anchor" || !strings.HasPrefix(words[1], `"`) {
		return jump{}, false
	}
	return jump{name: strings.Trim(words[1], `"`), quick: slices.Contains(words, "quick")}, true
}

// leadsHere says that every packet that meets the rule meets our anchor.
func leadsHere(j jump, words []string) bool {
	here := j.name == "com.apple/*" || j.name == anchor || j.name == anchor+"/*"
	return here && j.name != anchor+"/*" && len(words) == 3 && words[2] == "all"
}

// letsThrough says that a rule accepts packets before they reach our anchor. Rules
// for the loopback interface alone do not matter: no other machine is seen there. In an anchor
// that was entered with quick, every rule is final.
func letsThrough(words []string, final bool) bool {
	if len(words) == 0 || words[0] != "pass" || !final && !slices.Contains(words, "quick") {
		return false
	}
	at := slices.Index(words, "on")
	return at < 0 || at+1 >= len(words) || words[at+1] != "lo0"
}

// through looks for such a rule in the anchors that come before.
func (p *PF) through(ctx context.Context, ahead []jump) (bypass, error) {
	for n := 0; len(ahead) > 0; n++ {
		j := ahead[0]
		ahead = ahead[1:]
		if n == maxAhead {
			return bypass{rule: j.rule}, nil
		}
		if below, all := strings.CutSuffix(j.name, "/*"); all {
			paths, err := p.tool.Anchors(ctx, below)
			if err != nil {
				return bypass{}, err
			}
			for _, path := range paths {
				ahead = append(ahead, jump{path, j.quick, j.rule})
			}
			continue
		}
		rules, err := p.tool.Rules(ctx, j.name)
		if err != nil {
			return bypass{}, err
		}
		inner, rule := rulesInside(j, rules)
		if rule != "" {
			return bypass{rule: rule}, nil
		}
		ahead = append(ahead, inner...)
	}
	return bypass{}, nil
}

// rulesInside looks through the rules of an anchor. The anchors that they lead to
// are named relative to it.
func rulesInside(j jump, rules []string) (inner []jump, rule string) {
	for _, rule := range rules {
		words := strings.Fields(rule)
		if letsThrough(words, j.quick) {
			return nil, rule
		}
		if next, ok := parseJump(words); ok {
			name := strings.TrimPrefix(next.name, "/")
			if name == next.name {
				name = j.name + "/" + name
			}
			inner = append(inner, jump{name, j.quick || next.quick, j.rule})
		}
	}
	return inner, ""
}

// rulesInPlace says that the rules of our anchor let neighbours find each other, then
// drop what comes from the table and what goes there, on every interface, and that there is no
// other rule.
func rulesInPlace(rules []string) bool {
	var from, to bool
	passed := map[string]bool{}
	for _, rule := range rules {
		words := strings.Fields(rule)
		neighbour := passesNeighbours(words)
		switch side := dropSide(words); {
		case neighbour != "" && !from && !to:
			passed[neighbour] = true
		case side == "from":
			from = true
		case side == "to":
			to = true
		default:
			return false
		}
	}
	return from && to && len(passed) == 2*len(neighbourTypes)
}

// dropSide says which side of a packet a rule compares with the table: "from" or
// "to". It is empty for a rule with another condition, or without quick.
func dropSide(words []string) string {
	at := slices.Index(words, "from")
	if at < 1 || len(words) != at+4 || words[at+2] != "to" || words[0] != "block" || !slices.Contains(words[:at], "quick") {
		return ""
	}
	for _, w := range words[1:at] {
		if w != "drop" && w != "quick" {
			return ""
		}
	}
	switch source, destination := words[at+1], words[at+3]; {
	case ownTable(source) && destination == "any":
		return "from"
	case source == "any" && ownTable(destination):
		return "to"
	default:
		return ""
	}
}

// ownTable recognises the table in a rule, with or without the count of its
// entries: <sentinel> or <sentinel:3>.
func ownTable(word string) bool {
	name, ok := strings.CutPrefix(word, "<"+table)
	return ok && (name == ">" || strings.HasPrefix(name, ":") && strings.HasSuffix(name, ">"))
}
