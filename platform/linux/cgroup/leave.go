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

// A hierarchy is a tree of control groups by which somebody may stop processes.
type hierarchy struct {
	controllers string   // in /proc/PID/cgroup; empty for the unified one (cgroups(7))
	mounts      []string // below /sys/fs/cgroup
	file        string   // which every group of it has
}

// hierarchies are that of the kernel's freezer and limits, and those in which systemd and elogind
// keep the sessions of users where the unified one does not serve for that.
var hierarchies = []hierarchy{
	{"", []string{"", "unified"}, "cgroup.controllers"},
	{"name=systemd", []string{"systemd"}, "cgroup.procs"},
	{"name=elogind", []string{"elogind"}, "cgroup.procs"},
}

// Leave moves the calling process, with all its threads, out of a control group by which a user other
// than root may stop it: systemd delegates the groups of a user's services to that user, who can
// freeze them, and logind sends signals of a user's choice, as root, to everything in the group of
// that user's session; a process that sudo starts there stays there. A stopped process would keep
// every lock that it holds. A process that only root governs stays where it is. root is "/" on the
// live system.
//
// It needs root. The error is errors.ErrUnsupported without control groups. On an error the process
// has not moved in the hierarchy that the error is about.
func Leave(root string) error {
	membership, err := os.ReadFile(filepath.Join(root, "proc", "self", "cgroup"))
	if err != nil {
		return err
	}
	var failed []error
	found := false
	for _, h := range hierarchies {
		if top, ok := h.top(root); ok {
			found = true
			failed = append(failed, h.leave(top, string(membership)))
		}
	}
	if !found {
		return fmt.Errorf("control groups: %w", errors.ErrUnsupported)
	}
	return errors.Join(failed...)
}

// top returns the mount point of the hierarchy. systemd may mount it in more than one place.
func (h hierarchy) top(root string) (string, bool) {
	for _, dir := range h.mounts {
		top := filepath.Join(root, "sys", "fs", "cgroup", dir)
		if _, err := os.Stat(filepath.Join(top, h.file)); err == nil {
			return top, true
		}
	}
	return "", false
}

func (h hierarchy) leave(top, membership string) error {
	if path, ok := h.path(membership); !ok || onlyRootGoverns(top, path) {
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
	err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
	if err != nil {
		return fmt.Errorf("leave the control group: %w", err)
	}
	return nil
}

// path finds the group of the process in the lines "ID:CONTROLLERS:PATH" of cgroups(7). One outside of
// this cgroup namespace begins with /.. there.
func (h hierarchy) path(membership string) (string, bool) {
	for line := range strings.Lines(membership) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && parts[1] == h.controllers && (h.controllers != "" || parts[0] == "0") {
			return parts[2], strings.HasPrefix(parts[2], "/")
		}
	}
	return "", false
}

// systemGroup is where systemd runs the services of the system. Everywhere else may be a session:
// below user.slice with systemd, at the top with elogind.
const systemGroup = "/system.slice/"

// onlyRootGoverns reports whether only root can stop or change the group at path and those above it.
// The top is nobody's, and that of Leave is root's.
func onlyRootGoverns(top, path string) bool {
	switch path = filepath.Clean(path); {
	case path == "/", path == "/"+ownGroup:
		return true
	case !strings.HasPrefix(path, systemGroup):
		return false
	}
	for ; path != "/"; path = filepath.Dir(path) {
		if safe, err := writableByRootOnly(filepath.Join(top, path)); err != nil || !safe {
			return false
		}
	}
	return true
}

// writableByRootOnly reports whether only root can write to a group and to its files that freeze it, add
// processes and enable controllers.
func writableByRootOnly(group string) (bool, error) {
	for _, name := range []string{"", "cgroup.freeze", "cgroup.procs", "cgroup.subtree_control"} {
		info, err := os.Stat(filepath.Join(group, name))
		if errors.Is(err, fs.ErrNotExist) && (name == "cgroup.freeze" || name == "cgroup.subtree_control") { // before Linux 5.2, or not in the unified hierarchy
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
