// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"errors"
	"path"
	"strings"
)

// maxIncludes is how deep apt lets files include others (ReadConfigFile in apt-pkg/contrib/configuration.cc).
const maxIncludes = 10

// ErrRelative says that a file is included by a relative name: which one it is depends on where apt is started.
var ErrRelative = errors.New("includes a file by a relative name")

// A Tree is the files to read from, by absolute name.
type Tree interface {
	// Read returns a whole file.
	Read(name string) ([]byte, error)
	// Names returns the names in a directory, sorted; none where there is no directory.
	Names(dir string) ([]string, error)
}

// AddFile reads one more file, with those that it includes. Of several values of an option, the last one counts.
func (o Options) AddFile(tree Tree, name string) error { return o.addFile(tree, name, 0) }

// AddDirectory reads the files of a directory that apt reads.
func (o Options) AddDirectory(tree Tree, dir string) error { return o.addDirectory(tree, dir, 0) }

func (o Options) addFile(tree Tree, name string, depth int) error {
	raw, err := tree.Read(name)
	if err != nil {
		return err
	}
	return Each(raw, func(name, value string) error {
		switch {
		case name == IncludeDirective:
			return o.include(tree, value, depth+1)
		case name == clearDirective:
			o.remove(value)
		case len(o)+2 > maxOptions: // an item takes two
			return ErrFormat
		case strings.HasSuffix(name, "::"):
			o.add(name, value)
		default:
			o[strings.ToLower(name)] = value
		}
		return nil
	})
}

func (o Options) addDirectory(tree Tree, dir string, depth int) error {
	names, err := tree.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".conf") || !strings.Contains(name, ".") {
			if err := o.addFile(tree, path.Join(dir, name), depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// include follows #include: a name that ends in "/" is a directory.
func (o Options) include(tree Tree, name string, depth int) error {
	switch {
	case depth > maxIncludes:
		return ErrFormat
	case !path.IsAbs(name):
		return ErrRelative
	case strings.HasSuffix(name, "/"):
		return o.addDirectory(tree, path.Clean(name), depth)
	default:
		return o.addFile(tree, path.Clean(name), depth)
	}
}

// remove follows #clear: the option goes with all below it.
func (o Options) remove(name string) {
	name = strings.ToLower(name)
	for option := range o {
		if option == name || strings.HasPrefix(option, name+"::") {
			delete(o, option)
		}
	}
}
