// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"bytes"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
)

const (
	// miscMajor and watchdogMinor are the numbers of /dev/watchdog (include/linux/miscdevice.h).
	miscMajor, watchdogMinor = 10, 130
	// maxWatchdogs bounds how many devices are looked at; the kernel makes at most 32
	// (MAX_DOGS of drivers/watchdog).
	maxWatchdogs = 64
)

// isWatchdog reports whether an open file is a watchdog. The kernel stops the timer of one that is closed only after a
// letter that a process which is killed does not write (Documentation/watchdog/watchdog-api.rst). The numbers of the
// device tell: anybody can have a file of that name in a mount namespace of their own, even one of a file system that
// does not answer, which is not asked. Anybody can name the device, too, without a right to open it.
func (t *Terminator) isWatchdog(f procfs.OpenFile) bool {
	if !bytes.HasPrefix(f.Link, []byte("/dev/watchdog")) || f.Registered() {
		return false
	}
	var stat unix.Statx_t
	path, err := t.proc.Path(f.PID, f.Name())
	if err != nil {
		return false
	}
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &stat)
	if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return false
	}
	major, minor := stat.Rdev_major, stat.Rdev_minor
	known := major == miscMajor && minor == watchdogMinor || t.knownWatchdog(fmt.Sprintf("%d:%d", major, minor))
	return known && f.Opened()
}

func (t *Terminator) knownWatchdog(number string) bool {
	class := filepath.Join(t.root, "sys/class/watchdog")
	names, err := hostfile.Names(class, maxWatchdogs)
	if err != nil {
		return false
	}
	for _, name := range names {
		if text, err := hostfile.Text(filepath.Join(class, name, "dev")); err == nil && text == number {
			return true
		}
	}
	return false
}
