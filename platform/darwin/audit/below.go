// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"sentinel/internal/audit"
	"sentinel/platform/linux/hostfile"
)

// readBelow reads a file of a user without leaving the home by a link: root must
// not be led to what the user may not read. It never waits for a pipe.
func (m *machine) readBelow(home, name string) ([]byte, meta, error) {
	root, err := os.OpenRoot(m.path(home))
	if err != nil {
		return nil, meta{}, err
	}
	defer root.Close() //nolint:errcheck // only read from
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, meta{}, err
	}
	defer file.Close() //nolint:errcheck // only read from
	info, err := file.Stat()
	f, err := metaOf(info, err)
	if err != nil {
		return nil, meta{}, err
	}
	if !f.mode.IsRegular() {
		return nil, f, hostfile.ErrNotRegular
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = hostfile.ErrTooLarge
	}
	return raw, f, err
}

// namesBelow returns the sorted names in a folder of a user, at most limit; more
// are an error. A link out of the home is one as well.
func (m *machine) namesBelow(home, folder string, limit int) ([]string, error) {
	root, err := os.OpenRoot(m.path(home))
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read from
	dir, err := root.OpenFile(filepath.FromSlash(folder), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	if len(names) > limit {
		return names[:limit], hostfile.ErrTooLarge
	}
	return names, nil
}

// unread is the finding of what could not be read of a file. Root itself is kept
// from some folders: macOS asks for a grant of its own.
func (m *machine) unread(what string, err error) audit.Finding {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		what = in.Path
	}
	if m.privileged() && errors.Is(err, fs.ErrPermission) {
		return audit.Unseen(what + ": needs full-disk access (System Settings, Privacy & Security)")
	}
	return audit.Unread(what, hostfile.Reason(err))
}
