// SPDX-License-Identifier: Apache-2.0

// Package mounts lists the mounted file systems: the whole mount table, and the local ones that
// hold data, with their usage and whether their devices are encrypted.
//
// Everything comes from /proc/self/mountinfo, statfs(2) and /sys/dev/block.
// Nothing here opens a device or needs root.
package mounts

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/deadline"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
)

// ErrFormat reports content that does not have the form proc(5) documents.
var ErrFormat = errors.New("unexpected format")

// A Device is the number of a block device. Major 0 stands for file systems
// without a device of their own, such as overlay, btrfs and zfs.
type Device struct {
	Major, Minor uint32
}

// String returns the form of sysfs, "259:2".
func (d Device) String() string {
	return strconv.FormatUint(uint64(d.Major), 10) + ":" + strconv.FormatUint(uint64(d.Minor), 10)
}

// ParseDevice is the inverse of [Device.String].
func ParseDevice(s string) (Device, error) {
	major, minor, ok := strings.Cut(s, ":")
	x, errMajor := strconv.ParseUint(major, 10, 32)
	y, errMinor := strconv.ParseUint(minor, 10, 32)
	if !ok || errMajor != nil || errMinor != nil {
		return Device{}, ErrFormat
	}
	return Device{Major: uint32(x), Minor: uint32(y)}, nil
}

// DeviceOf returns the number of the device that m is on.
func DeviceOf(m *mountinfo.Info) Device {
	return Device{Major: uint32(m.Major), Minor: uint32(m.Minor)}
}

// HasOption reports whether list, the Options of a mount or the VFSOptions of its
// file system, names an option: "ro", "hidepid=2".
func HasOption(list, option string) bool {
	return slices.Contains(strings.Split(list, ","), option)
}

// Table returns every mount that this process sees, hidden ones included, in the
// order of the kernel: of two at one place the later one is on top. A mount point is an absolute
// path. It is "" where it is longer than [MaxPath], and so is the Root: nobody reaches such a
// place by its path, and users can move there whatever is mounted in a directory of theirs. Of more than
// 32 MiB of file systems that users serve, the rest has neither paths nor a source. A table with
// one damaged line is [ErrFormat], because a list with a hole would pass for complete; one with more
// than 100,000 mounts, 32 MiB of others, or 128 MiB where statmount(2) does not tell them (before Linux 6.13), is
// [hostfile.ErrTooLarge].
func (fs *FS) Table() ([]*mountinfo.Info, error) {
	file, err := hostfile.Open(fs.path("proc/self/mountinfo"))
	if err != nil {
		return nil, err
	}
	return tableIn(file, maxRead, fs.root == "/")
}

// openLimit is how long it may take to open the table of another process.
const openLimit = 3 * time.Second

// initProcess has the mounts of the system.
const initProcess = 1

// TableOf is [FS.Table] as another process sees it, of at most 32 MiB but for that of the first process:
// in namespaces of their own users have as many mounts as they like. It is read where proc has the process, and fails with
// [procfs.ErrStuck] where that cannot be opened in time.
func (fs *FS) TableOf(proc procfs.FS, pid int) ([]*mountinfo.Info, error) {
	limit, own := int64(maxReadOther), false
	file, err := deadline.Call(context.Background(), openLimit, func(context.Context) (*os.File, error) {
		if pid == initProcess {
			limit, own = maxRead, fs.isOwn(proc, pid)
		}
		return proc.Open(pid, "mountinfo")
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = procfs.ErrStuck
	}
	if err != nil {
		return nil, err
	}
	return tableIn(file, limit, own)
}

// tableIn reads a table and closes the file. Where it is that of this process, the kernel tells what is in it one by one.
func tableIn(file *os.File, limit int64, own bool) ([]*mountinfo.Info, error) {
	defer file.Close() //nolint:errcheck // only read from
	table, err := readTable(file, limit)
	if errors.Is(err, errRead) && own {
		table, err = statMounts(table)
	}
	if errors.Is(err, errRead) {
		err = hostfile.ErrTooLarge
	}
	if err != nil {
		return nil, err
	}
	return table, nil
}

// isOwn reports whether a process of the live system has the mounts of this one.
func (fs *FS) isOwn(proc procfs.FS, pid int) bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	of, ofErr := proc.Link(pid, "ns/mnt")
	return fs.root == "/" && err == nil && ofErr == nil && own == of
}
