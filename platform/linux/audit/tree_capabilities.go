// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/posixacl"
	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/unix/hostfile"
)

// capabilities are those of a file that lead to root, by their numbers (capabilities(7)).
type capabilities uint64

// rootCapabilities let a process become root, or read or write what is root's: by themselves, or by way of
// another process, a device or the kernel.
var rootCapabilities = []struct {
	number int // linux/capability.h
	name   string
}{
	{0, "cap_chown"}, {1, "cap_dac_override"}, {2, "cap_dac_read_search"}, {3, "cap_fowner"}, {6, "cap_setgid"}, {7, "cap_setuid"}, {16, "cap_sys_module"}, {17, "cap_sys_rawio"},
	{19, "cap_sys_ptrace"}, {21, "cap_sys_admin"}, {27, "cap_mknod"}, {31, "cap_setfcap"}, {32, "cap_mac_override"}, {33, "cap_mac_admin"}, {39, "cap_bpf"},
}

func (c capabilities) String() string {
	var names []string
	for _, one := range rootCapabilities {
		if c&(1<<one.number) != 0 {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, " ")
}

// capabilityAttribute holds the capabilities of a program.
const capabilityAttribute = "security.capability"

// capabilitiesOf returns what a program, in the directory that is open as fd, gives whoever may run it, if
// that is anybody but root, of the capabilities that lead to root. EOVERFLOW says that another root has
// them, which is none here.
func capabilitiesOf(fd int, name string, e filetree.Entry) (capabilities, error) {
	if !e.Is(filetree.Regular) || e.Mode&0o011 == 0 && (e.UID == 0 || e.Mode&0o100 == 0) {
		return 0, nil
	}
	var raw [24]byte // the longest form
	n, err := unix.Lgetxattr("/proc/self/fd/"+strconv.Itoa(fd)+"/"+name, capabilityAttribute, raw[:])
	switch {
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOVERFLOW), errors.Is(err, unix.ENOENT) && gone(fd, name):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return parseCapabilities(raw[:n]), nil
}

// gone reports whether it is the file that is missing, and not /proc.
func gone(fd int, name string) bool {
	var st unix.Stat_t
	return errors.Is(unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
}

// parseCapabilities reads what the kernel has of a file (vfs_cap_data and vfs_ns_cap_data of
// linux/capability.h), little-endian: a word with the version, the permitted and the inheritable of the
// first 32, those of the rest, and from version 3 on who is root in the user namespace in which they
// count. Another one's is no root here.
func parseCapabilities(raw []byte) capabilities {
	word := func(at int) uint64 {
		if len(raw) < 4*at+4 {
			return 0
		}
		return uint64(binary.LittleEndian.Uint32(raw[4*at:]))
	}
	version := word(0) >> 24
	if version == 3 && word(5) != 0 {
		return 0
	}
	permitted := word(1)
	if version > 1 {
		permitted |= word(3) << 32
	}
	var lead uint64
	for _, one := range rootCapabilities {
		lead |= 1 << one.number
	}
	return capabilities(permitted & lead)
}

// listed returns whom the access control list of a program lets write beside those of whom the mode tells. A
// list that is there and cannot be read counts.
func (m *machine) listed(s foundFile) (writers posixacl.List, some bool) {
	if s.Mode&0o020 == 0 { // the mask
		return nil, false
	}
	f, err := m.stat(s.path)
	if err != nil {
		return nil, !hostfile.Missing(err)
	}
	writers = slices.DeleteFunc(f.NamedOthers(), func(n posixacl.Named) bool { return n.Rights&0o2 == 0 })
	return writers, len(writers) > 0
}
