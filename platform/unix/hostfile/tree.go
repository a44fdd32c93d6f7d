// SPDX-License-Identifier: Apache-2.0

package hostfile

import "path"

// A Tree gives the files of a machine by their absolute names, to parsers of
// configurations that include other files.
type Tree struct {
	Path     func(name string) string // where a file of the machine is
	MaxFile  int                      // bytes of a file
	MaxNames int                      // in a directory
}

// Read returns a whole file; a longer one is [ErrTooLarge].
func (t Tree) Read(name string) ([]byte, error) { return Read(t.Path(name), t.MaxFile) }

// Names returns the sorted names in a directory, none where there is no directory.
// More than MaxNames are [ErrTooLarge].
func (t Tree) Names(directory string) ([]string, error) {
	names, err := Names(t.Path(directory), t.MaxNames)
	if Missing(err) {
		return nil, nil
	}
	return names, err
}

// ChangedBy looks at a file and at the directories above it, through symbolic
// links, as far as they exist: alone reports whether all are owner's and nobody else can write
// them, exists whether the file is there.
func (t Tree) ChangedBy(name string, owner int) (exists, alone bool) {
	if !path.IsAbs(name) {
		return false, false
	}
	for at := path.Clean(name); ; at = path.Dir(at) {
		f, err := Stat(t.Path(at))
		switch {
		case err != nil && !Missing(err):
			return false, false
		case err == nil && (f.UID != owner || f.Mode&0o022 != 0):
			return exists, false
		}
		exists = exists || err == nil && at == path.Clean(name)
		if at == "/" {
			return exists, true
		}
	}
}
