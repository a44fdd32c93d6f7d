// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"errors"
	"path/filepath"

	"sentinel/platform/unix/hostfile"
)

// SELinux modes, in the words of getenforce(8) but lower case.
const (
	Enforcing  = "enforcing"
	Permissive = "permissive"
)

// SELinux returns the mode that is in force now, whatever /etc/selinux/config asks
// for at the next boot, and [Disabled] where SELinux is not in force.
func SELinux(root string) (string, error) {
	dir := filepath.Join(root, "sys/fs/selinux")
	text, err := hostfile.Text(dir + "/enforce")
	if hostfile.Missing(err) {
		return withoutSELinuxFS(root, dir)
	}
	if err != nil {
		return "", err
	}
	switch text {
	case "1":
		return Enforcing, nil
	case "0":
		return Permissive, nil
	default:
		return "", ErrFormat
	}
}

// withoutSELinuxFS says why there is no mode to read. The kernel makes the
// directory whenever SELinux is in force. A kernel that has it built in but off looks like one
// without it, and getenforce(8) says Disabled for both.
func withoutSELinuxFS(root, dir string) (string, error) {
	switch {
	case hostfile.Exists(dir):
		return "", errors.New("selinuxfs is not mounted here")
	case !mounted(root):
		return "", errNoSysFS
	default:
		return Disabled, nil
	}
}
