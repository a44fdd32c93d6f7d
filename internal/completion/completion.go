// SPDX-License-Identifier: Apache-2.0

// Package completion writes the completions of a program for shells, from the list of its
// flags and actions.
//
// Values that only the machine knows, such as the names of its services, are printed by sentinel
// itself while somebody types. Names of the host are hostile: what a shell could take for more
// than a word is never printed, and the scripts hand nothing to be evaluated.
package completion

import (
	"slices"
	"strings"
)

// A Program is one whose command line is completed.
type Program struct {
	Name    string
	Flags   []Flag
	Actions []Action
	Choices []Choice
	// Usual are the flags that go where nothing was chosen yet, by name.
	Usual []string
}

// A Choice is one thing that a run can do. What is typed of it decides which flags are offered from
// there on.
type Choice struct {
	Typed []string // "--top" anywhere, and "top" as the first argument
	Flags []string // names of those that go with it, without its own
}

// A Flag is one with two dashes.
type Flag struct {
	Name, About string
	Short       string // one letter; "" is none
	Value
}

// An Action is a word in place of a flag, as the first argument.
type Action struct {
	Name, About string
	Value
}

// A Value is what follows a flag or an action.
type Value struct {
	Takes  bool     // there is one
	Among  []string // the only values, where there are few
	IsFile bool
	Kind   string // of what sentinel prints with --complete; "" is nothing
}

// isFlag tells a flag from a word among what is typed of a choice.
func isFlag(typed string) bool { return strings.HasPrefix(typed, "-") }

// Shells lists those that are known.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Script returns the completions of p for a shell that is known.
func Script(p Program, shell string) (script string, known bool) {
	i := slices.Index(Shells(), shell)
	if i < 0 {
		return "", false
	}
	return []func(Program) string{bash, zsh, fish}[i](p), true
}
