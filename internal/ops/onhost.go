// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// OnHost makes a text that sentinel on another host has written one about that host, whose name is checked:
// calls, as [AsCalls] writes them, and commands name it, and no other is named, in whatever spelling. Who
// follows one would otherwise ask this machine, and a machine gives no orders about others.
func OnHost(text, host string) string {
	text = commandsOnHost(withoutHosts(asRendered(text)), host)
	text = otherHosts().ReplaceAllString(text, " ") // what was around it must not make another
	var said strings.Builder
	for {
		at := words().FindStringIndex(text)
		if at == nil {
			return said.String() + text
		}
		word := text[at[0]:at[1]]
		said.WriteString(text[:at[1]])
		text = text[at[1]:]
		if name, ok := toolIn(word); ok {
			text = onHost(&said, name, text, host)
		}
	}
}

// asRendered returns a text as a reader of Markdown or HTML sees it, who would otherwise be shown names that
// were not found: characters by their names or numbers, and marks behind a backslash.
func asRendered(text string) string {
	const deepest = 4 // a text that names its ampersands as well
	for range deepest {
		plain := html.UnescapeString(text)
		if plain == text {
			return escapedMarks().ReplaceAllString(text, "$1")
		}
		text = plain
	}
	return escapedMarks().ReplaceAllString(strings.ReplaceAll(text, "&", "＆"), "$1")
}

// toolIn returns the tool that a word names, in whatever case, alone or behind the name of a server, which
// clients put before it in different ways: mcp__sentinel__get_logs, sentinel_get_logs. A name within another
// word is none.
func toolIn(word string) (name string, ok bool) {
	at := slices.IndexFunc(All(), func(o Operation) bool {
		before := len(word) - len(o.Name)
		return !o.OfFleet() && before >= 0 && strings.EqualFold(o.Name, word[before:]) && (before == 0 || word[before-1] == '_')
	})
	if at < 0 {
		return "", false
	}
	return All()[at].Name, true
}

// IsCall reports whether a text is the call of one tool, as [AsCalls] writes it, and nothing else.
func IsCall(text string) bool {
	name, arguments, given := strings.Cut(text, " ")
	if _, known := ByName(name); !known || !given {
		return known
	}
	members, rest := cutObject(arguments)
	return members != nil && rest == ""
}

// onHost writes the host behind the name of a tool and returns the rest, in which more may be named. A name
// that is a word of the language is one only with arguments.
func onHost(said *strings.Builder, name, after, host string) (rest string) {
	arguments, given := strings.CutPrefix(strings.TrimLeftFunc(after, unicode.IsSpace), "{")
	member := fmt.Sprintf("%q:%q", "host", host)
	switch {
	case given:
		others, rest := cutObject("{" + arguments)
		said.WriteString(" {" + member)
		if len(others) == 0 {
			said.WriteString("}")
			return rest
		}
		return "," + afterBrace(others) + rest
	case strings.Contains(name, "_"):
		said.WriteString(" {" + member + "}")
	}
	return after
}

// commandsOnHost has the commands of sentinel in a text ask the host, where sentinel takes sudo by itself, and
// takes out other hosts. The path of the program there means nothing here, and what takes no host is run there.
func commandsOnHost(text, host string) string {
	return commands().ReplaceAllStringFunc(text, func(found string) string {
		parts := commands().FindStringSubmatch(found)
		sudo, program, flag := parts[1], parts[2], parts[3]
		switch {
		case program == "":
			return ""
		case flag == "":
			return program + " --host " + host
		case takesHost(flag):
			return program + " --host " + host + " " + flag
		case sudo != "":
			return "ssh -t " + host + " sudo " + program + " " + flag // a terminal, at which sudo can ask
		default:
			return "ssh " + host + " " + program + " " + flag
		}
	})
}

// takesHost reports whether the action of a flag or a word may run elsewhere. What is no action decides nothing.
func takesHost(flag string) bool {
	op, action := ByWord(strings.ToLower(strings.TrimLeftFunc(flag, func(r rune) bool { return unicode.Is(unicode.Pd, r) })))
	return !action || op.Toolset != ""
}

// actionWords is an expression for what people may type in place of a flag (see [ByWord]).
func actionWords() string {
	var words []string
	for _, o := range Actions() {
		for _, word := range []string{o.Alias, o.Flag} {
			if word != "" {
				words = append(words, regexp.QuoteMeta(word))
			}
		}
	}
	return strings.Join(words, "|")
}

// maxObjects bounds the objects that one text is looked through for. Advice of sentinel has fewer.
const maxObjects = 16

// withoutHosts takes the member "host" out of the objects of JSON in a text, and of those within. What follows
// on more braces than any advice has is left out.
func withoutHosts(text string) string {
	var said strings.Builder
	for range maxObjects {
		before, arguments, found := strings.Cut(text, "{")
		said.WriteString(before)
		if !found {
			return said.String()
		}
		members, rest := cutObject("{" + arguments)
		all := len(members)
		maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return strings.EqualFold(name, "host") })
		if len(members) < all {
			arguments = afterBrace(members) + rest
		}
		said.WriteString("{")
		text = arguments
	}
	before, _, more := strings.Cut(text, "{")
	if said.WriteString(before); more {
		said.WriteString("…")
	}
	return said.String()
}

// afterBrace is an object of JSON behind its opening brace.
func afterBrace(members map[string]json.RawMessage) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = append(list, fmt.Sprintf("%q:%s", name, members[name]))
	}
	return strings.Join(list, ",") + "}"
}

// cutObject splits an object of JSON off a text. Of what is none it takes the brace alone.
func cutObject(text string) (members map[string]json.RawMessage, rest string) {
	d := json.NewDecoder(strings.NewReader(text))
	if d.Decode(&members) != nil {
		return nil, text[len("{"):]
	}
	return members, text[d.InputOffset():]
}

// What is looked for in a text.
var (
	// escapedMarks are those of names and flags, as Markdown may have them.
	escapedMarks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\+([_-])`) })
	// words are what names of tools may stand in.
	words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\p{L}\p{M}\p{N}_]+`) })
	// commands are those of sentinel, with its path, and the hosts, the flag or the word of an action behind it,
	// however they are quoted or dashed, and hosts elsewhere.
	commands = sync.OnceValue(func() *regexp.Regexp {
		const host, gap = `\p{Pd}+host(?:[\s\p{Z}]+|=)[^\s\p{Z},;]+`, `["'` + "`" + `\\\s\p{Z}]+`
		return regexp.MustCompile(`(?i)(\bsudo\s+)?(?:[\w.~+-]*/)*(\bsentinel)(?:(?:` + gap + host + `)+|` + gap + `(\p{Pd}+[a-z][a-z-]*|(?:` + actionWords() + `)\b))|[\s\p{Z}]*` + host)
	})
	// otherHosts look like an argument without being in an object: one that is not closed, is quoted otherwise,
	// or is none.
	otherHosts = sync.OnceValue(func() *regexp.Regexp {
		const quotes = `[\\"'` + "`" + `“”‘’]`
		return regexp.MustCompile(`(?i)(?:` + quotes + `+host` + quotes + `+\s*[:=]|(?:^|[^-\w])host=)\s*` + quotes + `*[^\s,;{}()]*[,;]?`)
	})
)
