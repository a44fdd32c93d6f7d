// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/posixacl"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
)

// maxNames bounds how many files of a directory are looked at.
const maxNames = 4096

// A fileVerdict collects what is wrong with files.
type fileVerdict struct {
	seen    int
	wrong   []audit.Line
	owner   string // whose doing it is what is looked at, as in [audit.Line]
	unread  error
	okValue string
	fix     string
}

// check judges a file, through links, as whoever uses it follows them. A file that
// does not exist is not a fault.
func (v *fileVerdict) check(m *machine, file string, good func(hostfile.Meta) bool) {
	f, err := m.stat(file)
	switch {
	case hostfile.Missing(err), errors.Is(err, fs.ErrNotExist):
	case err != nil:
		v.noteUnread(file, err)
	case good(f):
		v.seen++
	default:
		v.seen++
		v.wrong = append(v.wrong, audit.Line{Text: audit.At(file, 0, f.String()), Owner: v.owner})
	}
}

// checkNamed is check of a path that a user chose, looked at with the rights of that user. What the
// user cannot see is no fault, and is passed over without a word: that it is there is not the user's to
// know.
func (v *fileVerdict) checkNamed(m *machine, file string, good func(hostfile.Meta) bool) {
	if _, err := m.stat(file); err != nil && m.looksForOthers() {
		if errors.Is(err, fs.ErrPermission) && m.onFUSE(file) {
			v.noteUnread(file, errOnFUSE)
		}
		return
	}
	v.check(m, file, good)
}

// join adds what was found apart.
func (v *fileVerdict) join(part fileVerdict) {
	v.seen += part.seen
	v.wrong = append(v.wrong, part.wrong...)
	v.unread = cmp.Or(v.unread, part.unread)
}

// errOnFUSE is no secret: everybody reads the table of mounts.
var errOnFUSE = errors.New("it is on a file system that a user serves, who lets nobody else in")

// onFUSE reports whether a path is on a file system of FUSE, which keeps out all but the user who mounted it
// unless told otherwise (allow_other of fuse(4)): root, with the rights of that user too.
func (m *machine) onFUSE(name string) bool {
	table, err := m.mounts()
	if err != nil {
		return false
	}
	on, _ := mounts.At(table, name)
	return on != nil && strings.HasPrefix(on.FSType, "fuse")
}

// checkPath judges a file with all that leads to it: whoever can replace a folder or the end of a link decides
// what is there.
func (v *fileVerdict) checkPath(m *machine, file string) {
	_, weak, err := m.follow(file, m.byRoot)
	switch {
	case hostfile.Missing(err):
	case err != nil:
		v.noteUnread(file, err)
	default:
		v.seen++
		if line := (audit.Line{Text: weak, Owner: v.owner}); weak != "" && !slices.Contains(v.wrong, line) {
			v.wrong = append(v.wrong, line)
		}
	}
}

// checkPaths is checkPath of a directory and of what is directly in it, whose names it returns.
func (v *fileVerdict) checkPaths(m *machine, directory string) []string {
	v.checkPath(m, directory)
	names, err := m.names(directory, maxNames)
	if err != nil && !hostfile.Missing(err) {
		v.noteUnread(directory, err)
	}
	for _, name := range names {
		v.checkPath(m, directory+"/"+name)
	}
	return names
}

// checkDir judges a directory and what is directly in it.
func (v *fileVerdict) checkDir(m *machine, directory string, good func(name string, f hostfile.Meta) bool) {
	v.check(m, directory, func(f hostfile.Meta) bool { return good("", f) })
	names, err := m.names(directory, maxNames)
	if hostfile.Missing(err) {
		return
	}
	if err != nil {
		v.noteUnread(directory, err)
	}
	for _, name := range names {
		v.check(m, directory+"/"+name, func(f hostfile.Meta) bool { return good(name, f) })
	}
}

func (v *fileVerdict) noteUnread(file string, err error) {
	if v.unread == nil {
		v.unread = &fs.PathError{Op: "look at", Path: file, Err: hostfile.Reason(err)}
	}
}

func (v *fileVerdict) finding() audit.Finding {
	switch {
	case len(v.wrong) > 0:
		f := audit.Failed(humanize.Count(len(v.wrong), "file or folder has", "files and folders have")+" the wrong owner or mode", "").With(v.wrong...)
		f.Fix = withoutLists(v.fix, f.Evidence)
		return f
	case v.unread != nil:
		return audit.Unread(v.unread.(*fs.PathError).Path, v.unread) //nolint:errorlint,forcetypeassert // miss alone sets it
	case v.seen == 0:
		return audit.NotApplicable("there are no such files here")
	default:
		return audit.Passed(humanize.Count(v.seen, "file or folder", "files and folders") + ", " + v.okValue)
	}
}

// withoutLists adds to a fix what takes access control lists away, where the evidence names one: the
// mode alone changes no more than what they grant at most.
func withoutLists(fix string, evidence []string) string {
	if slices.ContainsFunc(evidence, func(e string) bool { return strings.Contains(e, posixacl.Grants) }) {
		fix += " An access list goes with: sudo setfacl -b FILE"
	}
	return fix
}
