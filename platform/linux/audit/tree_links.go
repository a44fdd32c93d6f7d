// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/unix/hostfile"
)

// linkDirs are where commands and libraries are found by their names, without the folders of libraries of one
// architecture (such as /usr/lib/x86_64-linux-gnu).
var linkDirs = []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/lib", "/lib", "/usr/lib64", "/lib64", "/usr/local/lib"}

// openLinks returns the links among commands and libraries that lead to what somebody other than root can
// change. The walk follows none; what is below programDirs it sees by itself.
func (m *machine) openLinks(ctx context.Context) audit.List[foundFile] {
	var found []foundFile
	unread := 0
	look := func(file string) {
		end, weak, err := m.follow(file, m.byRootOrStaff)
		switch {
		case err != nil && !hostfile.Missing(err):
			unread++
		case weak != "" && !isProgram(end):
			found = append(found, foundFile{path: file, to: weak})
		}
	}
	for dirs := linkDirs; len(dirs) > 0; dirs = dirs[1:] {
		look(dirs[0])
		err := m.eachIn(ctx, dirs[0], func(file string, f hostfile.Meta) {
			switch {
			case f.Mode&fs.ModeSymlink != 0:
				look(file)
			case f.Mode.IsDir() && strings.Contains(path.Base(file), "-linux-"):
				dirs = append(dirs, file)
			}
		})
		if err != nil {
			unread++
		}
	}
	if unread > 0 {
		return audit.ListOf(found, humanize.Count(unread, "link or folder", "links and folders")+" could not be followed")
	}
	return audit.ListOf(found, "")
}

// byRootOrStaff is for [machine.follow]: Debian lets the group staff write to /usr/local.
func (m *machine) byRootOrStaff(at string, f hostfile.Meta) bool {
	return m.onlyRootWrites(f) || isBelow(at, "/usr/local") && f.UID == m.Owner && f.Others()&0o002 == 0
}

// eachIn visits what is directly in a directory, if it is one and no link to another. What is gone
// meanwhile is passed over.
func (m *machine) eachIn(ctx context.Context, dir string, visit func(file string, f hostfile.Meta)) error {
	if f, err := m.lstat(dir); err != nil || !f.Mode.IsDir() {
		return nil //nolint:nilerr // not there
	}
	names, err := m.names(dir, maxPrograms)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := path.Join(dir, name)
		f, err := m.lstat(file)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case hostfile.Missing(err):
		case err != nil:
			return err
		default:
			visit(file, f)
		}
	}
	return nil
}
