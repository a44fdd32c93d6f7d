// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// maxProcesses and maxGroups bound how much of a group is walked.
	maxProcesses = 4096
	maxGroups    = 256
)

// A Usage is what the processes of one group below the root use; nil is unknown, and a limit of zero
// is none. Limits of groups above it are not counted.
type Usage struct {
	PIDs        []int // of it and of the groups below it
	Memory      *uint64
	MemoryLimit uint64
	CPU         *time.Duration
	CPULimit    float64        // cores
	Throttled   *time.Duration // that it waited because of CPULimit
	Tasks       *uint64
	TasksLimit  uint64
}

// Use reads the group named as in /proc/PID/cgroup, such as /system.slice/nginx.service, below root.
func Use(root, group string) (Usage, error) {
	dir := filepath.Join(root, "sys", "fs", "cgroup")
	group = filepath.Join("/", group)
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
		return unifiedUse(filepath.Join(dir, group))
	}
	return legacyUse(dir, group)
}

// unifiedUse reads control groups v2 (Documentation/admin-guide/cgroup-v2.rst).
func unifiedUse(dir string) (u Usage, err error) {
	if u.PIDs, err = processesOf(dir); err != nil {
		return Usage{}, err
	}
	if used, err := memoryUsed(filepath.Join(dir, "memory.current"), filepath.Join(dir, "memory.stat"), "inactive_file"); err == nil {
		u.Memory = &used
	}
	err = errors.Join(
		read(dir, "memory.max", func(b []byte) error { return parseMax(b, &u.MemoryLimit) }),
		read(dir, "cpu.max", func(b []byte) error { return parseCPUMax(b, &u.CPULimit) }),
		read(dir, "cpu.stat", func(b []byte) error {
			u.CPU, u.Throttled = duration(b, "usage_usec"), duration(b, "throttled_usec")
			return nil
		}),
		u.tasks(dir),
	)
	return u, err
}

// tasks reads the controller pids, which is the same in both versions.
func (u *Usage) tasks(dir string) error {
	var tasks uint64
	return errors.Join(
		read(dir, "pids.max", func(b []byte) error { return parseMax(b, &u.TasksLimit) }),
		read(dir, "pids.current", func(b []byte) error { u.Tasks = &tasks; return parseMax(b, &tasks) }),
	)
}

// duration reads a time in microseconds; nil where there is none.
func duration(b []byte, key string) *time.Duration {
	n, err := parseStat(b, key)
	if err != nil {
		return nil
	}
	d := time.Duration(n) * time.Microsecond
	return &d
}

// processesOf lists the processes of a group and of those below it.
func processesOf(dir string) ([]int, error) {
	pids, groups := []int{}, 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil || !entry.IsDir():
			return nil //nolint:nilerr // a group that is gone meanwhile
		}
		if groups++; groups > maxGroups || len(pids) >= maxProcesses {
			return filepath.SkipAll
		}
		raw, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil //nolint:nilerr // gone, or a threaded group, whose processes are above it
		}
		for word := range strings.FieldsSeq(string(raw)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 && len(pids) < maxProcesses {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, err
}
