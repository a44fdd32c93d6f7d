// SPDX-License-Identifier: Apache-2.0

// Package posture reads how a Mac is protected: System Integrity Protection,
// the sealed system volume, Gatekeeper, FileVault, Secure Boot, XProtect and the
// firmware password.
//
// Each reader runs one program of macOS, or reads files below a root, and returns
// an error if it cannot tell. The parsers are separate and pure. Unknown output is an error: a
// sentence in another language, or with the wording of a later macOS, must not be taken for a
// protection that is on or off.
package posture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// Why a protection is not known.
var (
	ErrFormat = errors.New("unexpected format")
	// ErrNotLive means that there is only a tree of files and no running system.
	ErrNotLive = errors.New("only a running system can be asked")
)

// ErrRoot means that a program answers only to root. It wraps [fs.ErrPermission].
var ErrRoot = fmt.Errorf("needs root: %w", fs.ErrPermission)

// Bounds of the programs: each prints a few lines and takes less than a second,
// system_profiler up to two on a Mac that has just started.
const (
	runLimit      = 4 * time.Second
	profilerLimit = 10 * time.Second
	maxOutput     = 256 << 10 // bytes
)

// run runs a program that prints a few lines.
func run(ctx context.Context, runner sysexec.Runner, path string, args ...string) (sysexec.Result, error) {
	if runner == nil {
		return sysexec.Result{}, ErrNotLive
	}
	return runner.Run(ctx, sysexec.Command{Path: path, Args: args, Timeout: runLimit, MaxOutput: maxOutput})
}

// lineAfter returns the rest of the first line that begins with prefix, without
// surrounding spaces and the final full stop. found is false if there is no such line.
func lineAfter(out []byte, prefix string) (rest string, found bool) {
	for line := range strings.Lines(string(out)) {
		if rest, found = strings.CutPrefix(strings.TrimSpace(line), prefix); found {
			return strings.TrimSuffix(strings.TrimSpace(rest), "."), true
		}
	}
	return "", false
}
