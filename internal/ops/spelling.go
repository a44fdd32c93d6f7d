// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"fmt"
	"slices"
	"strings"
)

// Object is the field that the operation's own flag takes as its value: the PID in
// --kill PID. It is nil for an operation that is a switch.
func (o Operation) Object() *Field {
	for _, f := range o.Fields {
		if f.Flag == o.Flag {
			return &f
		}
	}
	return nil
}

// Optional reports whether the flag of an operation may stand without its value.
func (f Field) Optional() bool { return f.Kind == Text && strings.HasPrefix(f.Placeholder, "[") }

// Modifiers returns the fields with a flag of their own, which is not that of an option.
func (o Operation) Modifiers() []Field {
	return slices.DeleteFunc(slices.Clone(o.Fields), func(f Field) bool { return f.Flag == o.Flag || IsOption(f.Flag) })
}

// Spelled returns the operation's flag as a person types it, with the placeholder
// of its value.
func (o Operation) Spelled() string {
	if f := o.Object(); f != nil {
		return f.Spelled()
	}
	return "--" + o.Flag
}

// Spelled returns the field's flag as a person types it.
func (f Field) Spelled() string { return strings.TrimSpace("--" + f.Flag + " " + f.ValueName()) }

// ValueName returns the placeholder of the value in help texts; "" for a switch.
func (f Field) ValueName() string {
	switch {
	case f.Placeholder != "":
		return f.Placeholder
	case f.Kind == Boolean:
		return ""
	case len(f.Enum) > 0:
		return strings.Join(f.Enum, "|")
	case f.Kind == Integer:
		return "N"
	default:
		return "TEXT"
	}
}

// DefaultText is appended to a field's description: " (default 10)", or nothing.
func (f Field) DefaultText() string {
	if f.Default == nil || f.Kind == Boolean {
		return ""
	}
	return fmt.Sprintf(" (default %v)", f.Default)
}
