// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/sysexec"
)

// A SIP is the state of System Integrity Protection, which protects the files and
// processes of the system even from root.
type SIP struct {
	Enabled bool // completely
	// Off are the protections that a custom configuration turns off, by csrutil's
	// names; empty if all are on or all are off.
	Off []string
}

// csrutil is the program that manages System Integrity Protection.
const csrutil = "/usr/bin/csrutil"

// maxProtections bounds a custom configuration; macOS 12 has ten items.
const maxProtections = 32

// ReadSIP asks csrutil(8).
func ReadSIP(ctx context.Context, runner sysexec.Runner) (SIP, error) {
	r, err := run(ctx, runner, csrutil, "status")
	if err != nil {
		return SIP{}, err
	}
	return ParseSIP(r.Stdout)
}

// ParseSIP parses the output of csrutil status (macOS 10.11 to 26). For a custom
// configuration the state may also be "unknown"; its list of items counts, except Apple
// Internal, which is not a protection.
func ParseSIP(out []byte) (SIP, error) {
	state, found := lineAfter(out, "System Integrity Protection status:")
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

// customSIP returns the items that are off. known is false if there are no items.
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
// system volume with Apple's seal. Before macOS 11, which introduced the seal, the error is
// [ErrFormat].
func ReadAuthenticatedRoot(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := run(ctx, runner, csrutil, "authenticated-root", "status")
	if err != nil {
		return false, err
	}
	return ParseAuthenticatedRoot(r.Stdout)
}

// ParseAuthenticatedRoot parses the output of csrutil authenticated-root status.
func ParseAuthenticatedRoot(out []byte) (bool, error) {
	state, found := lineAfter(out, "Authenticated Root status:")
	return onOff(state, found, "enabled", "disabled")
}

// onOff parses one of two words.
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
