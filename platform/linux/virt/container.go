// SPDX-License-Identifier: Apache-2.0

// Package virt detects whether this system is a container or a virtual machine, and of which kind.
// Nothing here needs root: files that only root can read only make the answer more certain.
package virt

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
)

// Container returns the container manager that runs this system: "kubernetes", "docker", "podman",
// "lxc", "systemd-nspawn", "wsl" or the name that the manager gives itself; "" if there is no sign
// of a container.
func Container(root string) string {
	at := func(name string) string { return filepath.Join(root, name) }
	proc := procfs.New(root)
	groups, _ := proc.Head(1, "cgroup", 64<<10) //nolint:errcheck // unreadable: other signs decide
	marked := !isMachine(at, groups)
	byGroup := cgroupManager(groups)
	if byGroup == "kubernetes" || hostfile.Exists(at("run/secrets/kubernetes.io/serviceaccount")) ||
		hostfile.Exists(at("var/run/secrets/kubernetes.io/serviceaccount")) {
		return "kubernetes"
	}
	if name := fromManager(at, proc); name != "" {
		return name
	}
	if isWSL(at("proc/sys/kernel/osrelease")) {
		return "wsl"
	}
	switch {
	case marked && hostfile.Exists(at("run/.containerenv")):
		return "podman"
	case marked && hostfile.Exists(at(".dockerenv")):
		return "docker"
	default:
		return byGroup
	}
}

// initialGroups is the cgroup namespace of the machine itself (PROC_CGROUP_INIT_INO,
// include/uapi/linux/nsfs.h).
const initialGroups = "cgroup:[4026531835]"

// isMachine reports whether the first process is in the root group, seen from the machine's own
// namespace: then the marks in files come from an image that was made into the disk of a machine.
func isMachine(at func(string) string, groups []byte) bool {
	if to, err := os.Readlink(at("proc/self/ns/cgroup")); err != nil || to != initialGroups {
		return false
	}
	known := false
	for line := range bytes.Lines(groups) {
		fields := bytes.SplitN(bytes.TrimSpace(line), []byte(":"), 3)
		if len(fields) < 3 || len(fields[1]) > 0 && string(fields[1]) != "name=systemd" {
			continue // a controller that has groups of its own
		}
		if known = string(fields[2]) == "/"; !known {
			return false
		}
	}
	return known
}

// fromManager returns the name that the manager gives itself through systemd's container interface
// (systemd.io/CONTAINER_INTERFACE): in a file, or in an environment variable of the first process,
// which only root may read.
func fromManager(at func(string) string, proc procfs.FS) string {
	for _, file := range [...]string{"run/systemd/container", "run/host/container-manager"} {
		if name, err := hostfile.Text(at(file)); err == nil {
			return canonicalName(name)
		}
	}
	environ, err := proc.Head(1, "environ", 64<<10)
	if err != nil {
		return ""
	}
	return canonicalName(fromEnvironment(environ))
}

func fromEnvironment(b []byte) string {
	for variable := range bytes.SplitSeq(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte("container=")); ok {
			return string(value)
		}
	}
	return ""
}

// canonicalName maps the different names that a manager writes to one.
func canonicalName(name string) string {
	switch name {
	case "lxc-libvirt":
		return "lxc"
	case "host", "none":
		return ""
	default:
		return name
	}
}

// cgroupManager reads the groups of the first process. With its own cgroup namespace (the default
// since cgroup v2) a container sees only "/".
func cgroupManager(b []byte) string {
	for _, mark := range [...]struct{ part, name string }{
		{"kubepods", "kubernetes"},
		{"/docker/", "docker"}, {"/docker-", "docker"},
		{"/libpod-", "podman"}, {"/libpod_parent", "podman"},
		{"/lxc/", "lxc"}, {"/lxc.payload", "lxc"},
	} {
		if bytes.Contains(b, []byte(mark.part)) {
			return mark.name
		}
	}
	return ""
}

// isWSL looks for Microsoft's kernel build in the kernel release.
func isWSL(osrelease string) bool {
	release, err := hostfile.Text(osrelease)
	return err == nil && (strings.Contains(release, "WSL") || strings.HasSuffix(release, "-Microsoft") ||
		strings.Contains(release, "microsoft-standard"))
}
