// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"path/filepath"
	"slices"

	"sentinel/internal/services"
	"sentinel/platform/linux/dockerd"
	"sentinel/platform/unix/hostfile"
)

// hosted says what a restart of Docker does to its containers, after a space; "" for other units.
// They go on where dockerd was started with live-restore (dockerd(8)).
func (m *manager) hosted(u services.Unit) string {
	if u.Name != dockerd.Unit {
		return ""
	}
	words := slices.Concat(u.Commands...)
	if slices.ContainsFunc(words, func(w string) bool { return w == "--live-restore" || w == "--live-restore=true" }) {
		return " Its containers keep running (--live-restore)."
	}
	if dockerd.File(words) != dockerd.DefaultFile {
		return " Its containers may stop: whether it has live-restore is in another file than " + dockerd.DefaultFile + "."
	}
	return m.hostedByFile()
}

func (m *manager) hostedByFile() string {
	raw, err := hostfile.Read(filepath.Join(m.root, dockerd.DefaultFile), dockerd.MaxFile)
	config, wrong := dockerd.Parse(raw)
	switch {
	case err != nil && !hostfile.Missing(err), wrong != nil:
		return " Its containers may stop: whether it has live-restore cannot be read in " + dockerd.DefaultFile + "."
	case config.LiveRestore:
		return " Its containers keep running if it was started with live-restore, which " + dockerd.DefaultFile + " has."
	}
	return " Its containers stop with it, and those without a restart policy stay off."
}
