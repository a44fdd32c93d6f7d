// SPDX-License-Identifier: Apache-2.0

// Package mounts lists the mounted file systems: the whole mount table, and the local ones that
// hold data, with their usage and whether their devices are encrypted.
//
// Everything comes from /proc/self/mountinfo, statfs(2) and /sys/dev/block.
// Nothing here opens a device or needs root.
package mounts

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/unix/hostfile"
)

// maxMountinfo caps the mount table, in bytes: enough for about 50,000 mounts.
const maxMountinfo = 8 << 20

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
// order of the kernel: of two at one place the later one is on top. Every
// mount point is an absolute path. A table with one damaged line is [ErrFormat],
// because a list with a hole would pass for complete; one of more than 8 MiB is
// [hostfile.ErrTooLarge].
func (fs *FS) Table() ([]*mountinfo.Info, error) { return fs.tableOf("self") }

// TableOf is [FS.Table] as another process sees it.
func (fs *FS) TableOf(pid int) ([]*mountinfo.Info, error) { return fs.tableOf(strconv.Itoa(pid)) }

func (fs *FS) tableOf(process string) ([]*mountinfo.Info, error) {
	raw, err := hostfile.Read(fs.path("proc/"+process+"/mountinfo"), maxMountinfo)
	if err != nil {
		return nil, err
	}
	return parseTable(raw)
}

// parseTable drops the library's error, which quotes the line: that is text of the
// host. The library reads anything but a number as 0, and fails on a line of more than 64 KiB,
// such as an overlay of hundreds of layers with long names.
func parseTable(raw []byte) ([]*mountinfo.Info, error) {
	table, err := readTable(bytes.NewReader(raw))
	if err != nil {
		return nil, ErrFormat
	}
	for _, m := range table {
		if !strings.HasPrefix(m.Mountpoint, "/") || !deviceNumber(m.Major) || !deviceNumber(m.Minor) {
			return nil, ErrFormat
		}
	}
	return table, nil
}

func deviceNumber(n int) bool { return n >= 0 && uint64(n) <= math.MaxUint32 }
