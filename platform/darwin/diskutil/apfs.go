// SPDX-License-Identifier: Apache-2.0

package diskutil

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/sysexec"
)

// errSizes reports that the sizes of a container contradict each other.
var errSizes = errors.New("diskutil printed a container with more free space than its size")

// A Container is an APFS container. Its volumes share its space.
type Container struct {
	Reference string  // "disk3"
	Size      uint64  // bytes
	Free      *uint64 // bytes; nil is unknown
	Volumes   []APFSVolume
}

// An APFSVolume is one volume of a container, mounted or not.
type APFSVolume struct {
	Device string // "disk3s5"
	Name   string
	Roles  []string // such as "System" or "Data"; none for a plain volume
	InUse  uint64   // bytes
	// FileVault reports whether the key of the volume is protected by a password; nil is unknown.
	// Without it, a Mac with a T2 or Apple silicon still encrypts the volume, but unlocks it for
	// whoever starts it.
	FileVault *bool
	Locked    bool // the password has not been entered
}

// HasRole reports whether the volume has a role.
func (v APFSVolume) HasRole(role string) bool { return slices.Contains(v.Roles, role) }

// Containers lists the APFS containers of this machine.
func Containers(ctx context.Context, runner sysexec.Runner) ([]Container, error) {
	printed, err := run(ctx, runner, "apfs", "list", "-plist")
	if err != nil {
		return nil, err
	}
	return ParseContainers(printed)
}

// containers is what "diskutil apfs list -plist" prints (macOS 11 to 26). What
// "diskutil info" calls FreeSpace and VolumeSize is 0 for APFS, so only the sizes of the
// container are used.
type containers struct {
	Containers *[]container `plist:"Containers"`
}

type container struct {
	Reference string       `plist:"ContainerReference"`
	Size      uint64       `plist:"CapacityCeiling"`
	Free      *uint64      `plist:"CapacityFree"`
	Volumes   []apfsVolume `plist:"Volumes"`
}

type apfsVolume struct {
	Device     string   `plist:"DeviceIdentifier"`
	Name       string   `plist:"Name"`
	Roles      []string `plist:"Roles"`
	InUse      uint64   `plist:"CapacityInUse"`
	FileVault  *bool    `plist:"FileVault"`
	Encryption *bool    `plist:"Encryption"`
	Locked     bool     `plist:"Locked"`
}

// ParseContainers reads what "diskutil apfs list -plist" prints.
func ParseContainers(printed []byte) ([]Container, error) {
	var c containers
	if err := decode(printed, &c); err != nil {
		return nil, err
	}
	if c.Containers == nil || len(*c.Containers) > maxDisks {
		return nil, ErrFormat
	}
	var list []Container
	for _, one := range *c.Containers {
		if one.Reference == "" || one.Size == 0 {
			return nil, fmt.Errorf("a container: %w", ErrFormat)
		}
		if one.Free != nil && *one.Free > one.Size {
			return nil, errSizes
		}
		made := Container{Reference: one.Reference, Size: one.Size, Free: one.Free}
		for _, v := range one.Volumes {
			made.Volumes = append(made.Volumes, v.volume())
		}
		list = append(list, made)
	}
	return list, nil
}

// volume treats an unencrypted volume as one without FileVault if the list does not mention
// FileVault.
func (v apfsVolume) volume() APFSVolume {
	fileVault := v.FileVault
	if fileVault == nil && v.Encryption != nil && !*v.Encryption {
		fileVault = v.Encryption
	}
	return APFSVolume{Device: v.Device, Name: v.Name, Roles: v.Roles, InUse: v.InUse, FileVault: fileVault, Locked: v.Locked}
}
