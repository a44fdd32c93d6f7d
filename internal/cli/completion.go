// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
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
	return p
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
