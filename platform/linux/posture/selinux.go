// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"errors"
	"path/filepath"

	"sentinel/platform/linux/hostfile"
)

// SELinux modes, in the words of getenforce(8) but lower case. A system without
// SELinux is [Disabled].
const (
	Enforcing  = "enforcing"
	Permissive = "permissive"
)

// SELinux returns the mode the kernel is in now, whatever /etc/selinux/config
// asks for at the next boot.
func SELinux(root string) (string, error) {
	dir := filepath.Join(root, "sys/fs/selinux")
	text, err := hostfile.Text(dir + "/enforce")
	if hostfile.Missing(err) {
		if hostfile.Exists(dir) {
			return "", errors.New("selinuxfs is not mounted here")
		}
		return Disabled, nil
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
