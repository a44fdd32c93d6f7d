// SPDX-License-Identifier: Apache-2.0

// Package virt detects whether this system is a container or a virtual machine,
// and of which kind. Nothing here needs root; what only root may read makes the answer more
// certain, not different.
package virt

import (
	"bytes"
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// Container returns what runs this system as a container: "kubernetes",
// "docker", "podman", "lxc", "systemd-nspawn", "wsl" or what the manager calls itself;
// "" when nothing says that it is one.
func Container(root string) string {
	at := func(name string) string { return filepath.Join(root, name) }
	groups, _ := hostfile.Head(at("proc/1/cgroup"), 64<<10) //nolint:errcheck // not readable: other marks decide
	byGroup := cgroupManager(groups)
	if byGroup == "kubernetes" || hostfile.Exists(at("run/secrets/kubernetes.io/serviceaccount")) ||
		hostfile.Exists(at("var/run/secrets/kubernetes.io/serviceaccount")) {
		return "kubernetes"
	}
	if name := fromManager(at); name != "" {
		return name
	}
	if isWSL(at("proc/sys/kernel/osrelease")) {
		return "wsl"
	}
	switch {
	case hostfile.Exists(at("run/.containerenv")):
		return "podman"
	case hostfile.Exists(at(".dockerenv")):
		return "docker"
	default:
		return byGroup
	}
}

// fromManager returns what the manager says of itself, by the container interface
// of systemd (systemd.io/CONTAINER_INTERFACE): a file, or a variable of the first
// process, which only root may read.
func fromManager(at func(string) string) string {
	for _, file := range [...]string{"run/systemd/container", "run/host/container-manager"} {
		if name, err := hostfile.Text(at(file)); err == nil {
			return known(name)
		}
	}
	environ, err := hostfile.Head(at("proc/1/environ"), 64<<10)
	if err != nil {
		return ""
	}
	return known(fromEnvironment(environ))
}

func fromEnvironment(b []byte) string {
	for variable := range bytes.SplitSeq(b, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte("container=")); ok {
			return string(value)
		}
	}
	return ""
}

// known maps what managers write to one name for each.
func known(name string) string {
	switch name {
	case "lxc-libvirt":
		return "lxc"
	case "host", "none":
		return ""
	default:
		return name
	}
}

// cgroupManager reads the groups of the first process. With a group namespace
// of its own (the default since cgroup v2) a container sees only "/".
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

// isWSL looks at the release of the kernel, which is Microsoft's build.
func isWSL(osrelease string) bool {
	release, err := hostfile.Text(osrelease)
	return err == nil && (strings.Contains(release, "WSL") || strings.HasSuffix(release, "-Microsoft") ||
		strings.Contains(release, "microsoft-standard"))
}
