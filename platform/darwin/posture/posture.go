// SPDX-License-Identifier: Apache-2.0

// Package posture reads how a Mac is protected: System Integrity Protection,
// the sealed system volume, Gatekeeper, FileVault, Secure Boot, XProtect and the
// firmware password.
//
// Each reader runs one program of macOS, or reads files below a root, and says
// why where it cannot tell. Each parser is apart and pure. What is not understood is an
// error: a sentence in another language, or one that a later macOS words otherwise, must never
// be taken for a protection that is on, nor for one that is off.
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
	// ErrNotLive says that there is only a tree of files, and no system to ask.
	ErrNotLive = errors.New("only a running system can be asked")
)

// ErrRoot says that only root is told. It is [fs.ErrPermission].
var ErrRoot = fmt.Errorf("only root is told: %w", fs.ErrPermission)

// Bounds of the programs: each prints some lines and takes less than a second,
// system_profiler up to two on a Mac that has just started.
const (
	limit         = 4 * time.Second
	profilerLimit = 10 * time.Second
	maxOutput     = 256 << 10 // bytes
)

// ask runs a program that prints a few lines.
func ask(ctx context.Context, runner sysexec.Runner, path string, args ...string) (sysexec.Result, error) {
	return askWithin(ctx, runner, limit, path, args...)
}

func askWithin(ctx context.Context, runner sysexec.Runner, within time.Duration, path string, args ...string) (sysexec.Result, error) {
	if runner == nil {
		return sysexec.Result{}, ErrNotLive
	}
	return runner.Run(ctx, sysexec.Command{Path: path, Args: args, Timeout: within, MaxOutput: maxOutput})
}

// after returns the rest of the first line that begins with prefix, without
// blanks around it and the full stop at its end. found is false when there is no such line.
func after(out []byte, prefix string) (rest string, found bool) {
	for line := range strings.Lines(string(out)) {
		if rest, found = strings.CutPrefix(strings.TrimSpace(line), prefix); found {
			return strings.TrimSuffix(strings.TrimSpace(rest), "."), true
		}
	}
	return "", false
}
