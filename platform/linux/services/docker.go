// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/services"
	"sentinel/platform/unix/hostfile"
)

const (
	dockerUnit   = "docker.service"
	dockerConfig = "/etc/docker/daemon.json"
	// maxDockerConfig bounds what is read of it, in bytes.
	maxDockerConfig = 1 << 20
)

// hosted says what a restart of Docker does to its containers, after a space; "" for other units.
// They go on where dockerd was started with live-restore (dockerd(8)).
func (m *manager) hosted(u services.Unit) string {
	if u.Name != dockerUnit {
		return ""
	}
	words := slices.Concat(u.Commands...)
	if slices.ContainsFunc(words, func(w string) bool { return w == "--live-restore" || w == "--live-restore=true" }) {
		return " Its containers keep running (--live-restore)."
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--config-file") }) && !slices.Contains(words, "--config-file="+dockerConfig) && !slices.Contains(words, dockerConfig) {
		return " Its containers may stop: whether it has live-restore is in another file than " + dockerConfig + "."
	}
	return m.hostedByFile()
}

func (m *manager) hostedByFile() string {
	var config struct {
		LiveRestore bool `json:"live-restore"`
	}
	raw, err := hostfile.Read(filepath.Join(m.root, dockerConfig), maxDockerConfig)
	switch {
	case err != nil && !hostfile.Missing(err), len(raw) > 0 && json.Unmarshal(raw, &config) != nil:
		return " Its containers may stop: whether it has live-restore cannot be read in " + dockerConfig + "."
	case config.LiveRestore:
		return " Its containers keep running if it was started with live-restore, which " + dockerConfig + " has."
	}
	return " Its containers stop with it, and those without a restart policy stay off."
}
