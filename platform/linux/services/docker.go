// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
	"sentinel/internal/services"
	"sentinel/platform/linux/dockerd"
	"sentinel/platform/unix/hostfile"
)

// containerScopes are the scopes of Docker's containers, with systemd as their cgroup driver.
const containerScopes = "docker-*.scope"

// hosted says what a restart of Docker does to its containers, after a space, and the units of those that may
// stop; "" for other units. They go on where dockerd was started with live-restore (dockerd(8)).
func (m *manager) hosted(u services.Unit) (says, stopping string) {
	if u.Name != dockerd.Unit {
		return "", ""
	}
	words := slices.Concat(u.Commands...)
	if dockerd.LiveRestore(words) {
		return " Its containers keep running (--live-restore).", ""
	}
	file := dockerd.File(words)
	raw, err := hostfile.Read(filepath.Join(m.root, file), dockerd.MaxFile)
	config, wrong := dockerd.Parse(raw)
	switch shown := sanitize.Text(file, maxConfigName); {
	case err != nil && !hostfile.Missing(err), wrong != nil:
		return " Its containers may stop: whether it has live-restore cannot be read in " + shown + ".", containerScopes
	case config.LiveRestore:
		return " Its containers keep running if it was started with live-restore, which " + shown + " has.", ""
	case slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "$") }):
		return " Its containers may stop: whether it has live-restore is up to a variable of its unit.", containerScopes
	}
	return " Its containers stop with it, and those without a restart policy stay off.", containerScopes
}

// maxConfigName bounds a name that a unit gives a configuration, in characters.
const maxConfigName = 100
