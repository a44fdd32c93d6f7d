// SPDX-License-Identifier: Apache-2.0

// Package vmstat reads the memory usage of macOS from vm_stat(1).
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

// program is the path of vm_stat.
const program = "/usr/bin/vm_stat"

const (
	limit     = 2500 * time.Millisecond // less than health's deadline for a fact
	waitDelay = 200 * time.Millisecond  // a program that only prints is not worth waiting for
)

// Memory holds the sizes of the kinds of pages, in bytes.
type Memory struct {
	Free, Active, Inactive, Speculative, Wired, Purgeable uint64
	// FileBacked and Anonymous divide the active, inactive and speculative pages. Compressor is the
	// space that compressed memory takes.
	FileBacked, Anonymous, Compressor uint64
}

// Used returns the memory that cannot be reclaimed without swapping or compressing: anonymous pages
// less purgeable ones, wired pages, and the compressor. This is "Memory Used" of Activity Monitor
// (App Memory, Wired Memory and Compressed); it excludes the file cache.
func (m Memory) Used() uint64 {
	return m.Anonymous - min(m.Purgeable, m.Anonymous) + m.Wired + m.Compressor
}

// Read runs vm_stat once.
func Read(ctx context.Context, runner sysexec.Runner) (Memory, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Timeout: limit, WaitDelay: waitDelay})
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
	errRows = errors.New("vm_stat did not print all of its rows")
)

// parse reads page counts; the page size is in the first line: 4 KiB on Intel and 16 KiB on Apple
// silicon.
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
