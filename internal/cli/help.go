// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

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
	for _, o := range ops.All() {
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
	b.WriteString("sentinel shows how this machine is doing.\n\n" +
		"Usage: sentinel [ACTION] [OPTIONS]\n\n" +
		"Without an action it shows the health of this machine. On a terminal the answer\n" +
		"is a view for people, otherwise one JSON document.\n\nActions:\n")
	for _, o := range ops.All() {
		if o.Flag != "" {
			entry(&b, "--"+o.Flag, o.Usage)
		}
		for _, field := range o.Fields {
			entry(&b, "    --"+field.Flag+" "+placeholder(field), field.Description+fmt.Sprintf(" (default %v)", field.Default))
		}
	}
	for _, o := range options() {
		if o.action {
			entry(&b, o.spelled(), o.about)
		}
	}
	b.WriteString("\nOptions:\n")
	for _, o := range options() {
		if !o.action {
			entry(&b, o.spelled(), o.about)
		}
	}
	b.WriteString("\nExit status: 0 success, 1 the action failed, 2 usage, 130 interrupted.\n")
	return b.String()
}

// spelled is the option as a person types it.
func (o option) spelled() string {
	flag := strings.TrimSpace("--" + o.name + " " + o.value)
	if o.shorthand != "" {
		flag = "-" + o.shorthand + ", " + flag
	}
	return flag
}

func entry(b *strings.Builder, left, right string) {
	fmt.Fprintf(b, "  %-26s %s\n", left, right)
}

func placeholder(f ops.Field) string {
	if f.Kind == ops.Text {
		return strings.Join(f.Enum, "|")
	}
	return "N"
}
