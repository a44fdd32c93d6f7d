// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/editdistance"
	"sentinel/internal/ops"
)

// leadingWord splits off the word that may stand in place of the flag of an
// action: block in "block 203.0.113.7".
func leadingWord(args []string) (word string, rest []string) {
	if len(args) == 0 || args[0] == "" || strings.HasPrefix(args[0], "-") {
		return "", args
	}
	return args[0], args[1:]
}

// spellOut sets the flag that the word stands for, with the argument that is
// left as its value. From there on only the flag is known: rules of sudo, the journal and every
// check name it alone.
func (f *flags) spellOut(word string) error {
	flag, takes, err := flagOf(word)
	if err != nil {
		return err
	}
	rest := f.set.Args()
	if word == "" && len(rest) == 1 {
		if value := f.withoutValue(); value != nil {
			return value.follow(rest[0])
		}
	}
	switch {
	case word == "" || !takes && len(rest) > 0 || len(rest) > 1:
		return f.tooMany(takes)
	case takes && len(rest) == 0 && f.given(flag):
		return nil
	case takes && len(rest) == 0 && f.isOptional(flag):
		return f.setFlag(flag, switchedOn)
	case takes && len(rest) == 0:
		return usage(word + " needs a value.").WithFix("See how it is used with: sentinel --" + flag + " --help")
	case takes:
		return f.setFlag(flag, rest[0])
	case flag == "":
		f.word = word
		return nil
	default:
		return f.setFlag(flag, switchedOn)
	}
}

// withoutValue returns the value of a flag that was given without one and may have one; nil for none.
func (f *flags) withoutValue() *once {
	var found *once
	f.set.Visit(func(flag *pflag.Flag) {
		if value, ok := flag.Value.(*once); ok && value.optional && value.text == "" {
			found = value
		}
	})
	return found
}

// isOptional reports whether a flag may be given without its value.
func (f *flags) isOptional(flag string) bool {
	value, ok := f.set.Lookup(flag).Value.(*once)
	return ok && value.optional
}

func (f *flags) setFlag(flag, value string) error {
	if err := f.set.Set(flag, value); err != nil {
		return f.fault(err)
	}
	return nil
}

// tooMany refuses the first argument that nothing takes.
func (f *flags) tooMany(valueTaken bool) error {
	rest := f.set.Args()
	if valueTaken {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil
	}
	e := usage(fmt.Sprintf("There is an argument too many: %q.", rest[0]))
	if _, _, err := flagOf(rest[0]); err == nil {
		return e.WithFix("An action as a word comes first: sentinel " + rest[0])
	}
	return e
}

// flagOf returns the flag that a word stands for, and whether that takes a
// value. The flag is empty for the action that has none.
func flagOf(word string) (flag string, takesValue bool, err error) {
	if op, known := ops.ByWord(word); known {
		return op.Flag, op.Object() != nil, nil
	}
	for _, o := range ops.Options() {
		if o.ByWord && o.Name == word {
			return o.Name, o.Value != "", nil
		}
	}
	if word == "" {
		return "", false, nil
	}
	return "", false, unknownWord(word)
}

// unknownWord names the actions that may have been meant.
func unknownWord(word string) error {
	e := usage(fmt.Sprintf("There is no action %q.", word))
	var likely []string
	for _, known := range editdistance.Closest(word, actionNames()) {
		likely = append(likely, "sentinel "+strings.TrimPrefix(known, "--"))
	}
	if len(likely) == 0 {
		return e
	}
	return e.WithFix("Did you mean: " + strings.Join(likely, ", or: ") + "? All actions: sentinel --help")
}

// actionNames lists the words and flags of all actions.
func actionNames() []string {
	var names []string
	for _, o := range ops.Actions() {
		names = append(names, o.Word())
		if o.Flag != "" {
			names = append(names, o.Flag)
		}
	}
	return names
}
