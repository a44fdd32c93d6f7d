// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/editdistance"
)

// once is the value of a flag that may be given only once. pflag silently takes
// the last of several, which hides a mistake in a long client configuration.
type once struct {
	kind  string
	text  string
	given bool
	take  func(string) error
	among []string // the only values, where they are few; of a list, each of its items
}

var _ pflag.Value = (*once)(nil)

// Set implements [pflag.Value].
func (o *once) Set(text string) error {
	if o.given {
		return errors.New("may be given only once")
	}
	o.given, o.text = true, text
	return o.take(text)
}

// String implements [pflag.Value].
func (o *once) String() string { return o.text }

// Type implements [pflag.Value].
func (o *once) Type() string { return o.kind }

// each is the value of a flag that may be repeated.
type each struct {
	take  func(string) error
	among []string
}

var _ pflag.Value = (*each)(nil)

// Set implements [pflag.Value].
func (e *each) Set(text string) error { return e.take(text) }

// String implements [pflag.Value].
func (e *each) String() string { return "" }

// Type implements [pflag.Value].
func (e *each) Type() string { return "name" }

// flagError words an error of pflag as one clear sentence.
func flagError(err error, set *pflag.FlagSet) error {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return fmt.Errorf("--%s %w", value.GetFlag().Name, value.Unwrap())
	case errors.As(err, &missing):
		return fmt.Errorf("--%s needs a value", missing.GetSpecifiedName())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("there is no flag -%s", unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		return fmt.Errorf("there is no flag --%s%s", unknown.GetSpecifiedName(), meant(unknown.GetSpecifiedName(), set))
	default:
		return err
	}
}

// meant names the flags that may have been meant.
func meant(typed string, set *pflag.FlagSet) string {
	var known []string
	set.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	likely := editdistance.Closest(typed, known)
	if len(likely) == 0 {
		return ""
	}
	return "; did you mean --" + strings.Join(likely, " or --") + "?"
}
