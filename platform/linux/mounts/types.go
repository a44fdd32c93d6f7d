// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"slices"
	"strings"
)

// MadeUp reports whether file systems of a type show what the kernel has, and keep no files.
func MadeUp(kind string) bool { return slices.Contains(madeUp, kind) }

// Remote reports whether file systems of a type are of servers or of processes, which may stop answering. Those
// whose names begin with fuse are among them; fuseblk is on a disk, and a process answers for it all the same.
func Remote(kind string) bool {
	return slices.Contains(remote, kind) || strings.HasPrefix(kind, "fuse")
}

var madeUp = []string{
	"binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset", "debugfs", "devpts", "efivarfs", "functionfs", "fusectl", "nfsd", "nsfs", "ocfs2_dlmfs", "proc", "pstore",
	"resctrl", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sysfs", "tracefs", "xenfs",
}

var remote = []string{
	"9p", "afs", "autofs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2",
	"smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "wekafs",
}
