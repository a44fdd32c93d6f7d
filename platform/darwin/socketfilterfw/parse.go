// SPDX-License-Identifier: Apache-2.0

package socketfilterfw

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Global states, as the tool numbers them.
const (
	GlobalUnknown = -1
	GlobalOff     = 0
	GlobalOn      = 1
	// GlobalBlocksAll admits only what the network itself needs, such as DHCP: Remote Login is
	// blocked.
	GlobalBlocksAll = 2
)

// A State holds the settings of the firewall. A nil field is unknown.
type State struct {
	Global         int   // GlobalOff, GlobalOn, GlobalBlocksAll, or GlobalUnknown
	BlockAll       *bool // blocks all connections that are not essential if the firewall is on
	Stealth        *bool // does not answer probes such as ping
	AllowSigned    *bool // programs of macOS itself are allowed without a rule
	AllowSignedApp *bool // so are signed programs that were downloaded
}

// On reports whether the firewall is on.
func (s State) On() bool { return s.Global > GlobalOff }

// BlocksAll reports whether the firewall blocks everything that is not essential, or would if it
// were on. Some versions show it only in the state, others only in the setting; one of them is
// enough.
func (s State) BlocksAll() bool {
	return s.Global == GlobalBlocksAll || s.BlockAll != nil && *s.BlockAll
}

// with returns s with its unknown fields taken from o.
func (s State) merge(o State) State {
	if s.Global == GlobalUnknown {
		s.Global = o.Global
	}
	for _, pair := range []struct{ own, other **bool }{
		{&s.BlockAll, &o.BlockAll}, {&s.Stealth, &o.Stealth},
		{&s.AllowSigned, &o.AllowSigned}, {&s.AllowSignedApp, &o.AllowSignedApp},
	} {
		if *pair.own == nil {
			*pair.own = *pair.other
		}
	}
	return s
}

// ParseState reads what the options --getglobalstate, --getblockall, --getallowsigned and
// --getstealthmode print, in any order and in the wording of macOS 10.10 to 26. Settings that are
// not mentioned stay unknown.
func ParseState(printed []byte) State {
	s := State{Global: GlobalUnknown}
	for line := range strings.Lines(strings.ToLower(string(printed))) {
		s.read(strings.TrimSpace(line))
	}
	return s
}

func (s *State) read(line string) {
	switch {
	case strings.Contains(line, "stealth mode"):
		s.Stealth = setting(line)
	case strings.Contains(line, "automatically allow") && strings.Contains(line, "built-in"):
		s.AllowSigned = setting(line)
	case strings.Contains(line, "automatically allow") && strings.Contains(line, "downloaded"):
		s.AllowSignedApp = setting(line)
	case strings.Contains(line, "non-essential"):
		yes := true
		s.BlockAll = &yes
		s.number(line)
	case strings.Contains(line, "block all"):
		s.BlockAll = setting(line)
	case strings.Contains(line, "firewall is "):
		s.number(line)
	}
}

// number reads "(State = 1)" or, without it, the words of the line.
func (s *State) number(line string) {
	_, rest, found := strings.Cut(line, "(state = ")
	if !found {
		if on := setting(line); on != nil {
			s.Global = GlobalOff
			if *on {
				s.Global = GlobalOn
			}
		}
		return
	}
	digits, _, _ := strings.Cut(rest, ")")
	if n, err := strconv.Atoi(digits); err == nil && n >= GlobalOff && n <= GlobalBlocksAll {
		s.Global = n
	}
}

// setting parses the last word of a sentence.
func setting(line string) *bool {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	var is bool
	switch strings.TrimRight(words[len(words)-1], ".!") {
	case "enabled", "on":
		is = true
	case "disabled", "off":
	default:
		return nil
	}
	return &is
}

// A Rule decides what the firewall does with connections to a program.
type Rule int

// The rules. The short list of macOS 15 prints an undocumented number instead of the rule.
const (
	RuleUnknown Rule = iota
	RuleAllow
	RuleBlock
)

// ParseRule parses the output of --getappblocked for one program, whose path may hold any words before
// those that count.
func ParseRule(printed []byte) Rule {
	text := string(printed)
	verdict := text[strings.LastIndex(text, " is ")+1:]
	switch {
	case strings.HasPrefix(verdict, "is blocked"):
		return RuleBlock
	case strings.HasPrefix(verdict, "is permitted"), strings.HasPrefix(verdict, "is allowed"):
		return RuleAllow
	default:
		return RuleUnknown
	}
}

// An App is a program that the firewall has a rule for.
type App struct {
	Name string // its path, or only the last part of it in the short list
	Rule Rule
}

// errNoList reports output that is not a list of programs.
var errNoList = errors.New("socketfilterfw printed no list of programs")

// ParseApps parses the output of --listapps: a count, and then for each program either its number
// and path with the rule on the next line, or "name (state: N)". A list whose length differs from
// its count is an error: a name may contain text that looks like an entry.
func ParseApps(printed []byte) ([]App, error) {
	var apps []App
	count, ruled := -1, true
	for line := range strings.Lines(string(printed)) {
		line = strings.TrimSpace(line)
		rule := ruleOf(line)
		switch name, short := shortEntry(line); {
		case line == "":
		case count < 0:
			if count = total(line); count < 0 {
				return nil, errNoList
			}
		case rule != RuleUnknown && !ruled:
			apps[len(apps)-1].Rule, ruled = rule, true
		case ruled && strings.HasPrefix(line, strconv.Itoa(len(apps)+1)+" : "):
			_, name, _ = strings.Cut(line, " : ")
			apps, ruled = append(apps, App{Name: strings.TrimSpace(name)}), false
		case ruled && short:
			apps = append(apps, App{Name: name})
		default:
			return nil, errors.New("socketfilterfw lists programs in an unknown form")
		}
	}
	if count < 0 {
		return nil, errNoList
	}
	if len(apps) != count || !ruled {
		return nil, fmt.Errorf("socketfilterfw counts %d programs and lists %d", count, len(apps))
	}
	return apps, nil
}

// total parses the first line, "Total number of apps = 4" or, in old versions, "ALF: total number
// of apps = 4". It returns -1 for any other line.
func total(line string) int {
	words, digits, found := strings.Cut(strings.ToLower(line), " = ")
	if !found || !strings.HasSuffix(words, "total number of apps") {
		return -1
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func ruleOf(line string) Rule {
	switch strings.Join(strings.Fields(strings.Trim(line, "()")), " ") {
	case "Allow incoming connections":
		return RuleAllow
	case "Block incoming connections":
		return RuleBlock
	default:
		return RuleUnknown
	}
}

// shortEntry parses "name (state: 4)".
func shortEntry(line string) (name string, ok bool) {
	at := strings.LastIndex(line, " (state: ")
	if at <= 0 || !strings.HasSuffix(line, ")") {
		return "", false
	}
	_, err := strconv.Atoi(line[at+len(" (state: ") : len(line)-1])
	return line[:at], err == nil
}
