// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"sentinel/internal/trust"
)

// A Source is a file that rules may stand in.
type Source struct {
	Path     string
	Required bool   // somebody named it: that it is missing is an error
	Preset   string // in place of a path, rules that come with the guard
}

// Load reads the files of rules, first that of the machine. A missing one changes nothing; what is
// wrong with one is a [Problems].
func Load(env Environment, sources ...Source) (*Set, error) {
	var policies []*Policy
	var problems Problems
	for _, source := range sources {
		p, err := source.load(env)
		wrong, invalid := errors.AsType[Problems](err)
		switch {
		case err == nil:
			policies = append(policies, p)
		case errors.Is(err, fs.ErrNotExist) && !source.Required:
		case invalid:
			problems = append(problems, wrong...)
		default:
			problems = append(problems, Problem{File: source.name(), Text: err.Error()})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return NewSet(env, policies...), nil
}

// name is what errors call the source.
func (s Source) name() string {
	if s.Preset != "" {
		return "preset " + s.Preset
	}
	return s.Path
}

func (s Source) load(env Environment) (*Policy, error) {
	if s.Preset == "" {
		return LoadFile(env, s.Path)
	}
	text, ok := Preset(s.Preset)
	if !ok {
		return nil, fmt.Errorf("there is no preset %q; there are %s", s.Preset, strings.Join(Presets(), ", "))
	}
	return Parse(s.name(), []byte(text), env)
}

// LoadFile reads one file, which nobody but root and the user who runs the program may be able to
// write. A symbolic link is followed where the same holds for it.
func LoadFile(env Environment, path string) (*Policy, error) {
	before, err := os.Stat(path)
	if err != nil {
		return nil, plain(path, err)
	}
	raw, err := trust.RootOrSelf.Read(path, maxFile)
	if err != nil {
		return nil, plain(path, err)
	}
	after, err := os.Stat(path)
	if err != nil || !sameState(stateOf(before), stateOf(after)) || int64(len(raw)) != after.Size() {
		return nil, errors.New("it was written to while it was read")
	}
	return Parse(path, raw, env)
}

// plain takes the path out of an error that is told with the path.
func plain(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("it cannot be read: %w", of.Err)
	}
	return errors.New(trust.About(path, err))
}
