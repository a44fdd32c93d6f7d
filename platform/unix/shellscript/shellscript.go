// SPDX-License-Identifier: Apache-2.0

// Package shellscript finds which programs a shell script or a command line starts, and nothing
// else of it: arguments may hold secrets.
//
// It is no shell. What a script makes up as it runs is not found.
package shellscript

import (
	"path"
	"slices"
	"strings"
	"sync"

	"sentinel/internal/lazyregexp"
)

// Bounds of what is found.
const (
	maxPrograms = 20
	maxName     = 200
	maxDepth    = 3 // of command lines within command lines
)

// Programs returns the programs that a script names, each once, in their order: what can be a
// command, without keywords and builtins, and files that it reads as a script.
func Programs(script string) []string { return programs(script, 0) }

func programs(script string, depth int) []string {
	var list []string
	for _, words := range commands(script) {
		for _, name := range command(words, depth) {
			if len(list) < maxPrograms && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// Command returns the programs of one command: the program itself, and if that runs another program
// or a script, this one too.
func Command(words []string) []string { return command(words, 0) }

// Once returns the names in list, each once, in their order.
func Once(list []string) []string {
	var once []string
	for _, name := range list {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// loaders are variables that make programs load or run a file.
var loaders = []string{"LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "PROMPT_COMMAND"}

var assignment = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

// ignored are words of a shell that start nothing.
var ignored = words(`if then else elif fi for while until do done case esac in function select ! { } [[ ]] [ ] ( )
	: . alias autoload bg bind bindkey break cd compdef complete compinit continue declare dirs echo emulate enable exit export false fg getopts hash
	history jobs let local logout popd printf pushd pwd read readonly return set setopt shift shopt suspend test times trap true type typeset
	ulimit umask unalias unset unsetopt wait whence zmodload zstyle`)

// wrappers run what their arguments name.
var wrappers = words(`. builtin chronic chrt command doas env eval exec flock ionice nice noglob nohup runuser setsid sleep source stdbuf sudo systemd-cat time timeout`)

// interpreters run a file that an argument names, or a text after -c.
var interpreters = words(`ash bash bun busybox dash fish ksh lua mksh node perl php python python2 python3 rbash ruby sh tclsh zsh`)

// words says which are in a list. It is split when it is needed: few runs read a script.
func words(list string) (has func(string) bool) {
	set := sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(list) {
			set[word] = true
		}
		return set
	})
	return func(word string) bool { return set()[word] }
}

// keywords may stand before a command.
var keywords = words(`if then else elif while until do ! { time export`)

func command(list []string, depth int) []string {
	var found []string
	for len(list) > 0 && (keywords(list[0]) || assignment.Get().MatchString(list[0])) {
		found = append(found, loaded(list[0])...)
		list = list[1:]
	}
	if len(list) == 0 {
		return found
	}
	name, rest := list[0], list[1:]
	base := path.Base(name)
	switch {
	case wrappers(base):
		if strings.Contains(name, "/") && isName(name) {
			found = append(found, name)
		}
		return append(found, command(afterOptions(rest), depth)...)
	case ignored(name) || !isName(name):
		return found
	case interpreters(base):
		return append(append(found, name), interpreted(rest, depth)...)
	default:
		return append(found, name)
	}
}

// loaded are the files that an assignment makes every program load.
func loaded(word string) []string {
	name, value, _ := strings.Cut(word, "=")
	if !slices.Contains(loaders, name) {
		return nil
	}
	var list []string
	for file := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ':' || r == ' ' }) {
		if isName(file) {
			list = append(list, file)
		}
	}
	return list
}

// afterOptions leaves out options, numbers and assignments, which wrappers take first.
func afterOptions(list []string) []string {
	for len(list) > 0 && (strings.HasPrefix(list[0], "-") || strings.Trim(list[0], "0123456789.smhd") == "") {
		list = list[1:]
	}
	return list
}

// interpreted returns the script among the arguments of an interpreter, or the programs of the text
// after -c.
func interpreted(list []string, depth int) []string {
	for i, word := range list {
		switch {
		case strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.HasSuffix(word, "c"):
			if i+1 < len(list) && depth < maxDepth {
				return programs(list[i+1], depth+1)
			}
			return nil
		case strings.HasPrefix(word, "-"):
		case strings.Contains(word, "/") && isName(word):
			return []string{word}
		default:
			return nil
		}
	}
	return nil
}

var nameForm = lazyregexp.New(`^(?:~|\$HOME|\$\{HOME\})?[\w./+@:,%-]+$`)

// isName reports whether a word can be shown as the name of a program.
func isName(word string) bool {
	return len(word) <= maxName && nameForm.Get().MatchString(word) && strings.ContainsFunc(word, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) && !strings.HasPrefix(word, "-")
}
