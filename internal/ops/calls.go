// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// forAPerson follows a command that no tool on offer does.
const forAPerson = " (for the user, at a shell of this machine)"

// program begins the commands of sentinel in a text.
const program = "sentinel --"

// AsCalls says the commands of sentinel in a text of its own as calls of
// tools: a model has no shell. Commands without a tool, and those of tools that are not on, are left
// to the user. What stands in double quotes, as strconv.Quote writes them, is the name of something, which
// anybody may have chosen, and stays as it is.
func AsCalls(text string, on func(tool string) bool) string {
	var said strings.Builder
	called := false
	for {
		before, rest, found := cutProgram(text)
		if !found {
			break
		}
		command, after := cutCommand(rest)
		call, ok := asCall(command, on)
		switch {
		case ok:
			called = true
			said.WriteString(strings.TrimSuffix(before, "sudo "))
			said.WriteString(call)
		case len(command) == 0:
			said.WriteString(before + program)
		default:
			said.WriteString(before + program + strings.TrimSuffix(rest, after) + forAPerson)
		}
		text = after
	}
	said.WriteString(text)
	if called { // "without --dry-run" goes on about the command
		return strings.ReplaceAll(said.String(), "--dry-run", "dry_run")
	}
	return said.String()
}

// cutProgram cuts a text around the first [program] that is not quoted.
func cutProgram(text string) (before, after string, found bool) {
	for at := 0; ; {
		next, quote := strings.Index(text[at:], program), strings.IndexByte(text[at:], '"')
		switch {
		case next < 0:
			return text, "", false
		case quote < 0 || next < quote:
			return text[:at+next], text[at+next+len(program):], true
		}
		at += quote
		quoted, err := strconv.QuotedPrefix(text[at:])
		if err != nil { // a mark of the sentence
			quoted = text[at : at+1]
		}
		at += len(quoted)
	}
}

// forTheUser begins a fix that takes a shell.
const forTheUser = "For the user, at a shell of this machine: "

// FixAsCalls says a fix as [AsCalls] does, and marks as the user's one with a command of another
// program: a model that has a shell as well must not take it for its own, above all where it would
// give itself rights.
func FixAsCalls(fix string, on func(tool string) bool) string {
	said := AsCalls(fix, on)
	if strings.Contains(said, forAPerson) || !slices.ContainsFunc(strings.Fields(said), ofAnotherProgram) {
		return said
	}
	return forTheUser + said
}

// ofAnotherProgram reports whether a word begins a command in the fixes of sentinel.
func ofAnotherProgram(word string) bool {
	return slices.Contains([]string{"sudo", "systemctl", "launchctl", "journalctl", "pfctl", "ssh", "ssh-copy-id", "ssh-keygen"}, word)
}

// cutCommand splits a text behind [program] into the words of the command and
// the rest of the sentence: a command ends with a mark of the sentence, or where a word that is no
// flag and no value of one follows.
func cutCommand(text string) (words []string, rest string) {
	for value := true; ; { // the name of the first flag is without its dashes here
		word, after, ends := cutWord(strings.TrimPrefix(text, " "))
		if word == "" || len(words) == 0 && text[0] == ' ' || len(words) > 0 && !value && !strings.HasPrefix(word, "--") {
			return words, text
		}
		text = after
		words = append(words, word)
		if ends {
			return words, text
		}
		value = takesValue(word)
	}
}

// cutWord cuts the first word of a command off, without its quotes or the marks of the sentence behind
// it. The command ends with it unless a blank follows.
func cutWord(text string) (word, rest string, ends bool) {
	if quoted, after, ok := strings.Cut(strings.TrimPrefix(text, "'"), "'"); ok && text[0] == '\'' {
		return quoted, after, !strings.HasPrefix(after, " ")
	}
	word, _, more := strings.Cut(text, " ")
	bare := strings.TrimRight(word, ".,;:)")
	return bare, text[len(bare):], bare != word || !more
}

// takesValue reports whether a flag, with or without its dashes, has a value.
func takesValue(flag string) bool {
	flag = strings.TrimPrefix(flag, "--")
	for _, o := range Actions() {
		for _, f := range o.Fields {
			if f.Flag == flag {
				return f.Kind != Boolean
			}
		}
	}
	return slices.ContainsFunc(Options(), func(o Option) bool { return o.Name == flag && o.Value != "" })
}

// asCall returns the call that does what a command does; ok is false where
// there is none on offer.
func asCall(command []string, on func(tool string) bool) (call string, ok bool) {
	if len(command) == 0 {
		return "", false
	}
	arguments := map[string]any{}
	if command[0] == "host" && len(command) > 2 { // sentinel --host NAME --history
		arguments["host"] = command[1]
		command = append([]string{strings.TrimPrefix(command[2], "--")}, command[3:]...)
	}
	flag := command[0]
	if flag == "json" { // the action without a flag of its own
		flag = ""
	}
	at := slices.IndexFunc(All(), func(o Operation) bool { return o.Flag == flag })
	if at < 0 || !on(All()[at].Name) {
		return "", false
	}
	op := All()[at]
	for i, word := range command {
		f, known := op.byFlag(strings.TrimPrefix(word, "--"))
		switch {
		case !known:
			if strings.HasPrefix(word, "--") {
				return "", false // an option that no call has
			}
		case f.Kind == Boolean:
			arguments[f.Name] = true
		case i+1 < len(command) && !placeholder(command[i+1]):
			if value, err := f.fromText(f.Name, command[i+1]); err == nil {
				arguments[f.Name] = value
			}
		}
	}
	return withArguments(op.Name, arguments), true
}

// placeholder reports whether a word stands for a value that the reader fills in: NAME. /DATA is a
// folder.
func placeholder(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '|' })
}

func (o Operation) byFlag(flag string) (Field, bool) {
	for _, f := range o.Fields {
		if f.Flag == flag {
			return f, true
		}
	}
	return Field{}, false
}

// withArguments returns a call as a model reads it: get_top_processes {"sort":"memory"}.
func withArguments(tool string, arguments map[string]any) string {
	if len(arguments) == 0 {
		return tool
	}
	var members []string
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value, err := json.Marshal(arguments[name])
		if err != nil {
			continue // texts, numbers and switches always encode
		}
		members = append(members, `"`+name+`":`+string(value))
	}
	return tool + " {" + strings.Join(members, ",") + "}"
}
