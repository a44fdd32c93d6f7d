// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// textActions print something instead of running an operation.
func (f flags) textAction() (func() string, error) {
	var chosen []string
	var action func() string
	if f.given("help") {
		chosen, action = append(chosen, "--help"), helpText
	}
	if f.given("version") {
		chosen, action = append(chosen, "--version"), versionText
	}
	if f.given("completion") {
		shell := f.value("completion")
		script, ok := completions()[shell]
		if !ok {
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("There is no completion for %q.", shell)).WithFix("Use bash, zsh or fish.")
		}
		chosen, action = append(chosen, "--completion"), script
	}
	for _, o := range ops.Actions() {
		if len(chosen) > 0 && o.Flag != "" && f.given(o.Flag) {
			chosen = append(chosen, "--"+o.Flag)
		}
	}
	if len(chosen) > 1 {
		return nil, usage(strings.Join(chosen, " and ") + " are two actions; a run does one.")
	}
	return action, nil
}

// helpText is the usage, laid out from the table of operations.
func helpText() string {
	var b strings.Builder
	b.WriteString("sentinel shows how this machine is doing, and acts on it.\n\n" +
		"Usage: sentinel [ACTION] [OPTIONS]\n\n" +
		"Without an action it shows the health of this machine. On a terminal the answer\n" +
		"is a view for people, otherwise one JSON document.\n\nActions:\n")
	for _, o := range ops.Actions() {
		if o.Flag != "" {
			entry(&b, o.Spelled(), o.Usage)
		}
		for _, field := range o.Modifiers() {
			entry(&b, "    "+field.Spelled(), field.Description+field.DefaultText())
		}
	}
	for _, o := range ops.Options() {
		if o.Action {
			entry(&b, shownOption(o), o.Usage)
		}
	}
	b.WriteString("\nOptions:\n")
	for _, o := range ops.Options() {
		if !o.Action {
			entry(&b, shownOption(o), o.Usage)
		}
	}
	b.WriteString("\nExit status: 0 success, 1 the action failed, 2 usage, 3 permission, 4 refused by\na safety rule, 130 interrupted.\n")
	return b.String()
}

// shownOption is the option as a person types it, with its short form.
func shownOption(o ops.Option) string {
	if o.Shorthand != "" {
		return "-" + o.Shorthand + ", " + o.Spelled()
	}
	return o.Spelled()
}

// entry writes one line, or two where one would be wider than a terminal.
func entry(b *strings.Builder, left, right string) {
	const column, width = 26, 80
	for i, line := range strings.Split(text.WrapSoft(right, width-column-4), "\n") {
		if i > 0 {
			left = ""
		}
		fmt.Fprintf(b, "  %-*s %s\n", column, left, strings.TrimRight(line, " "))
	}
}
