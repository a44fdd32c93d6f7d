// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

// readBelow reads a file of a user without leaving the home by a link.
func (m *machine) readBelow(home, name string) ([]byte, hostfile.Meta, error) {
	return hostfile.ReadBelow(m.path(home), name, maxFile)
}

// namesBelow returns the sorted names in a directory of a user, at most limit; more
// are an error. A link out of the home is one as well.
func (m *machine) namesBelow(home, dir string, limit int) ([]string, error) {
	return hostfile.NamesBelow(m.path(home), dir, limit)
}

// unread is the finding of what could not be read of a file. Root itself is kept
// from some directories: macOS asks for a grant of its own.
func (m *machine) unread(what string, err error) audit.Finding {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		what = in.Path
	}
	if m.privileged() && errors.Is(err, fs.ErrPermission) {
		return audit.Unseen(what + ": needs full-disk access (System Settings, Privacy & Security)")
	}
	return audit.Unread(what, hostfile.Reason(err))
}
