// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/completion"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// completionScript returns the action that prints the completions for a shell.
func completionScript(shell string) (func() string, error) {
	script, known := completion.Script(completed(), shell)
	if !known {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("There is no completion for %q.", shell)).WithFix("Use one of: " + strings.Join(completion.Shells(), ", "))
	}
	return func() string { return script }, nil
}

// completed is the command line of sentinel.
func completed() completion.Program {
	p := completion.Program{Name: "sentinel"}
	seen := map[string]bool{}
	for _, o := range ops.Actions() {
		p.Actions = append(p.Actions, completion.Action{Name: o.Word(), About: o.Usage, Value: objectValue(o)})
		if o.Flag != "" {
			p.Flags = append(p.Flags, completion.Flag{Name: o.Flag, About: o.Usage, Value: objectValue(o)})
			seen[o.Flag] = true
		}
		for _, f := range o.Modifiers() {
			if !seen[f.Flag] {
				p.Flags = append(p.Flags, completion.Flag{Name: f.Flag, About: f.Description, Value: fieldValue(f)})
			}
			seen[f.Flag] = true
		}
	}
	for _, o := range ops.Options() {
		value := completion.Value{Takes: o.Value != "", IsFile: o.Value == "FILE", Among: o.Values}
		p.Flags = append(p.Flags, completion.Flag{Name: o.Name, Short: o.Shorthand, About: o.Usage, Value: value})
		if o.Name == "help" {
			value = completion.Value{Takes: true, Among: actionWords()}
		}
		if o.ByWord {
			p.Actions = append(p.Actions, completion.Action{Name: o.Name, About: o.Usage, Value: value})
		}
	}
	p.Choices, p.Usual = choices()
	return p
}

// choices are the flags that go with each action, and those to begin with: the flags of all actions, and
// what goes with health, which is shown without one.
func choices() (list []completion.Choice, usual []string) {
	for _, o := range ops.Actions() {
		list = append(list, choiceOfAction(o))
		if o.Flag != "" {
			usual = append(usual, o.Flag)
		}
	}
	for _, o := range ops.Options() {
		if o.Action {
			list = append(list, choiceOfOption(o))
			usual = append(usual, o.Name)
		}
	}
	for _, c := range list {
		if slices.Contains(c.Typed, wordOfHealth) {
			usual = append(usual, c.Flags...)
		}
	}
	return list, usual
}

// wordOfHealth is that of the action without a flag.
const wordOfHealth = "health"

func choiceOfAction(o ops.Operation) completion.Choice {
	c := completion.Choice{Typed: []string{o.Word()}}
	if o.Flag != "" {
		c.Typed = append(c.Typed, "--"+o.Flag)
	}
	if o.Alias != "" && o.Flag != "" {
		c.Typed = append(c.Typed, o.Flag)
	}
	for _, f := range o.Modifiers() {
		c.Flags = append(c.Flags, f.Flag)
	}
	for _, option := range ops.Options() {
		if !option.Action && goesWith(option.Name, o) {
			c.Flags = append(c.Flags, option.Name)
		}
	}
	return c
}

// choiceOfOption is that of an option that is an action, with which hardly any other goes.
func choiceOfOption(option ops.Option) completion.Choice {
	c := completion.Choice{Typed: []string{"--" + option.Name}}
	if option.Shorthand != "" {
		c.Typed = append(c.Typed, "-"+option.Shorthand)
	}
	if option.ByWord {
		c.Typed = append(c.Typed, option.Name)
	}
	if option.Name == "request" {
		c.Flags = []string{"json", "output", "verbose", "host", "config"}
	}
	return c
}

// actionWords lists the actions as words.
func actionWords() []string {
	var words []string
	for _, o := range ops.Actions() {
		words = append(words, o.Word())
	}
	return words
}

// objectValue is the value of an action.
func objectValue(o ops.Operation) completion.Value {
	if f := o.Object(); f != nil {
		return fieldValue(*f)
	}
	return completion.Value{}
}

func fieldValue(f ops.Field) completion.Value {
	return completion.Value{Takes: f.Kind != ops.Boolean, Among: f.Enum, Kind: f.Candidates}
}
