// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unsafe"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// What statmount(2) is asked for, and where its answer has it (struct statmount in include/uapi/linux/mount.h).
const (
	askBasic  = 0x1 | 0x2                              // of the file system, of the mount
	askKind   = askBasic | 0x20 | 0x80 | 0x100 | 0x200 // type, options, subtype, source (Linux 6.13)
	askSource = 0x200
	askPaths  = 0x8 | 0x10

	atOptions, atMask, atMajor, atMinor, atFlags, atType = 4, 8, 16, 20, 32, 36
	atID, atParent, atAttributes, atRoot, atPoint        = 56, 60, 64, 104, 108
	atSubtype, atSource, atText                          = 120, 124, 512
)

// statmountBuffer holds both paths of a mount, unless one of them is longer than MaxPath, with all its other text.
const statmountBuffer = 64 << 10

// listedAtOnce is how many mounts listmount(2) names in one call.
const listedAtOnce = 4096

// statMounts completes a table whose text is more than is read, by asking for each mount that it does not have. What a
// user made long is not made by the kernel then: of what a user serves no path is asked for.
func statMounts(table []*mountinfo.Info) ([]*mountinfo.Info, error) {
	ids, err := listMounts()
	if err != nil {
		return nil, errRead
	}
	a := asking{known: make(map[int]*mountinfo.Info, len(table)), left: newRoom()}
	for _, m := range table {
		a.known[m.ID] = m
	}
	for _, id := range ids {
		if err := a.add(id); err != nil && !errors.Is(err, unix.ENOENT) { // it is gone, or out of reach
			return nil, err
		}
	}
	if !a.sources {
		return nil, errRead
	}
	return a.all, nil
}

// asking is a table that is made of single mounts.
type asking struct {
	known   map[int]*mountinfo.Info // which were read
	left    room
	all     []*mountinfo.Info
	sources bool // the kernel tells them
}

func (a *asking) add(id uint64) error {
	raw, err := askMount(id, askKind)
	if err != nil {
		return err
	}
	m := toldMount(raw)
	a.sources = a.sources || isTold(raw, askSource)
	if known := a.known[m.ID]; known != nil {
		m = known
	} else if err := addPaths(m, id); err != nil {
		return err
	}
	if err := a.left.take(m); err != nil {
		return err
	}
	a.all = append(a.all, m)
	return nil
}

// addPaths leaves out those of what a user serves, and those that are too long for the answer.
func addPaths(m *mountinfo.Info, id uint64) error {
	if ofUser(m) {
		return nil
	}
	paths, err := askMount(id, askBasic|askPaths)
	if err == nil {
		m.Root, m.Mountpoint = near(textAt(paths, atRoot)), near(textAt(paths, atPoint))
	}
	if errors.Is(err, unix.EOVERFLOW) {
		return nil
	}
	return err
}

// mountRequest is struct mnt_id_req.
type mountRequest struct {
	size, _   uint32
	id, param uint64
}

const requestSize = uint32(unsafe.Sizeof(mountRequest{}))

// listMounts returns the number of each mount below the root, in the order of the kernel.
func listMounts() (ids []uint64, err error) {
	request := mountRequest{size: requestSize, id: 1<<64 - 1} // LSMT_ROOT
	page := make([]uint64, listedAtOnce)
	for len(ids) <= maxMounts {
		n, _, errno := unix.Syscall6(unix.SYS_LISTMOUNT, uintptr(unsafe.Pointer(&request)), uintptr(unsafe.Pointer(&page[0])), listedAtOnce, 0, 0, 0) //nolint:gosec // arguments of a system call
		if errno != 0 {
			return nil, errno
		}
		ids = append(ids, page[:n]...)
		if n < listedAtOnce {
			return ids, nil
		}
		request.param = page[n-1]
	}
	return ids, nil
}

// near returns a path of no more than MaxPath bytes.
func near(path string) string {
	if len(path) > MaxPath {
		return ""
	}
	return path
}

func askMount(id, what uint64) ([]byte, error) {
	request := mountRequest{size: requestSize, id: id, param: what}
	raw := make([]byte, statmountBuffer)
	for {
		_, _, errno := unix.Syscall6(unix.SYS_STATMOUNT, uintptr(unsafe.Pointer(&request)), uintptr(unsafe.Pointer(&raw[0])), statmountBuffer, 0, 0, 0) //nolint:gosec // arguments of a system call
		switch errno {
		case 0:
			return raw, nil
		case unix.EINTR:
		default:
			return nil, errno
		}
	}
}

func toldMount(raw []byte) *mountinfo.Info {
	number := func(at int) int { return int(binary.NativeEndian.Uint32(raw[at:])) }
	kind := textAt(raw, atType)
	if sub := textAt(raw, atSubtype); sub != "" {
		kind += "." + sub
	}
	return &mountinfo.Info{
		ID: number(atID), Parent: number(atParent), Major: number(atMajor), Minor: number(atMinor),
		Options: mountOptions(binary.NativeEndian.Uint64(raw[atAttributes:])), FSType: kind, Source: textAt(raw, atSource),
		VFSOptions: strings.TrimSuffix(mode(number(atFlags)&unix.MS_RDONLY != 0)+","+textAt(raw, atOptions), ","),
	}
}

// textAt returns a text by the place that the answer has for it; "" where the mount has none.
func textAt(raw []byte, at int) string {
	if !isTold(raw, bitOf[at]) {
		return ""
	}
	begin := atText + int(binary.NativeEndian.Uint32(raw[at:]))
	text, _, _ := bytes.Cut(raw[min(begin, len(raw)):], []byte{0})
	return string(text)
}

func isTold(raw []byte, bits uint64) bool {
	return binary.NativeEndian.Uint64(raw[atMask:])&bits == bits
}

// bitOf are the bits of the mask that say whether a text is there.
var bitOf = map[int]uint64{atRoot: 0x8, atPoint: 0x10, atType: 0x20, atOptions: 0x80, atSubtype: 0x100, atSource: askSource}

// mountOptions writes the options of a mount as mountinfo has them (show_mnt_opts in fs/proc_namespace.c).
func mountOptions(attributes uint64) string {
	options := []string{mode(attributes&unix.MOUNT_ATTR_RDONLY != 0)}
	for _, o := range []struct {
		bit  uint64
		name string
	}{
		{unix.MOUNT_ATTR_NOSUID, "nosuid"}, {unix.MOUNT_ATTR_NODEV, "nodev"}, {unix.MOUNT_ATTR_NOEXEC, "noexec"},
	} {
		if attributes&o.bit != 0 {
			options = append(options, o.name)
		}
	}
	return strings.Join(options, ",")
}

func mode(readOnly bool) string {
	if readOnly {
		return "ro"
	}
	return "rw"
}
