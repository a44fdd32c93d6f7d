// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A mount is a line of /proc/self/mountinfo.
type mount struct {
	device  string // "259:2"
	root    string // of the mount within its file system
	point   string
	options []string // of this mount, "nosuid"
	fstype  string
}

func (t mount) has(option string) bool { return slices.Contains(t.options, option) }

// keepsFiles says whether the file system keeps files of this machine: on a disk or in
// memory, not on a server, in an image or made up by the kernel.
func (t mount) keepsFiles() bool {
	return slices.Contains([]string{
		"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs", "reiserfs", "overlay", "tmpfs", "ramfs",
	}, t.fstype)
}

// maxMounts bounds the list: hosts of containers have thousands.
const maxMounts = 20_000

var errMounts = errors.New("does not have the form of proc(5)")

// mounts reads the mounts that this process sees, in their order.
func (m *machine) mounts() ([]mount, error) {
	return m.mountTable.Get(func() ([]mount, error) {
		raw, err := m.readUpTo("/proc/self/mountinfo", 8<<20)
		if err != nil {
			return nil, err
		}
		return parseMounts(raw)
	})
}

// parseMounts splits on single blanks: a source may be empty, and blanks within
// a field are escaped. After six fields come any number of optional ones, a lone dash,
// and three more.
func parseMounts(raw []byte) ([]mount, error) {
	var list []mount
	for line := range bytes.Lines(raw) {
		f := strings.Split(strings.TrimRight(string(line), "\n"), " ")
		dash := slices.Index(f, "-")
		if dash < 6 || len(f) < dash+4 || len(list) == maxMounts {
			return nil, errMounts
		}
		t := mount{device: f[2], root: unescape(f[3]), point: unescape(f[4]), options: strings.Split(f[5], ","), fstype: f[dash+1]}
		if !strings.HasPrefix(t.point, "/") {
			return nil, errMounts
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, errMounts
	}
	return list, nil
}

// unescape undoes the escapes of seq_path in the kernel: a blank is \040.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// mountedAt returns what is mounted at a path: the last one hides the others.
func mountedAt(table []mount, point string) (mount, bool) {
	for _, t := range slices.Backward(table) {
		if t.point == point {
			return t, true
		}
	}
	return mount{}, false
}
