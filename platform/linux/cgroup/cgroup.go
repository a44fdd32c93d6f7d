// SPDX-License-Identifier: Apache-2.0

// Package cgroup reads the resource limits and the use of a container.
//
// A container sees its own control group at /sys/fs/cgroup (through its cgroup namespace or a bind
// mount), while the real root group has no limit files (v2) or unlimited ones (v1). So the files at
// the mount point are the limits of the container, and a machine outside a container has none.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
)

// ErrFormat reports a file that does not have its documented form.
var ErrFormat = errors.New("cgroup: unexpected format")

const (
	// unlimited is the threshold from which a v1 limit means none: v1 reports the largest page-aligned
	// signed number.
	unlimited = 1 << 62
	// unlimited32 is what a kernel of 32 bits reports: it counts as many pages as its long holds, of 4 KiB
	// (PAGE_COUNTER_MAX in include/linux/page_counter.h).
	unlimited32 = (1<<31 - 1) << 12
)

// Limits reads the limits below root. A machine without limits yields the zero Limits and no error.
func Limits(root string) (health.Limits, error) {
	dir := filepath.Join(root, "sys", "fs", "cgroup")
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
		return unified(dir)
	}
	return legacy(dir)
}

// unified reads control groups v2 (Documentation/admin-guide/cgroup-v2.rst).
func unified(dir string) (health.Limits, error) {
	l := health.Limits{Version: 2}
	err := errors.Join(
		read(dir, "memory.max", func(b []byte) error { return parseMax(b, &l.MemoryMax) }),
		read(dir, "cpu.max", func(b []byte) error { return parseCPUMax(b, &l.CPUs) }),
	)
	if err != nil || l.MemoryMax == 0 {
		return l, err
	}
	l.MemoryUsed, err = memoryUsed(filepath.Join(dir, "memory.current"), filepath.Join(dir, "memory.stat"), "inactive_file")
	return l, err
}

// CPUTime reads the processor time that all processes of the container have used. It fails with
// [fs.ErrNotExist] where the group of the container is not what is mounted.
func CPUTime(root string) (used time.Duration, err error) {
	legacy := func(b []byte) error {
		var n int64
		err := parseSigned(b, &n)
		used = time.Duration(n)
		return err
	}
	err = firstOf(filepath.Join(root, "sys", "fs", "cgroup"), unifiedCPUTime(&used), choice{"cpuacct/cpuacct.usage", legacy})
	return used, err
}

// UnifiedCPUTime is [CPUTime] of control groups v2 alone, where the group of a container is told from that of the host.
func UnifiedCPUTime(root string) (used time.Duration, err error) {
	err = firstOf(filepath.Join(root, "sys", "fs", "cgroup"), unifiedCPUTime(&used))
	return used, err
}

func unifiedCPUTime(to *time.Duration) choice {
	return choice{"cpu.stat", func(b []byte) error {
		n, err := parseStat(b, "usage_usec")
		*to = time.Duration(n) * time.Microsecond
		return err
	}}
}

// OOMKills reads how many processes of the container the kernel killed for want of memory.
func OOMKills(root string) (kills uint64, err error) {
	parse := func(b []byte) error {
		kills, err = parseStat(b, "oom_kill")
		return err
	}
	dir := filepath.Join(root, "sys", "fs", "cgroup")
	return kills, firstOf(dir, choice{"memory.events", parse}, choice{"memory/memory.oom_control", parse})
}

// A choice is a file and how it is read.
type choice struct {
	name  string
	parse func([]byte) error
}

// firstOf reads the first of the files that is there. The root of a unified hierarchy has no
// cgroup.events, and is that of the host.
func firstOf(dir string, choices ...choice) (err error) {
	_, unified := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	if _, err := os.Stat(filepath.Join(dir, "cgroup.events")); unified == nil && err != nil {
		return err
	}
	for _, c := range choices {
		var raw []byte
		raw, err = os.ReadFile(filepath.Join(dir, c.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = c.parse(raw)
		}
		break
	}
	return err
}

// legacy reads control groups v1 (Documentation/admin-guide/cgroup-v1/memory.rst).
func legacy(dir string) (health.Limits, error) {
	l := health.Limits{Version: 1}
	memory := filepath.Join(dir, "memory")
	err := errors.Join(
		read(memory, "memory.limit_in_bytes", func(b []byte) error { return parseMax(b, &l.MemoryMax) }),
		legacyCores(filepath.Join(dir, "cpu"), &l.CPUs),
	)
	if err != nil || l.MemoryMax == 0 {
		return l, err
	}
	l.MemoryUsed, err = legacyMemoryUsed(memory)
	return l, err
}

// read parses a file; a missing file sets no limit.
func read(dir, name string, parse func([]byte) error) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := parse(raw); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// memoryUsed returns the memory that counts against a limit: the usage less the file cache that the
// kernel reclaims first, as container tools show it.
func memoryUsed(current, stat, cacheKey string) (uint64, error) {
	raw, err := os.ReadFile(current)
	if err != nil {
		return 0, err
	}
	total, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", current, ErrFormat)
	}
	raw, err = os.ReadFile(stat)
	if err != nil {
		return 0, err
	}
	cache, err := parseStat(raw, cacheKey)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", stat, err)
	}
	return total - min(total, cache), nil
}

// parseStat finds one "key value" line. Without subtracting the cache the usage could look twice as
// high, so a missing key is an error.
func parseStat(b []byte, key string) (uint64, error) {
	for line := range bytes.Lines(b) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		name, value, _ := strings.Cut(string(line), " ")
		if name != key || !whole {
			continue
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			return n, nil
		}
		break
	}
	return 0, fmt.Errorf("%s: %w", key, ErrFormat)
}

// parseMax parses a byte limit; "max" and the huge number of v1 mean no limit.
func parseMax(b []byte, to *uint64) error {
	s := strings.TrimSpace(string(b))
	if s == "max" {
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return ErrFormat
	}
	if n < unlimited && n != unlimited32 {
		*to = n
	}
	return nil
}

// parseCPUMax parses "QUOTA PERIOD" in microseconds; the quota may be "max".
func parseCPUMax(b []byte, to *float64) error {
	quota, period, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if quota == "max" {
		return nil
	}
	q, err := strconv.ParseUint(quota, 10, 63)
	p, perr := strconv.ParseUint(period, 10, 63)
	if err != nil || perr != nil || p == 0 {
		return ErrFormat
	}
	*to = float64(q) / float64(p)
	return nil
}

func parseSigned(b []byte, to *int64) error {
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return ErrFormat
	}
	*to = n
	return nil
}
