// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	through  = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	maxLinks = 40 // path_resolution(7)
)

// Follow goes along a path below root, one name after another, so that it is known where it waits. It returns the last
// directory on it, or ErrEarlier where a run waits for one. Links of /proc lead where their text says: into what a
// process holds nobody looks for this.
func (w *Way) Follow(root, path string) (device, inode uint64, err error) {
	at, noted := walker{fd: unix.AT_FDCWD}, AnyDirectory(root)
	defer func() { at.close() }()
	if err := at.enter(root); err != nil {
		return 0, 0, err
	}
	names := split(path)
	for links := 0; ; {
		of := Directory(at.device, at.inode)
		if noted && Noted(root, of) {
			return 0, 0, ErrEarlier
		}
		w.at.Store(int64(of))
		if len(names) == 0 {
			break
		}
		next, err := at.open(names[0], w)
		if err != nil {
			break // there is no more of it, which the look tells
		}
		names = names[1:]
		if !next.directory {
			target, absolute := next.target()
			next.close()
			if links++; target == nil || links > maxLinks {
				break
			}
			names = slices.Concat(target, names)
			if absolute {
				if err := at.enter(root); err != nil {
					return 0, 0, err
				}
			}
			continue
		}
		at.close()
		at = next
	}
	return at.device, at.inode, nil
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// A walker is at a place, of which it has no more than the name.
type walker struct {
	fd            int
	device, inode uint64
	directory     bool
}

func (p walker) close() {
	if p.fd >= 0 {
		unix.Close(p.fd) //nolint:errcheck // only looked at
	}
}

// enter goes to the root.
func (p *walker) enter(root string) error {
	fd, err := unix.Open(root, through&^unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	p.close()
	*p, err = identify(fd)
	return err
}

// open opens a name. What it is, its server is not asked for.
func (p walker) open(name string, w *Way) (walker, error) {
	fd, err := unix.Openat(p.fd, name, through, 0)
	if err != nil {
		return walker{fd: -1}, err
	}
	w.at.Store(0)
	return identify(fd)
}

func identify(fd int) (walker, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|unix.STATX_INO, &st); err != nil {
		unix.Close(fd) //nolint:errcheck // only looked at
		return walker{fd: -1}, err
	}
	return walker{fd, unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Mode&unix.S_IFMT == unix.S_IFDIR}, nil
}

// target is the text of a link, nil of anything else.
func (p walker) target() (names []string, absolute bool) {
	raw := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(p.fd, "", raw)
	if err != nil || n == 0 {
		return nil, false
	}
	return append([]string{}, split(string(raw[:n]))...), raw[0] == '/'
}
