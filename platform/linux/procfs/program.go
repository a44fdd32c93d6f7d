// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A Program is what a process runs. Its name in /proc/PID/stat, its arguments and the paths that
// its mount namespace shows are chosen by whoever started it; these members are not, but where Unmapped says so.
type Program struct {
	Path    string // of the file, as the process sees it
	Removed bool   // the file is gone, or another one is in its place
	// System says that Path names the file that runs, or ran from there before it was removed, and
	// that root alone could have put it there: the file and every directory above it are root's,
	// and nobody else may write to them.
	System bool
	// Unmapped says that the process has nothing of the file in its memory, as [FS.Unmapped] reports: it runs
	// something else, and whoever started it chose Path.
	Unmapped bool
	// Lent says that whoever starts it gets rights of another user (set-user-ID, set-group-ID), and
	// so chooses what a process of root is called.
	Lent bool
}

// Name is the name of the file.
func (p Program) Name() string {
	if p.Path == "" {
		return ""
	}
	return path.Base(p.Path)
}

// Program returns what a process runs. Files of the system are owner's, which is 0 on a live system.
// It may block on a file system of this machine that has a file of the same name. The error is that of
// [FS.Unmapped] where that is not known, and all else is known then.
func (f FS) Program(pid, owner int) (Program, error) {
	link, err := f.Link(pid, "exe")
	if err != nil {
		return Program{}, err
	}
	var p Program
	p.Path, p.Removed = strings.CutSuffix(link, deletedMark)
	runs, err := f.runs(pid)
	if err != nil {
		return p, err
	}
	p.Lent = runs.Lent()
	if p.Removed && runs.Links != 0 && f.isAt(link, runs) { // it is called so
		p.Path, p.Removed = link, false
	}
	// Nobody but root can have no name lead any more to a file in a directory of root's, unless the path is
	// of a mount namespace that a user made.
	removed := p.Removed && runs.Links == 0 && f.OfOurUsers(pid)
	p.Unmapped, err = f.Unmapped(pid)
	p.System = !p.Unmapped && runs.ownedAlone(owner) && p.Path != TooLong && f.Placed(p.Path, owner) && (removed || f.isAt(p.Path, runs))
	return p, err
}

// Lends reports whether the program of a process lends the rights of another user, as in [Program]. It never
// waits for a file system; what cannot be looked at, such as a process that has ended, lends nothing.
func (f FS) Lends(pid int) bool {
	runs, err := f.runs(pid)
	return err == nil && runs.Lent()
}

// runs looks at the file that a process runs.
func (f FS) runs(pid int) (Held, error) {
	if f.dir == "/proc" {
		return f.Held(pid, "exe")
	}
	link, err := f.Link(pid, "exe") // an ordinary one in a tree of files
	if err != nil {
		return Held{}, err
	}
	return StatHeld(f.inRoot(strings.TrimSuffix(link, deletedMark)))
}

// Held is [StatHeld] of a file of a process.
func (f FS) Held(pid int, name string) (Held, error) {
	of := []string{strconv.Itoa(pid), name}
	path, err := f.path(of...)
	if err != nil {
		return Held{}, err
	}
	held, err := StatHeld(path)
	return held, f.named(err, of...)
}

// inRoot is a file of the system that /proc belongs to.
func (f FS) inRoot(name string) string { return filepath.Join(filepath.Dir(f.dir), name) }

// isAt reports whether a path leads to the file: in a mount namespace of its own a process may see
// any file at any path.
func (f FS) isAt(name string, runs Held) bool {
	there, err := StatNamed(f.inRoot(name))
	return err == nil && runs.Is(there)
}

// Placed reports whether owner alone decides what is at a path. A tree of files may be anywhere:
// what is above it does not count.
func (f FS) Placed(name string, owner int) bool {
	if !path.IsAbs(name) {
		return false
	}
	for at := path.Dir(path.Clean(name)); at != "/"; at = path.Dir(at) {
		if dir, err := StatNamed(f.inRoot(at)); err != nil || !dir.ownedAlone(owner) {
			return false
		}
	}
	return true
}
