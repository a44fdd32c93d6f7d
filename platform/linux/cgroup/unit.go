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

// ErrLegacy reports control groups v1, where each resource has a hierarchy of its own.
var ErrLegacy = errors.New("control groups v1 are not read")

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

// Use reads the group named as in /proc/PID/cgroup, such as /system.slice/nginx.service, in the unified
// hierarchy below root (Documentation/admin-guide/cgroup-v2.rst).
func Use(root, group string) (Usage, error) {
	top, err := unifiedTop(root)
	if err != nil {
		return Usage{}, err
	}
	dir := filepath.Join(top, filepath.Join("/", group))
	var u Usage
	if u.PIDs, err = processesOf(dir); err != nil {
		return Usage{}, err
	}
	if used, err := memoryUsed(filepath.Join(dir, "memory.current"), filepath.Join(dir, "memory.stat"), "inactive_file"); err == nil {
		u.Memory = &used
	}
	var tasks uint64
	err = errors.Join(
		read(dir, "memory.max", func(b []byte) error { return parseMax(b, &u.MemoryLimit) }),
		read(dir, "cpu.max", func(b []byte) error { return parseCPUMax(b, &u.CPULimit) }),
		read(dir, "pids.max", func(b []byte) error { return parseMax(b, &u.TasksLimit) }),
		read(dir, "pids.current", func(b []byte) error { u.Tasks = &tasks; return parseMax(b, &tasks) }),
		read(dir, "cpu.stat", func(b []byte) error {
			u.CPU, u.Throttled = duration(b, "usage_usec"), duration(b, "throttled_usec")
			return nil
		}),
	)
	return u, err
}

// unifiedTop finds the unified hierarchy, which systemd mounts apart beside v1 groups.
func unifiedTop(root string) (string, error) {
	dir := filepath.Join(root, "sys", "fs", "cgroup")
	for _, top := range []string{dir, filepath.Join(dir, "unified")} {
		if _, err := os.Stat(filepath.Join(top, "cgroup.controllers")); err == nil {
			return top, nil
		}
	}
	return "", ErrLegacy
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
