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
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
)

const (
	maxFstab   = 1 << 20 // bytes
	maxCmdline = 64 << 10
)

// readOnly counts the file systems that are read-only although they should be writable. It looks at
// the file system (its superblock) and not at each mount: a read-only bind mount, as in containers,
// /sysroot of immutable distributions and systemd units, is intended.
//
// A file system should be writable if /etc/fstab mounts it without ro, if it is the root and the
// kernel command line has rw, or if it reports an error itself. For any other the intention is
// unknown: backups, snapshots and write-protected cards are mounted read-only by hand.
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
		if seen[device] || !isWritableType(m.FSType) || !mounts.HasOption(m.VFSOptions, "ro") {
			continue
		}
		kind, listed := writable[m.Mountpoint]
		meant := listed && (kind == "" || kind == m.FSType)
		switch {
		case s.hasErrors(m):
			r.Names = append(r.Names, named(m, "errors of the file system are recorded"))
		case meant && !s.writeProtected(device):
			r.Names = append(r.Names, named(m, "it is configured to be writable"))
		default:
			continue
		}
		seen[device] = true
	}
	slices.Sort(r.Names)
	r.Value = float64(len(r.Names))
	return r, nil
}

// named is a mount with why it should be writable. Whoever labels a disk chooses where it is mounted.
func named(m *mountinfo.Info, why string) string {
	const most = 48 // characters
	return sanitize.Quoted(mounts.PlaceOf(m), most) + " (" + sanitize.Quoted(m.Source, most) + ": " + why + ")"
}

// isWritableType reports whether kind is a type of file system on disk that the kernel can write to. Image
// formats are always read-only, and an overlay covers one of those.
func isWritableType(kind string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "bcachefs", "vfat", "exfat", "ntfs3", "hfsplus"}, kind)
}

// writableByConfiguration maps the mount points that should be writable to their type of file
// system. Files that cannot be read contribute none.
func (s source) writableByConfiguration() map[string]string {
	writable := map[string]string{}
	if raw, err := hostfile.Read(filepath.Join(s.root, "etc", "fstab"), maxFstab); err == nil {
		writable = parseFstab(string(raw))
	}
	if _, listed := writable["/"]; listed {
		return writable
	}
	if raw, err := hostfile.Read(filepath.Join(s.root, "proc", "cmdline"), maxCmdline); err == nil && rootMountMode(string(raw)) == "rw" {
		writable["/"] = ""
	}
	return writable
}

// parseFstab reads the mounts of fstab(5) without the option ro. The type is "" if any will do.
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

// rootMountMode returns the last of ro and rw among the kernel parameters, which is the one that takes
// effect.
func rootMountMode(cmdline string) string {
	mode := ""
	for parameter := range strings.FieldsSeq(cmdline) {
		if parameter == "ro" || parameter == "rw" {
			mode = parameter
		}
	}
	return mode
}

// writeProtected reports whether the device itself rejects writes: a write-protected card, a
// verified image.
func (s source) writeProtected(device mounts.Device) bool {
	text, err := hostfile.Text(filepath.Join(s.root, "sys", "dev", "block", device.String(), "ro"))
	return err == nil && text == "1"
}

// failed reports whether the file system itself reports an error: newer kernels by the option
// emergency_ro, ext4 by a counter that fsck resets.
func (s source) hasErrors(m *mountinfo.Info) bool {
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
