// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"slices"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/linux/mounts"
)

var errNoMounts = errors.New("lists no mount")

// mounts reads the mount table, once.
func (m *machine) mounts() ([]*mountinfo.Info, error) {
	return m.mountTable.Get(func() ([]*mountinfo.Info, error) {
		table, err := mounts.New(m.Root).Table()
		if err == nil && len(table) == 0 {
			err = errNoMounts
		}
		return table, err
	})
}

// mountedAt returns what is mounted at a path, nil for nothing: the last one hides
// the others.
func mountedAt(table []*mountinfo.Info, point string) *mountinfo.Info {
	for _, t := range slices.Backward(table) {
		if t.Mountpoint == point {
			return t
		}
	}
	return nil
}

// keepsFiles says whether a file system may keep files of this machine: on a disk, in an image or in memory. A type that
// is not known does; what the kernel makes up does not, and what is on a server, or served by a process, may never answer.
func keepsFiles(t *mountinfo.Info) bool {
	return !mounts.IsFUSE(t) && !slices.Contains(kernelTypes, t.FSType) && !slices.Contains(servedTypes, t.FSType)
}

var (
	kernelTypes = []string{
		"autofs", "binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset", "debugfs", "devpts", "efivarfs", "functionfs", "fusectl", "hugetlbfs", "mqueue",
		"nfsd", "nsfs", "ocfs2_dlmfs", "proc", "pstore", "resctrl", "rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sysfs", "tracefs", "xenfs",
	}
	servedTypes = []string{
		"9p", "afs", "beegfs", "ceph", "cifs", "coda", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "wekafs",
	}
)
