// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sentinel/internal/trust"
)

// A Source is a file that rules may stand in.
type Source struct {
	Path     string
	Required bool // somebody named it: that it is missing is an error
}

// Load reads the files of rules, first that of the machine. A missing one changes nothing; what is
// wrong with one is a [Problems].
func Load(env Environment, sources ...Source) (*Set, error) {
	var policies []*Policy
	var problems Problems
	for _, source := range sources {
		p, err := LoadFile(env, source.Path)
		wrong, invalid := errors.AsType[Problems](err)
		switch {
		case err == nil:
			policies = append(policies, p)
		case errors.Is(err, fs.ErrNotExist) && !source.Required:
		case invalid:
			problems = append(problems, wrong...)
		default:
			problems = append(problems, Problem{File: source.Path, Text: err.Error()})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return NewSet(env, policies...), nil
}

// LoadFile reads one file, which nobody but root and the user who runs the program may be able to
// write. A symbolic link is followed where the same holds for it.
func LoadFile(env Environment, path string) (*Policy, error) {
	before, err := os.Stat(path)
	if err != nil {
		return nil, plain(err)
	}
	raw, err := trust.RootOrSelf.Read(path, maxFile)
	if err != nil {
		return nil, plain(err)
	}
	after, err := os.Stat(path)
	if err != nil || !sameState(stateOf(before), stateOf(after)) || int64(len(raw)) != after.Size() {
		return nil, errors.New("it was written to while it was read")
	}
	return Parse(path, raw, env)
}

// plain takes the path out of an error that is told with the path.
func plain(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("it cannot be read: %w", of.Err)
	}
	return err
}
