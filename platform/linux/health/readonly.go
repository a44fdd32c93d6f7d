// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/health"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
)

const (
	maxFstab   = 1 << 20 // bytes
	maxCmdline = 64 << 10
)

// readOnly counts the file systems that are read-only although they should be
// writable. It looks at the file system (its super block) and not at the single mount: a
// directory that is bound read-only into place, as in containers, /sysroot of immutable
// distributions and units of systemd, is intended.
//
// That one should be writable is known where /etc/fstab mounts it without ro, where the kernel
// was told to mount the root with rw, and where the file system says itself that it met an
// error. Of any other nobody knows what was meant: a backup, a snapshot or a card with a switch
// is mounted read-only by hand.
func (s source) readOnly(context.Context) (health.Reading, error) {
	table, err := s.mounts.Table()
	if err != nil {
		return health.Reading{}, err
	}
	writable := s.writableByConfiguration()
	var r health.Reading
	seen := map[mounts.Device]bool{}
	for _, m := range table {
		device := mounts.DeviceOf(m)
		if seen[device] || !writes(m.FSType) || !mounts.HasOption(m.VFSOptions, "ro") {
			continue
		}
		kind, listed := writable[m.Mountpoint]
		meant := listed && (kind == "" || kind == m.FSType)
		if meant && !s.writeProtected(device) || s.failed(m) {
			seen[device] = true
			r.Names = append(r.Names, m.Mountpoint)
		}
	}
	slices.Sort(r.Names)
	r.Value = float64(len(r.Names))
	return r, nil
}

// writes says that the kernel can write to file systems of a type, which lie on a
// disk. Images are read-only by nature, and overlays take the place of one that is.
func writes(kind string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "bcachefs", "vfat", "exfat", "ntfs3", "hfsplus"}, kind)
}

// writableByConfiguration maps the mount points that should be writable to their
// type of file system. What cannot be read has none.
func (s source) writableByConfiguration() map[string]string {
	writable := map[string]string{}
	if raw, err := hostfile.Read(filepath.Join(s.root, "etc", "fstab"), maxFstab); err == nil {
		writable = parseFstab(string(raw))
	}
	if _, listed := writable["/"]; listed {
		return writable
	}
	if raw, err := hostfile.Read(filepath.Join(s.root, "proc", "cmdline"), maxCmdline); err == nil && lastMode(string(raw)) == "rw" {
		writable["/"] = ""
	}
	return writable
}

// parseFstab reads the mounts of fstab(5) without the option ro. The type is ""
// where any will do.
func parseFstab(text string) map[string]string {
	writable := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[1])
		if mounts.HasOption(fields[3], "ro") {
			delete(writable, point)
			continue
		}
		if fields[2] == "auto" {
			fields[2] = ""
		}
		writable[filepath.Clean(point)] = fields[2]
	}
	return writable
}

// lastMode is the last of ro and rw among the parameters of the kernel, which is
// the one that holds.
func lastMode(cmdline string) string {
	mode := ""
	for parameter := range strings.FieldsSeq(cmdline) {
		if parameter == "ro" || parameter == "rw" {
			mode = parameter
		}
	}
	return mode
}

// writeProtected says that the device itself takes no writes: a card with its
// switch on, a verified image.
func (s source) writeProtected(device mounts.Device) bool {
	text, err := hostfile.Text(filepath.Join(s.root, "sys", "dev", "block", device.String(), "ro"))
	return err == nil && text == "1"
}

// failed says that the file system itself tells of an error: newer kernels by the
// option emergency_ro, ext4 by a counter that a check of the file system resets.
func (s source) failed(m *mountinfo.Info) bool {
	if mounts.HasOption(m.VFSOptions, "emergency_ro") {
		return true
	}
	device, err := filepath.EvalSymlinks(filepath.Join(s.root, "sys", "dev", "block", mounts.DeviceOf(m).String()))
	if m.FSType != "ext4" || err != nil {
		return false
	}
	count, err := hostfile.Text(filepath.Join(s.root, "sys", "fs", "ext4", filepath.Base(device), "errors_count"))
	return err == nil && count != "0"
}
