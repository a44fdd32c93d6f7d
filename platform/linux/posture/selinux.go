// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/platform/linux/hostfile"
)

// SELinux modes, in the words of getenforce(8) but lower case.
const (
	Enforcing  = "enforcing"
	Permissive = "permissive"
)

// SELinux returns the mode the kernel is in now, whatever /etc/selinux/config
// asks for at the next boot: besides the modes, [Disabled] where it is not in
// force and [Unsupported] where the kernel does not have it at all.
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

// withoutSELinuxFS tells why there is no mode to read. The kernel makes the
// folder for it whenever SELinux is in force.
func withoutSELinuxFS(root, dir string) (string, error) {
	switch {
	case hostfile.Exists(dir):
		return "", errors.New("selinuxfs is not mounted here")
	case !mounted(root):
		return "", errNoSysFS
	case switchedOff(root):
		return Disabled, nil
	}
	modules, err := securityModules(filepath.Join(root, "sys/kernel/security"))
	if err != nil || slices.Contains(modules, "selinux") {
		return Disabled, nil //nolint:nilerr // without the list it is known to be off, and no more
	}
	return Unsupported, nil
}

// switchedOff says that the command line of the kernel turns SELinux off, which
// also keeps it out of the list of modules.
func switchedOff(root string) bool {
	text, err := hostfile.Text(filepath.Join(root, "proc/cmdline"))
	return err == nil && slices.Contains(strings.Fields(text), "selinux=0")
}
