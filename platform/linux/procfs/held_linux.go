// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
)

// StatHeld returns what the kernel remembers of the file behind /proc/PID/exe or /proc/PID/fd/N. The
// server of its file system is not asked (AT_STATX_DONT_SYNC of statx(2)): whoever mounts one below an
// overlay in a user namespace of their own has root ask it, and a thread that it does not answer can
// not be ended, nor can its process.
func StatHeld(path string) (Held, error) {
	h, err := remembered(unix.AT_FDCWD, path)
	if err != nil {
		return Held{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return h, nil
}

// StatNamed looks at a file by a name that a process or a user chose. The name leads to what is mounted
// here and nowhere else ([hostfile.OpenNamed]). Through /proc/PID/root and the like, to which a link of the
// user's may lead, it could come to what [StatHeld] does not ask, and every directory on the way asks its
// server.
func StatNamed(path string) (Held, error) {
	fd, err := hostfile.OpenNamed(path, unix.O_PATH)
	if err != nil {
		return Held{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // only looked at
	h, err := remembered(fd, "")
	if err != nil {
		return Held{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return h, nil
}

// OpenHeld opens what a process holds for reading, if it is a file that fits: to open one asks its server.
func OpenHeld(path string, fits func(Held) bool) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) // asks nobody
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd) //nolint:errcheck // only looked at
	if h, err := remembered(fd, ""); err != nil || !fits(h) {
		return nil, &os.PathError{Op: "open", Path: path, Err: cmp.Or(err, errOther)}
	}
	return os.Open("/proc/self/fd/" + strconv.Itoa(fd))
}

var errOther = errors.New("it is another file")

// InMemory says that the file was made by memfd_create(2): those are in a mount that only the kernel has.
func (h Held) InMemory() bool {
	fd, err := unix.MemfdCreate("sentinel", unix.MFD_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	own, err := remembered(fd, "")
	return err == nil && own.Device == h.Device
}

func remembered(dir int, name string) (Held, error) {
	var s unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_STATX_DONT_SYNC|unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &s); err != nil {
		return Held{}, err
	}
	h := Held{
		Special: unix.Mkdev(s.Rdev_major, s.Rdev_minor),
		Mode:    uint32(s.Mode), UID: s.Uid, GID: s.Gid, Links: s.Nlink, Device: unix.Mkdev(s.Dev_major, s.Dev_minor), Inode: s.Ino, Blocks: s.Blocks,
		Modified: time.Unix(s.Mtime.Sec, int64(s.Mtime.Nsec)),
	}
	if s.Mask&unix.STATX_MNT_ID != 0 {
		h.Mount = s.Mnt_id
	}
	return h, nil
}
