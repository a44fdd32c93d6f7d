// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup is the name of the group that Leave creates. Only root can write to it.
const ownGroup = "sentinel"

// Leave moves the calling process, with all its threads, out of a control group that a user other
// than root may freeze: systemd delegates the groups of a user's services to that user, and a
// process that sudo starts there stays there. A frozen process would keep every lock that it holds.
// If only root can freeze the process, it stays where it is. root is "/" on the live system.
//
// It needs root and the unified hierarchy (Documentation/admin-guide/cgroup-v2.rst), which systemd
// may mount beside the older one. The error is errors.ErrUnsupported without that hierarchy. On an
// error the process has not moved.
func Leave(root string) error {
	top, err := unifiedTop(root)
	if err != nil {
		return err
	}
	if safe, err := onlyRootCanFreeze(top, filepath.Join(root, "proc", "self", "cgroup")); err == nil && safe {
		return nil
	}
	own := filepath.Join(top, ownGroup)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as the kernel does for the others
		return fmt.Errorf("make a control group: %w", err)
	}
	// The group may be left from an earlier run; if somebody other than root owned it, moving there
	// would gain nothing.
	if safe, err := writableByRootOnly(own); err != nil || !safe {
		return errors.Join(fmt.Errorf("%s is not root's alone: %w", own, fs.ErrPermission), err)
	}
	err = os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return fmt.Errorf("leave the control group: %w", err)
	}
	return nil
}

// unifiedTop returns the mount point of the unified hierarchy.
func unifiedTop(root string) (string, error) {
	mount := filepath.Join(root, "sys", "fs", "cgroup")
	for _, dir := range []string{mount, filepath.Join(mount, "unified")} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("control groups v2: %w", errors.ErrUnsupported)
}

// onlyRootCanFreeze reports whether only root can change the groups from that of the process up to the top.
func onlyRootCanFreeze(top, membership string) (bool, error) {
	raw, err := os.ReadFile(membership)
	if err != nil {
		return false, err
	}
	path, ok := unifiedPath(string(raw))
	if !ok {
		return false, fmt.Errorf("%s: %w", membership, ErrFormat)
	}
	for ; path != "/"; path = filepath.Dir(path) {
		if safe, err := writableByRootOnly(filepath.Join(top, path)); err != nil || !safe {
			return false, err
		}
	}
	return true, nil
}

// unifiedPath finds the line "0::PATH" of cgroups(7). A path that begins with /.. lies outside this
// cgroup namespace.
func unifiedPath(text string) (string, bool) {
	for line := range strings.Lines(text) {
		path, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if found {
			return path, strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/..")
		}
	}
	return "", false
}

// writableByRootOnly reports whether only root can write to a group and to its files that freeze it, add
// processes and enable controllers.
func writableByRootOnly(group string) (bool, error) {
	for _, name := range []string{"", "cgroup.freeze", "cgroup.procs", "cgroup.subtree_control"} {
		info, err := os.Stat(filepath.Join(group, name))
		if errors.Is(err, fs.ErrNotExist) && name == "cgroup.freeze" { // before Linux 5.2
			continue
		}
		if err != nil {
			return false, err
		}
		file, ok := info.Sys().(*syscall.Stat_t)
		if !ok || file.Uid != 0 || info.Mode().Perm()&0o022 != 0 {
			return false, nil
		}
	}
	return true, nil
}
