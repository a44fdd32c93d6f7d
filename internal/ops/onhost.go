// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// OnHost has a text that sentinel on another host has written name that host, whose name is checked, in its calls,
// as [AsCalls] writes them, and in its commands: who follows one would otherwise ask this machine. It knows no
// spellings but those of sentinel. Whoever else may have written a text is quoted, for it can name anything.
func OnHost(text, host string) string {
	text = commandsOnHost(text, host)
	var said strings.Builder
	for {
		at := words().FindStringIndex(text)
		if at == nil {
			return said.String() + text
		}
		word := text[at[0]:at[1]]
		said.WriteString(text[:at[1]])
		text = text[at[1]:]
		if op, known := ByName(word); known && !op.OfFleet() {
			text = onHost(&said, word, text, host)
		}
	}
}

// CallOnHost returns the call of one tool, as [AsCalls] writes it, for another host. ok is false for a text that
// is anything else, or has arguments which the tool does not take.
func CallOnHost(text, host string) (call string, ok bool) {
	name, arguments, given := strings.Cut(text, " ")
	op, known := ByName(name)
	if !known || op.OfFleet() {
		return "", false
	}
	members, rest := map[string]json.RawMessage{}, ""
	if given {
		members, rest = argumentsIn(arguments)
	}
	if members == nil || rest != "" || members["_context"] != nil {
		return "", false
	}
	if _, err := op.ParseRequest([]byte("{" + afterBrace(members))); err != nil {
		return "", false
	}
	return name + withHost(members, host), true
}

// onHost writes the host behind the name of a tool and returns the rest, in which more may be named. A name
// that is a word of the language is one only with arguments.
func onHost(said *strings.Builder, name, after, host string) (rest string) {
	arguments := strings.TrimLeftFunc(after, unicode.IsSpace)
	members, rest := argumentsIn(arguments)
	switch {
	case members != nil:
		said.WriteString(withHost(members, host))
		return rest
	case strings.Contains(name, "_"):
		said.WriteString(withHost(nil, host))
	}
	return after
}

// withHost is an object of arguments behind the name of a tool, the host first.
func withHost(members map[string]json.RawMessage, host string) string {
	object := fmt.Sprintf(" {%q:%q", "host", host)
	if len(members) == 0 {
		return object + "}"
	}
	return object + "," + afterBrace(members)
}

// commandsOnHost has the commands of sentinel in a text ask the host, where sentinel takes sudo by itself. The
// path of the program there means nothing here, and what takes no host is run there.
func commandsOnHost(text, host string) string {
	return commands().ReplaceAllStringFunc(text, func(found string) string {
		parts := commands().FindStringSubmatch(found)
		sudo, flag := parts[1], parts[2]
		switch {
		case flag == "":
			return "sentinel --host " + host
		case takesHost(flag):
			return "sentinel --host " + host + " " + flag
		case sudo != "":
			return "ssh -t " + host + " sudo sentinel " + flag // a terminal, at which sudo can ask
		default:
			return "ssh " + host + " sentinel " + flag
		}
	})
}

// takesHost reports whether the action of a flag may run elsewhere. What is no action decides nothing.
func takesHost(flag string) bool {
	op, action := ByWord(strings.TrimPrefix(flag, "--"))
	return !action || op.Toolset != ""
}

// afterBrace is an object of JSON behind its opening brace.
func afterBrace(members map[string]json.RawMessage) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = append(list, fmt.Sprintf("%q:%s", name, members[name]))
	}
	return strings.Join(list, ",") + "}"
}

// argumentsIn splits the arguments that a text begins with off it, without a host that they name. members is nil
// where it begins with no object of JSON.
func argumentsIn(text string) (members map[string]json.RawMessage, rest string) {
	if !strings.HasPrefix(text, "{") {
		return nil, text
	}
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&members) != nil {
		return nil, text
	}
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return strings.EqualFold(name, "host") })
	return members, text[d.InputOffset():]
}

// What is looked for in a text.
var (
	// words are what names of tools may stand in.
	words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+`) })
	// commands are those of sentinel, with its path, and the host or the flag behind it.
	commands = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(\bsudo )?(?:[\w.~+-]*/)*\bsentinel (?:--host[ =][^\s,;]+|(--[a-z][a-z-]*))`)
	})
)
