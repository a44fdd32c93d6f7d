// SPDX-License-Identifier: Apache-2.0

// Package mount reads what mount(8) prints. Its words do not follow the language of
// the user.
package mount

import (
	"context"
	"errors"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// Program is what prints the table of mounts.
const Program = "/sbin/mount"

const (
	limit     = 1400 * time.Millisecond
	waitDelay = 50 * time.Millisecond
)

// ErrNone reports output without a mount.
var ErrNone = errors.New("mount printed no file system")

// A Key identifies a mount.
type Key struct{ Device, Mountpoint string }

// An Entry is the description of a file system.
type Entry struct {
	Kind     string // "apfs"
	ReadOnly bool
	Local    bool // on a device of this machine
}

// A Table has all mounts.
type Table map[Key]Entry

// Read runs mount once.
func Read(ctx context.Context, runner sysexec.Runner) (Table, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: Program, Timeout: limit, WaitDelay: waitDelay})
	if err != nil {
		return nil, err
	}
	table := Parse(r.Stdout)
	if len(table) == 0 {
		return nil, ErrNone
	}
	return table, nil
}

// Parse reads "/dev/disk1s1 on /Volumes/My disk (apfs, local, read-only)".
func Parse(raw []byte) Table {
	mounts := Table{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		device, rest, found := strings.Cut(line, " on ")
		begin := strings.LastIndex(rest, " (")
		options, closed := strings.CutSuffix(rest[max(begin, 0):], ")")
		if !found || begin < 0 || !closed {
			continue
		}
		words := strings.Split(strings.TrimPrefix(options, " ("), ", ")
		m := Entry{Kind: words[0]}
		for _, word := range words[1:] {
			m.ReadOnly = m.ReadOnly || word == "read-only"
			m.Local = m.Local || word == "local"
		}
		mounts[Key{device, rest[:begin]}] = m
	}
	return mounts
}
