// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// Note has later runs of root know that this one waits for a thing, until forget is called or this process has
// ended. Several may wait for the same. Where that cannot be noted, as by another user than root, or it is not known
// what is waited for, which is 0, nobody knows.
func Note(root string, of Thing) (forget func()) {
	if of == 0 {
		return func() {}
	}
	fd, err := unix.Open(file(root), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return func() {}
	}
	lock := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Start: int64(of), Len: 1}
	unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock) //nolint:errcheck // then nobody knows
	return sync.OnceFunc(func() { unix.Close(fd) })       //nolint:errcheck // nothing was written
}

// Noted reports whether a run waits for a thing.
func Noted(root string, of Thing) (noted bool) {
	ask(root, func(fd int) { _, noted = next(fd, of, 1) })
	return noted
}

// AnyProcess reports whether runs wait for processes.
func AnyProcess(root string) (noted bool) {
	ask(root, func(fd int) { _, noted = next(fd, processes, processes) })
	return noted
}

// AnyDirectory reports whether runs wait for directories.
func AnyDirectory(root string) (noted bool) {
	ask(root, func(fd int) { _, noted = next(fd, directories, 0) })
	return noted
}

// ask opens the file, if there is one.
func ask(root string, questions func(fd int)) {
	fd, err := unix.Open(file(root), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd) //nolint:errcheck // only asked
	questions(fd)
}

// next returns one thing that is noted among so many from one on; 0 is all of them.
func next(fd int, from Thing, among int64) (noted Thing, is bool) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: int64(from), Len: among}
	if unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &lock) != nil || lock.Type == unix.F_UNLCK {
		return 0, false
	}
	return Thing(lock.Start), true
}
