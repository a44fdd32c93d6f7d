// SPDX-License-Identifier: Apache-2.0

// Package mounts lists the local file systems that are mounted, how full they
// are, and whether their devices are encrypted.
//
// Everything comes from /proc/self/mountinfo, statfs(2) and /sys/dev/block.
// Nothing here opens a device or needs root.
package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// An entry is one line of mountinfo.
type entry struct {
	id, parent int
	device     Device
	root       string // of the mount within its file system
	mountpoint string
	fstype     string
	source     string
	readOnly   bool
}

// parseMountinfo reads /proc/self/mountinfo. One damaged line spoils the whole:
// a list with a hole would pass for complete.
func parseMountinfo(b []byte) ([]entry, error) {
	entries := make([]entry, 0, bytes.Count(b, []byte("\n"))+1)
	for line := range bytes.Lines(b) {
		line = bytes.TrimRight(line, "\n")
		if len(line) == 0 {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// parseEntry splits on single blanks: fields may be empty (a source may be ""),
// and blanks within them are escaped. After the six fixed fields come any
// number of optional ones, a lone dash, and three more.
func parseEntry(line []byte) (entry, error) {
	fields := bytes.Split(line, []byte(" "))
	dash := 6
	for dash < len(fields) && string(fields[dash]) != "-" {
		dash++
	}
	if len(fields) < dash+4 {
		return entry{}, ErrFormat
	}
	e := entry{
		root:       unescape(fields[3]),
		mountpoint: unescape(fields[4]),
		fstype:     unescape(fields[dash+1]),
		source:     unescape(fields[dash+2]),
		readOnly:   hasOption(fields[5], "ro") || hasOption(fields[dash+3], "ro"),
	}
	var err [3]error
	e.id, err[0] = strconv.Atoi(string(fields[0]))
	e.parent, err[1] = strconv.Atoi(string(fields[1]))
	e.device, err[2] = ParseDevice(string(fields[2]))
	if errors.Join(err[:]...) != nil || e.mountpoint == "" {
		return entry{}, ErrFormat
	}
	return e, nil
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

// unescape undoes the octal escapes of seq_path in the kernel: blank, tab, line
// feed, backslash and number sign are written as \040 and so on.
func unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if c, ok := octal(b[i:]); ok {
			out = append(out, c)
			i += 3
			continue
		}
		out = append(out, b[i])
	}
	return string(out)
}

func octal(b []byte) (byte, bool) {
	if len(b) < 4 || b[0] != '\\' || b[1] > '3' {
		return 0, false
	}
	var c byte
	for _, digit := range b[1:4] {
		if digit < '0' || digit > '7' {
			return 0, false
		}
		c = c<<3 | (digit - '0')
	}
	return c, true
}

func hasOption(options []byte, want string) bool {
	for option := range bytes.SplitSeq(options, []byte(",")) {
		if string(option) == want {
			return true
		}
	}
	return false
}
