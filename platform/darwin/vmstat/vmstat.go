// SPDX-License-Identifier: Apache-2.0

// Package vmstat reads how the memory of macOS is used from vm_stat(1).
package vmstat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// program is where macOS has vm_stat.
const program = "/usr/bin/vm_stat"

const (
	limit    = 2500 * time.Millisecond // less than health allows a fact
	patience = 200 * time.Millisecond  // a program that only prints is not worth waiting for
)

// Memory is what pages are used for, in bytes.
type Memory struct {
	Free, Active, Inactive, Speculative, Wired, Purgeable uint64
	// FileBacked and Anonymous divide what is active, inactive or speculative.
	// Compressor is what compressed memory takes.
	FileBacked, Anonymous, Compressor uint64
}

// Used is what cannot be given to another program without swapping or
// compressing: the memory of programs, less what they marked as not needed, what the kernel
// wired down, and what holds compressed memory. This is "Memory Used" of Activity Monitor (App
// Memory, Wired Memory and Compressed); the cache of files is not in it.
func (m Memory) Used() uint64 {
	return m.Anonymous - min(m.Purgeable, m.Anonymous) + m.Wired + m.Compressor
}

// Read asks vm_stat once.
func Read(ctx context.Context, runner sysexec.Runner) (Memory, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Timeout: limit, WaitDelay: patience})
	if err != nil {
		return Memory{}, err
	}
	if r.Exit != 0 {
		return Memory{}, fmt.Errorf("vm_stat ended with status %d", r.Exit)
	}
	return parse(r.Stdout)
}

var (
	errPage = errors.New("vm_stat printed no page size")
	errRows = errors.New("vm_stat printed not all of its rows")
)

// parse reads counts of pages, whose size is in the first line: 4 KiB on Intel
// and 16 KiB on Apple silicon.
func parse(raw []byte) (Memory, error) {
	header, rows, _ := strings.Cut(string(raw), "\n")
	_, size, _ := strings.Cut(header, "(page size of ")
	size, _, _ = strings.Cut(size, " bytes)")
	page, err := strconv.ParseUint(size, 10, 32)
	if err != nil || page == 0 {
		return Memory{}, errPage
	}
	var m Memory
	wanted := map[string]*uint64{
		"Pages free": &m.Free, "Pages active": &m.Active, "Pages inactive": &m.Inactive, "Pages speculative": &m.Speculative,
		"Pages wired down": &m.Wired, "Pages purgeable": &m.Purgeable, "File-backed pages": &m.FileBacked,
		"Anonymous pages": &m.Anonymous, "Pages occupied by compressor": &m.Compressor,
	}
	for line := range strings.Lines(rows) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		to, ok := wanted[name]
		if !ok {
			continue
		}
		pages, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), "."), 10, 64)
		if err != nil || pages > 1<<44 {
			return Memory{}, fmt.Errorf("vm_stat printed no number for %q", name)
		}
		*to = pages * page
		delete(wanted, name)
	}
	if len(wanted) > 0 {
		return Memory{}, errRows
	}
	return m, nil
}
