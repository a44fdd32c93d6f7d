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
	// GlobalBlocksAll lets nothing in but what the network itself needs, such as
	// DHCP: Remote Login is shut.
	GlobalBlocksAll = 2
)

// A State is what the firewall does. A nil member is not known.
type State struct {
	Global         int   // GlobalOff, GlobalOn, GlobalBlocksAll, or GlobalUnknown
	BlockAll       *bool // shuts what is not essential, once it is on
	Stealth        *bool // does not answer probes such as ping
	AllowSigned    *bool // programs of macOS itself are let in without a rule
	AllowSignedApp *bool // and so are downloaded programs that are signed
}

// On says whether the firewall is on.
func (s State) On() bool { return s.Global > GlobalOff }

// BlocksAll says whether the firewall shuts out all that is not essential, or
// would if it were on. Some versions tell it by the state alone, some by the setting
// alone; one of them is enough.
func (s State) BlocksAll() bool {
	return s.Global == GlobalBlocksAll || s.BlockAll != nil && *s.BlockAll
}

// with returns s, completed by o.
func (s State) with(o State) State {
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

// ParseState reads what the options --getglobalstate, --getblockall,
// --getallowsigned and --getstealthmode print, in any order and in the wording of macOS 10.10
// to 26. What is not said stays unknown.
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

// number reads "(State = 1)", and the words before it where there is none.
func (s *State) number(line string) {
	_, rest, told := strings.Cut(line, "(state = ")
	if !told {
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

// setting reads the last word of a sentence.
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

// A Rule is what the firewall does with connections to a program.
type Rule int

// The rules. The short list of macOS 15 tells a number, whose meaning is not
// documented, in place of the rule.
const (
	RuleUnknown Rule = iota
	RuleAllow
	RuleBlock
)

// ParseRule reads what --getappblocked prints of one program.
func ParseRule(printed []byte) Rule {
	text := string(printed)
	switch {
	case strings.Contains(text, " is blocked"):
		return RuleBlock
	case strings.Contains(text, " is permitted"), strings.Contains(text, " is allowed"):
		return RuleAllow
	default:
		return RuleUnknown
	}
}

// An App is a program that the firewall has a rule for.
type App struct {
	Name string // its path; the last part of it in the short list
	Rule Rule
}

// errNoList says that an output is no list of programs.
var errNoList = errors.New("socketfilterfw printed no list of programs")

// ParseApps reads what --listapps prints: a count, and then for each program
// either its number and path with the rule on the next line, or "name (state: N)". A list
// that does not hold as many programs as it counts is an error: names may hold what
// looks like an entry.
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
			return nil, errors.New("socketfilterfw lists programs in a form that is not known")
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

// total reads the first line, "Total number of apps = 4" or, in old versions,
// "ALF: total number of apps = 4"; -1 when it is another.
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

// shortEntry reads "name (state: 4)".
func shortEntry(line string) (name string, ok bool) {
	at := strings.LastIndex(line, " (state: ")
	if at <= 0 || !strings.HasSuffix(line, ")") {
		return "", false
	}
	_, err := strconv.Atoi(line[at+len(" (state: ") : len(line)-1])
	return line[:at], err == nil
}
