// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/ops"
	"sentinel/internal/remote"
)

// flags is the flag set of one run, built from the table of operations.
type flags struct {
	set  *pflag.FlagSet
	word string // of the action that has no flag, when it was typed
}

func newFlags() *flags {
	f := &flags{set: pflag.NewFlagSet("sentinel", pflag.ContinueOnError)}
	f.set.SetOutput(io.Discard) // errors are rendered as documents
	f.set.Usage = func() {}
	for _, o := range ops.Options() {
		switch {
		case o.Value == "":
			f.addSwitch(o.Name, o.Shorthand)
		case o.Name == "host":
			f.set.Var(&hosts{}, o.Name, "")
		default:
			f.set.Var(&once{}, o.Name, "")
		}
	}
	for _, o := range ops.Actions() {
		for _, field := range o.Fields {
			f.addField(field)
		}
		if o.Flag != "" && f.set.Lookup(o.Flag) == nil {
			f.addSwitch(o.Flag, "")
		}
	}
	return f
}

// addField adds the flag of a field. Operations may share one.
func (f *flags) addField(field ops.Field) {
	switch {
	case f.set.Lookup(field.Flag) != nil:
	case field.Kind == ops.Boolean:
		f.addSwitch(field.Flag, "")
	case field.Optional():
		f.set.Var(&once{optional: true}, field.Flag, "")
		f.set.Lookup(field.Flag).NoOptDefVal = switchedOn
	default:
		f.set.Var(&once{}, field.Flag, "")
	}
}

func (f *flags) addSwitch(name, shorthand string) {
	f.set.VarP(&once{isSwitch: true}, name, shorthand, "")
	f.set.Lookup(name).NoOptDefVal = switchedOn
}

func (f *flags) given(name string) bool { return f.set.Changed(name) }

func (f *flags) value(name string) string { return f.set.Lookup(name).Value.String() }

// names lists all flags there are.
func (f *flags) names() []string {
	var all []string
	f.set.VisitAll(func(flag *pflag.Flag) { all = append(all, flag.Name) })
	return all
}

// values returns the given flags with their values.
func (f *flags) values() map[string]string {
	given := map[string]string{}
	f.set.Visit(func(flag *pflag.Flag) { given[flag.Name] = flag.Value.String() })
	return given
}

// switchedOn is what pflag hands to a switch without a value. No command line
// can hold a NUL, so nobody can type it.
const switchedOn = "\x00"

// once is the value of a flag that may be given once, as text. pflag would let
// the last of two win in silence, and take the next flag as a value.
type once struct {
	text     string
	given    bool
	isSwitch bool
	optional bool // its value may be left out; one that follows after a blank is an argument to pflag
}

// Set implements [pflag.Value].
func (o *once) Set(text string) error {
	switch {
	case o.optional && text == switchedOn && !o.given:
		text = ""
	case o.given:
		return errors.New("is there twice")
	case o.isSwitch && text != switchedOn:
		return errors.New("takes no value")
	case !o.isSwitch && text == "":
		return errors.New("needs a value")
	case strings.HasPrefix(text, "--") || text == "-h":
		return errors.New("needs a value, and " + text + " is a flag")
	}
	o.text, o.given = text, true
	return nil
}

// follow sets the value that follows a flag which may stand alone.
func (o *once) follow(text string) error {
	if text == "" {
		return usage("The name after the flag is empty.")
	}
	o.text = text
	return nil
}

// String implements [pflag.Value].
func (o *once) String() string { return o.text }

// Type implements [pflag.Value].
func (o *once) Type() string { return "text" }

// hosts is the value of --host, which some actions take several times.
type hosts []string

// Set implements [pflag.Value].
func (h *hosts) Set(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if err := remote.CheckName(name); err != nil {
			return fmt.Errorf("takes no such name: %w", err)
		}
		*h = append(*h, name)
	}
	return nil
}

// String implements [pflag.Value].
func (h *hosts) String() string { return strings.Join(*h, ",") }

// Type implements [pflag.Value].
func (h *hosts) Type() string { return "text" }
