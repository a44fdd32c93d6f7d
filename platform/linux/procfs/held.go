// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Held is a file that a process holds, its program, or one that it has open; or one that is compared
// with those.
type Held struct {
	Mode     uint32 // st_mode of inode(7)
	UID, GID uint32
	Links    uint32 // names that lead to it
	Device   uint64
	Special  uint64 // the device that a device file stands for; 0 for others
	Inode    uint64
	Blocks   uint64 // of 512 bytes
	Modified time.Time
	Mount    uint64 // the mount that the path to it is in, as proc_pid_mountinfo(5) numbers it; 0 before Linux 5.8
}

// Is says whether a file is the one that is held.
func (h Held) Is(file Held) bool { return file.Device == h.Device && file.Inode == h.Inode }

// Lent says that who runs the file gets rights of another user.
func (h Held) Lent() bool { return h.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 }

// ownedAlone says that nobody but owner may write to the file.
func (h Held) ownedAlone(owner int) bool { return int(h.UID) == owner && h.Mode&0o022 == 0 }

// cloning are the programs of containers that run from a copy of themselves in memory (CVE-2019-5736).
var cloning = []string{"runc", "crun"}

// CloneOf returns whose copy the memory is called that a process runs from, "/memfd:runc_cloned:/proc/self/exe";
// "" for other programs. Anyone can give memory that name.
func CloneOf(program string) string {
	for _, name := range cloning {
		if strings.HasPrefix(program, "/memfd:"+name+"_cloned:") {
			return name
		}
	}
	return ""
}
