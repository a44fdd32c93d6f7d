// SPDX-License-Identifier: Apache-2.0

// Package posture reads how the running kernel is protected: Secure Boot, the
// mandatory access control in force, and lockdown.
//
// Every function takes the root of the system, "/" on a live one. A mechanism that the kernel lacks
// is distinguished from one that is merely hidden, which is common in containers.
package posture

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// Reasons why the state of a mechanism is unknown.
var (
	ErrHidden = errors.New("hidden from this container")
	ErrFormat = errors.New("unexpected format")

	errNoSysFS      = errors.New("sysfs is not mounted here")
	errNoSecurityFS = errors.New("securityfs is not mounted here")
)

// States that several mechanisms share.
const (
	Enabled     = "enabled"
	Disabled    = "disabled"
	Unsupported = "unsupported" // the kernel or the firmware does not have it
)

// mounted reports whether a sysfs is mounted at /sys: it always has both directories. Trees of
// tests may have only one of them.
func mounted(root string) bool {
	return hostfile.Exists(filepath.Join(root, "sys/kernel")) || hostfile.Exists(filepath.Join(root, "sys/module"))
}

// Lockdown returns how far the kernel protects itself from root: "none",
// "integrity" or "confidentiality" (kernel_lockdown(7)), or [Unsupported].
func Lockdown(root string) (string, error) {
	dir := filepath.Join(root, "sys/kernel/security")
	raw, err := hostfile.Read(dir+"/lockdown", 256)
	if err == nil {
		return parseLockdown(string(raw))
	}
	if !hostfile.Missing(err) {
		return "", err
	}
	modules, err := securityModules(dir)
	if err != nil {
		return "", err
	}
	if slices.Contains(modules, "lockdown") {
		return "", ErrHidden
	}
	return Unsupported, nil
}

// parseLockdown takes the level in brackets: "none [integrity] confidentiality".
func parseLockdown(s string) (string, error) {
	_, rest, open := strings.Cut(s, "[")
	level, _, closed := strings.Cut(rest, "]")
	if !open || !closed {
		return "", ErrFormat
	}
	switch level {
	case "none", "integrity", "confidentiality":
		return level, nil
	default:
		return "", ErrFormat
	}
}

// securityModules lists the active security modules. A mounted securityfs always has the file.
func securityModules(dir string) ([]string, error) {
	text, err := hostfile.Text(dir + "/lsm")
	if hostfile.Missing(err) {
		return nil, errNoSecurityFS
	}
	return strings.Split(text, ","), err
}
