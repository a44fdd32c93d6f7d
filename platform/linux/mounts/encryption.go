// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"errors"
	"os"
	"path"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// Reasons why it is unknown whether a file system is encrypted.
var (
	ErrNoDevice      = errors.New("the device below this file system cannot be seen from here")
	ErrOwnEncryption = errors.New("the file system may encrypt by itself, which is not shown outside its own tools")
	ErrLoop          = errors.New("the file system lies in a file, whose own device may be encrypted")
	ErrUnnamedMap    = errors.New("a device map without an identifier, which may or may not encrypt")
	errTooMany       = errors.New("more devices below this file system than expected")
)

const (
	maxDevices = 1024 // inspected for one file system: partitions, RAID members, LVM volumes, ...
	maxDepth   = 16   // layers of them
	maxSlaves  = 256  // devices directly under one device
	maxBlocks  = 4096 // block devices of the machine
)

// Encrypted reports whether everything that m stores goes through dm-crypt (LUKS,
// plain, BitLocker or TrueCrypt volumes) on its way to the disk. A disk that
// encrypts by itself (OPAL) and encryption of single directories (fscrypt) do not count. An error
// means that it is unknown.
func (fs *FS) Encrypted(m Mount) (bool, error) {
	switch m.Type {
	case "zfs", "bcachefs":
		return false, ErrOwnEncryption
	case "btrfs":
		return fs.btrfsEncrypted(m)
	}
	if m.Device.Major == 0 {
		return false, ErrNoDevice
	}
	w := walk{left: maxDevices}
	return w.device(fs.path("sys/dev/block/"+m.Device.String()), maxDepth)
}

// btrfsEncrypted checks every member of the file system: btrfs has a device number of its own, and
// shows only one member as its source.
func (fs *FS) btrfsEncrypted(m Mount) (bool, error) {
	name, err := fs.blockName(m.Source)
	if err != nil {
		return false, err
	}
	members := []string{name}
	pools, _ := hostfile.Names(fs.path("sys/fs/btrfs"), maxSlaves) //nolint:errcheck // no list: the source alone
	for _, pool := range pools {
		dir := fs.path("sys/fs/btrfs/" + pool + "/devices")
		if hostfile.Exists(dir + "/" + name) {
			if members, err = hostfile.Names(dir, maxSlaves); err != nil {
				return false, err
			}
			break
		}
	}
	w := walk{left: maxDevices}
	return w.all(fs.path("sys/class/block"), members, maxDepth)
}

// blockName returns the kernel's name of a device file: "dm-0" for
// /dev/mapper/root.
func (fs *FS) blockName(source string) (string, error) {
	if !strings.HasPrefix(source, "/dev/") {
		return "", ErrNoDevice
	}
	name := path.Base(source)
	if target, err := os.Readlink(fs.path(source)); err == nil {
		name = path.Base(target)
	}
	if hostfile.Exists(fs.path("sys/class/block/" + name)) {
		return name, nil
	}
	return fs.mapNamed(name)
}

// mapNamed finds a device map by its name in /dev/mapper.
func (fs *FS) mapNamed(want string) (string, error) {
	blocks, err := hostfile.Names(fs.path("sys/block"), maxBlocks)
	if err != nil && !errors.Is(err, hostfile.ErrTooLarge) {
		return "", ErrNoDevice
	}
	for _, block := range blocks {
		if !strings.HasPrefix(block, "dm-") {
			continue
		}
		if name, err := hostfile.Text(fs.path("sys/block/" + block + "/dm/name")); err == nil && name == want {
			return block, nil
		}
	}
	return "", ErrNoDevice
}

// A walk goes down from a file system to the disks below it.
type walk struct {
	left int // devices that it may still inspect
}

// device walks down from one block device. node is its directory in sysfs, often a
// symbolic link: ".." after it is resolved by the kernel and must not be cleaned away.
func (w *walk) device(node string, depth int) (bool, error) {
	w.left--
	if depth == 0 || w.left < 0 {
		return false, errTooMany
	}
	if !hostfile.Exists(node + "/.") {
		return false, ErrNoDevice
	}
	if hostfile.Exists(node + "/partition") {
		return w.device(node+"/..", depth-1)
	}
	kind, err := mapKind(node)
	if err != nil || kind == crypts {
		return kind == crypts, err
	}
	if hostfile.Exists(node + "/loop/backing_file") {
		return false, ErrLoop
	}
	slaves, err := hostfile.Names(node+"/slaves", maxSlaves)
	if err != nil && !hostfile.Missing(err) {
		return false, err
	}
	return w.all(node+"/slaves", slaves, depth-1)
}

// all reports whether each of the named devices in dir is encrypted; without any device it is
// false. One unencrypted device is enough for false, even if others are unknown.
func (w *walk) all(dir string, names []string, depth int) (bool, error) {
	var unknown error
	for _, name := range names {
		encrypted, err := w.device(dir+"/"+name, depth)
		if err == nil && !encrypted {
			return false, nil
		}
		if err != nil && unknown == nil {
			unknown = err
		}
	}
	return len(names) > 0 && unknown == nil, unknown
}

type mapping int

const (
	noMap mapping = iota
	crypts
	otherMap
)

// mapKind returns the kind of a device-mapper device by the prefix of its identifier, which
// cryptsetup, LVM and the others set. cryptsetup also makes maps that only verify (VERITY,
// INTEGRITY) and parts of others (SUBDEV).
func mapKind(node string) (mapping, error) {
	if !hostfile.Exists(node + "/dm") {
		return noMap, nil
	}
	uuid, err := hostfile.Text(node + "/dm/uuid")
	if errors.Is(err, hostfile.ErrEmpty) {
		return otherMap, ErrUnnamedMap
	}
	if err != nil {
		return otherMap, err
	}
	return kindOf(uuid), nil
}

func kindOf(uuid string) mapping {
	kind, ok := strings.CutPrefix(uuid, "CRYPT-")
	if !ok {
		return otherMap
	}
	kind, _, _ = strings.Cut(kind, "-")
	switch kind {
	case "VERITY", "INTEGRITY", "SUBDEV":
		return otherMap
	default:
		return crypts
	}
}
