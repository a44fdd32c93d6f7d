// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"sentinel/internal/deadline"
	"sentinel/platform/unix/stuck"
)

// Thing is what is noted for a process: to look at its directory takes no lock that another could hold.
func (fs FS) Thing(pid int) (of stuck.Thing, goesOn bool) {
	var stat unix.Stat_t
	err := unix.Stat(filepath.Join(fs.dir, strconv.Itoa(pid)), &stat)
	return stuck.Process(uint64(stat.Dev), stat.Ino), err == nil //nolint:unconvert // its type differs by architecture
}

// nowhere is no directory: to look into it fails at once.
const nowhere = -1

// in is where a process is read, as [FS.path] has it: apart, in dir, or nowhere.
func (fs FS) in(dir dirHandle, pid int) dirHandle {
	if fs.stuck(pid) {
		return nowhere
	}
	fd, err := fs.apart.fd()
	if err != nil {
		return dir
	}
	return dirHandle(fd)
}

// begin returns the /proc that these processes are to be read in, if there are any and it can be had.
func (a *apart) begin(pids []int) (dir dirHandle, is bool) {
	if len(pids) == 0 {
		return 0, false
	}
	fd, err := a.fd()
	return dirHandle(fd), err == nil
}

// mountApart mounts a /proc that has no name. It takes Linux 5.8 and CAP_SYS_ADMIN. Who keeps this process from being
// read keeps it from coming to that /proc, which therefore is looked at here, within a time: what was found once is
// found again without a lock.
func mountApart() (int, error) {
	return deadline.Call(context.Background(), readPatience, func(context.Context) (int, error) {
		fd, err := mountProc()
		if err != nil {
			return 0, err
		}
		if err := differs(fd); err != nil {
			unix.Close(fd) //nolint:errcheck // nothing was written
			return 0, err
		}
		return fd, nil
	})
}

// mountProc mounts the /proc of the PID namespace of this run.
func mountProc() (int, error) {
	config, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(config) //nolint:errcheck // nothing was written
	if err := unix.FsconfigCreate(config); err != nil {
		return 0, err
	}
	return unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
}

// differs fails where a /proc is the one that everybody has (before Linux 5.8), or where that one shows the processes of
// another PID namespace, by other numbers.
func differs(fd int) error {
	var own, shared unix.Stat_t
	if err := errors.Join(unix.Stat(apartPath(fd), &own), unix.Stat("/proc", &shared)); err != nil {
		return err
	}
	status, err := readWith(FS{dir: "/proc"}, parseProcessStatus, "self", "status")
	if err == nil && (own.Dev == shared.Dev || status.Nested) {
		err = errSame
	}
	return err
}
