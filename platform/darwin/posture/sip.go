// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/sysexec"
)

// A SIP is the state of System Integrity Protection, which keeps even root from
// the files and processes of the system.
type SIP struct {
	Enabled bool // all of it
	// Off are the protections that a custom configuration switches off, as csrutil
	// names them; empty when all are on or all are off.
	Off []string
}

// csrutil is the program that manages System Integrity Protection.
const csrutil = "/usr/bin/csrutil"

// maxProtections bounds a custom configuration; macOS 12 has ten items.
const maxProtections = 32

// ReadSIP asks csrutil(8).
func ReadSIP(ctx context.Context, runner sysexec.Runner) (SIP, error) {
	r, err := ask(ctx, runner, csrutil, "status")
	if err != nil {
		return SIP{}, err
	}
	return ParseSIP(r.Stdout)
}

// ParseSIP reads what csrutil status prints (macOS 10.11 to 26). Of a custom
// configuration it also says "unknown"; the list of its items counts. That the system is no
// internal one of Apple is no protection, so that item does not.
func ParseSIP(out []byte) (SIP, error) {
	state, found := after(out, "System Integrity Protection status:")
	switch {
	case !found:
		return SIP{}, ErrFormat
	case state == "enabled":
		return SIP{Enabled: true}, nil
	case state == "disabled":
		return SIP{}, nil
	}
	items, known := customSIP(out)
	if !strings.HasSuffix(state, "(Custom Configuration)") || !known {
		return SIP{}, ErrFormat
	}
	return SIP{Enabled: len(items) == 0, Off: items}, nil
}

// customSIP returns the items that are off. known is false when there is not
// one item.
func customSIP(out []byte) (off []string, known bool) {
	_, list, _ := strings.Cut(string(out), "Configuration:\n")
	for line := range strings.Lines(list) {
		name, state, cut := strings.Cut(strings.TrimSpace(line), ":")
		state = strings.TrimSpace(state)
		if !cut || name == "Apple Internal" || state != "enabled" && state != "disabled" {
			continue
		}
		known = true
		if state == "disabled" && len(off) < maxProtections {
			off = append(off, name)
		}
	}
	slices.Sort(off)
	return off, known
}

// ReadAuthenticatedRoot asks csrutil(8) whether the system starts only from a
// system volume that has Apple's seal (macOS 11 and later; earlier ones do not know the
// question, which is [ErrFormat]).
func ReadAuthenticatedRoot(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := ask(ctx, runner, csrutil, "authenticated-root", "status")
	if err != nil {
		return false, err
	}
	return ParseAuthenticatedRoot(r.Stdout)
}

// ParseAuthenticatedRoot reads what csrutil authenticated-root status prints,
// with or without a full stop.
func ParseAuthenticatedRoot(out []byte) (bool, error) {
	state, found := after(out, "Authenticated Root status:")
	return onOff(state, found, "enabled", "disabled")
}

// onOff reads one of two words.
func onOff(word string, found bool, on, off string) (bool, error) {
	switch {
	case found && word == on:
		return true, nil
	case found && word == off:
		return false, nil
	default:
		return false, ErrFormat
	}
}
