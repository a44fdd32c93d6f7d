// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	through  = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	cached   = 0x20 // RESOLVE_CACHED of openat2(2), Linux 5.12
	maxLinks = 40   // path_resolution(7)
)

// Follow goes along a path below root, one name after another, so that it is known where it waits. It returns the last
// directory on it, or ErrEarlier where it would wait for one that a run waits for. Links of /proc lead where their text
// says: into what a process holds nobody looks for this.
func (w *Way) Follow(root, path string) (device, inode uint64, err error) {
	t := trip{way: w, root: root, at: walker{fd: unix.AT_FDCWD}, names: split(path), noted: AnyDirectory(root)}
	defer func() { t.at.close() }()
	if err := t.at.enter(root); err != nil {
		return 0, 0, err
	}
	for goesOn := true; goesOn; {
		t.way.at.Store(int64(t.at.thing()))
		if goesOn, err = t.step(); err != nil {
			return 0, 0, err
		}
	}
	return t.at.device, t.at.inode, nil
}

// A trip is a way while it is gone.
type trip struct {
	way   *Way
	root  string
	at    walker
	names []string // that are still to come
	links int      // that were followed
	noted bool     // whether runs wait for any directory
}

// step goes to the next name. Where there is none, or no more of the path, which the look tells, the way has ended.
func (t *trip) step() (goesOn bool, err error) {
	if len(t.names) == 0 {
		return false, t.heed()
	}
	next, err := t.open(t.names[0])
	if err != nil {
		return false, onlyEarlier(err)
	}
	t.names = t.names[1:]
	if !next.directory {
		return t.follow(next)
	}
	t.at.close()
	t.at = next
	return true, nil
}

// open opens a name. One that the kernel remembers it finds in a directory that somebody holds, too: who has a run wait
// in / takes nobody else's files out.
func (t *trip) open(name string) (next walker, err error) {
	if !t.noted {
		return t.at.open(name, 0, t.way)
	}
	next, err = t.at.open(name, cached, t.way)
	switch {
	case errors.Is(err, unix.EAGAIN):
		err = notedAs(t.root, t.at.thing())
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an older Linux, or a container's filter
		err = t.heed()
	default:
		return next, err
	}
	if err != nil {
		return next, err
	}
	return t.at.open(name, 0, t.way)
}

// heed returns ErrEarlier where a run waits for the directory, and it is not known whether this one would: that of
// root's is everybody's, and whoever holds it must not keep all others from being looked at.
func (t *trip) heed() error {
	if !t.noted || t.at.roots {
		return nil
	}
	return notedAs(t.root, t.at.thing())
}

// follow has the text of a link take the place of its name.
func (t *trip) follow(link walker) (goesOn bool, err error) {
	defer link.close()
	target, absolute := link.target()
	if t.links++; target == nil || t.links > maxLinks {
		return false, nil
	}
	t.names = slices.Concat(target, t.names)
	if absolute {
		err = t.at.enter(t.root)
	}
	return true, err
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// A walker is at a place, of which it has no more than the name.
type walker struct {
	fd            int
	device, inode uint64
	directory     bool
	roots         bool // alone
}

func (p walker) thing() Thing { return Directory(p.device, p.inode) }

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
func (p walker) open(name string, resolve uint64, w *Way) (walker, error) {
	open := func() (int, error) { return unix.Openat(p.fd, name, through, 0) }
	if resolve != 0 {
		open = func() (int, error) { return unix.Openat2(p.fd, name, &unix.OpenHow{Flags: through, Resolve: resolve}) }
	}
	fd, err := open()
	if err != nil {
		return walker{fd: -1}, err
	}
	w.at.Store(0)
	return identify(fd)
}

func identify(fd int) (walker, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|unix.STATX_MODE|unix.STATX_UID|unix.STATX_INO, &st); err != nil {
		unix.Close(fd) //nolint:errcheck // only looked at
		return walker{fd: -1}, err
	}
	return walker{
		fd: fd, device: unix.Mkdev(st.Dev_major, st.Dev_minor), inode: st.Ino,
		directory: st.Mode&unix.S_IFMT == unix.S_IFDIR,
		roots:     st.Uid == 0 && st.Mode&0o002 == 0,
	}, nil
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
