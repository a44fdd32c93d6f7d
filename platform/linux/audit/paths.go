// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

// maxLinks is how many symbolic links one path may lead through, as in the kernel
// (path_resolution(7)).
const maxLinks = 40

// follow goes to a file as whoever uses its name does, and returns where it ends: at the first folder, link
// or file that somebody other than root can put something else in the place of, which weak then describes,
// or at the file. What a user may change is not followed: it could lead to what only root sees. Where something
// is missing, whoever can write to the folder that it would be in decides what will be there. good says which
// folders and files only root can change.
func (m *machine) follow(name string, good func(at string, f hostfile.Meta) bool) (end, weak string, err error) {
	at, rest := "/", namesOf(name)
	for links := 0; links <= maxLinks; {
		f, err := m.stat(at)
		if err != nil {
			return at, "", err
		}
		// Nobody takes away what is root's in a folder with the sticky bit.
		shared := f.Mode.IsDir() && f.Mode&fs.ModeSticky != 0 && f.UID == m.Owner
		if !shared && !good(at, f) {
			return at, audit.At(at, 0, f.String()), nil
		}
		if len(rest) == 0 {
			return at, "", nil
		}
		next := path.Join(at, rest[0])
		rest = rest[1:]
		link, err := m.lstat(next)
		switch {
		case hostfile.Missing(err) && !good(at, f):
			return at, audit.At(at, 0, f.String()), nil
		case err != nil:
			return next, "", err
		case link.Mode&fs.ModeSymlink == 0:
			at = next
			continue
		case shared && link.UID != m.Owner:
			return next, audit.At(next, 0, link.String()), nil
		}
		target, err := os.Readlink(m.path(next))
		if err != nil {
			return next, "", err
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = slices.Concat(namesOf(target), rest)
		links++
	}
	return at, "", fmt.Errorf("%s leads through too many symbolic links", name)
}

// namesOf splits a path. It keeps "..", which counts once links are followed.
func namesOf(name string) []string {
	return strings.FieldsFunc(name, func(c rune) bool { return c == '/' })
}

// byRoot is for [machine.follow].
func (m *machine) byRoot(_ string, f hostfile.Meta) bool { return m.onlyRootWrites(f) }
