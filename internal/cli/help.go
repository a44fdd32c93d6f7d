// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/ops"
	"sentinel/internal/remote"
)

// textAction returns what prints something instead of running an operation, nil where none was chosen.
func (f *flags) textAction() (func() string, error) {
	var chosen []string
	var action func() string
	if f.given("version") {
		chosen, action = append(chosen, "--version"), versionText
	}
	if f.given("completion") {
		script, err := completionScript(f.value("completion"))
		if err != nil {
			return nil, err
		}
		chosen, action = append(chosen, "--completion"), script
	}
	if f.given("complete") {
		chosen = append(chosen, "--complete")
	}
	for _, o := range ops.Actions() {
		if len(chosen) > 0 && o.Flag != "" && f.given(o.Flag) {
			chosen = append(chosen, "--"+o.Flag)
		}
	}
	switch {
	case len(chosen) > 1:
		return nil, usage(strings.Join(chosen, " and ") + " are two actions; a run does one.")
	case action != nil && f.given("host"):
		return nil, f.ofThisMachine(chosen[0])
	default:
		return action, nil
	}
}

// ofThisMachine refuses --host beside an action that would answer for this machine.
func (f *flags) ofThisMachine(action string) error {
	e := usage("--host does not belong to " + action + ", which is of this machine alone.")
	if name := f.value("host"); action == "--version" && remote.CheckNames([]string{name}) == nil {
		return e.WithFix("Run it there: ssh " + name + " sentinel --version")
	}
	return e
}

// asksForHelp says that help is asked for anywhere on the command line, where
// the rest may be incomplete: --block-ip --help.
func asksForHelp(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--help") || slices.Contains(args, "-h") || len(args) > 0 && args[0] == "help"
}

// helpOn returns the help for the action that is named anywhere on the command
// line, or else that for all of them.
func helpOn(args []string) (func() string, error) {
	var modified []ops.Operation // whose flags are on the line
	for i, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		name, _, _ = strings.Cut(name, "=")
		if asks(args, i) || ops.IsOption(name) || !isFlag && i > 0 && !asks(args, i-1) {
			continue
		}
		op, known := actionNamed(name)
		switch {
		case known:
			return func() string { return actionHelp(op) }, nil
		case !strings.HasPrefix(arg, "-"):
			return nil, unknownWord(name)
		}
		modified = append(modified, modifiedBy(name)...)
	}
	if len(modified) > 0 {
		return func() string { return actionHelp(modified[0]) }, nil
	}
	return helpText, nil
}

// asks says that the argument at i asks for help.
func asks(args []string, i int) bool {
	return args[i] == "--help" || args[i] == "-h" || i == 0 && args[i] == "help"
}

// actionNamed finds an action by its word, its flag or its tool.
func actionNamed(name string) (ops.Operation, bool) {
	if op, ok := ops.ByWord(name); ok {
		return op, true
	}
	return ops.ByName(name)
}

// modifiedBy returns the actions that a flag belongs to.
func modifiedBy(flag string) []ops.Operation {
	return slices.DeleteFunc(ops.Actions(), func(o ops.Operation) bool {
		return !slices.ContainsFunc(o.Fields, func(f ops.Field) bool { return f.Flag == flag })
	})
}

// helpText is the usage, laid out from the table of operations.
func helpText() string {
	var b strings.Builder
	b.WriteString("sentinel shows how this machine is doing, and acts on it.\n\n" +
		"Usage: sentinel [ACTION] [OPTIONS]\n\n" +
		"An action is a word or a flag: the word with two dashes, unless brackets have\n" +
		"another. Scripts and rules of sudo use flags. Without an action it shows the\n" +
		"health of this machine. On a terminal the answer is a page for people, otherwise\n" +
		"one JSON document. The flags of an action: sentinel help ACTION\n")
	for _, g := range ops.Groups() {
		b.WriteString("\n" + g.Heading() + ":\n")
		for _, o := range ops.Actions() {
			if o.Group() == g {
				actionEntry(&b, o)
			}
		}
	}
	for _, o := range ops.Options() {
		if o.Action {
			row(&b, wordColumn, shownOption(o), o.Usage)
		}
	}
	b.WriteString("\nOptions:\n")
	for _, o := range ops.Options() {
		if !o.Action {
			entry(&b, shownOption(o), o.Usage)
		}
	}
	b.WriteString("\nExit status: 0 success, 1 the action failed, 2 usage, 3 permission, 4 refused by\na safety rule, 75 kept for a later report, 130 interrupted.\nWith --check it is 0 to 3.\n")
	return b.String()
}

// actionHelp is the help for one action: its flags, and the options that go
// with it.
func actionHelp(o ops.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n\nUsage: sentinel %s [OPTIONS]\n", o.Title, o.Usage, strings.TrimSpace(o.SpelledWord()+modifierText(o)))
	if o.Flag != "" {
		fmt.Fprintf(&b, "       sentinel %s%s [OPTIONS]\n", o.Spelled(), modifierText(o))
	}
	b.WriteString("\n")
	for _, f := range o.Fields {
		if !ops.IsOption(f.Flag) { // it is among the options below
			entry(&b, f.Spelled(), f.Description+f.DefaultText())
		}
	}
	if len(o.Fields) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("Options that go with it:\n")
	for _, option := range ops.Options() {
		if !option.Action && goesWith(option.Name, o) {
			entry(&b, shownOption(option), optionUsage(option, o))
		}
	}
	if text := needsText(o); text != "" {
		b.WriteString("\n" + text)
	}
	return b.String()
}

// optionUsage is the usage of an option with an action: few have metrics.
func optionUsage(option ops.Option, o ops.Operation) string {
	if option.Name == "output" && !hasMetrics(o) {
		return "print JSON (json) or the page for people (text)"
	}
	return option.Usage
}

// modifierText says that an action has flags of its own.
func modifierText(o ops.Operation) string {
	if len(o.Modifiers()) == 0 {
		return ""
	}
	return " [FLAGS]"
}

func needsText(o ops.Operation) string {
	text := map[ops.Privilege]string{
		ops.AnyUser: "", ops.BetterRoot: "It sees more as root. ", ops.NeedsRoot: "It needs root. ",
	}[o.Privilege]
	if o.Toolset != "" {
		text += "Programs run it with --request " + o.Name + "."
	}
	if text == "" {
		return ""
	}
	return strings.TrimSpace(text) + "\n"
}

// shownOption is the option as a person types it, with its short form.
func shownOption(o ops.Option) string {
	if o.Shorthand != "" {
		return "-" + o.Shorthand + ", " + o.Spelled()
	}
	return o.Spelled()
}

// Columns of help texts.
const (
	helpWidth   = 80
	wordColumn  = 18 // of the word of an action with its value
	leftColumn  = 26 // of a flag with its value
	entryIndent = 2
)

// actionEntry writes an action as a word, what it does, and its flag.
func actionEntry(b *strings.Builder, o ops.Operation) {
	text := o.Usage
	if o.Flag != o.Word() && o.Flag != "" {
		text += " (--" + o.Flag + ")"
	}
	row(b, wordColumn, o.SpelledWord(), text)
}

// entry writes a flag or an option and what it does.
func entry(b *strings.Builder, left, right string) { row(b, leftColumn, left, right) }

// row writes two columns, in as many lines as a terminal needs.
func row(b *strings.Builder, column int, left, right string) {
	for i, line := range strings.Split(text.WrapSoft(right, helpWidth-column-entryIndent-2), "\n") {
		if i > 0 {
			left = ""
		}
		fmt.Fprintf(b, "%*s%-*s %s\n", entryIndent, "", column, left, strings.TrimRight(line, " "))
	}
}
