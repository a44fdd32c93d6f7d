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

// SELinux returns the current mode, whatever /etc/selinux/config requests for the next boot, or
// [Disabled] if SELinux is not active.
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

// withoutSELinuxFS determines why there is no mode to read. The kernel creates the directory
// whenever SELinux is active. A kernel with SELinux built in but turned off looks like one without
// it, and getenforce(8) prints Disabled for both.
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
