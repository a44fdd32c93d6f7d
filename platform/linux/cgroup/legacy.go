// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// holders are the hierarchies of control groups v1 that may hold the processes of a group: those of
// systemd, which limit nothing, and where it does not run those of the resources.
var holders = []string{"unified", "systemd", "memory", "pids", "cpu"}

// legacyUse reads control groups v1, where each resource has a hierarchy of its own
// (Documentation/admin-guide/cgroup-v1). A group is only in those by which it is accounted.
func legacyUse(dir, group string) (u Usage, err error) {
	in := func(hierarchy string) string { return filepath.Join(dir, hierarchy, group) }
	for _, hierarchy := range holders {
		if u.PIDs, err = processesOf(in(hierarchy)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return Usage{}, err
	}
	if group == "/" { // what is in it is of the whole machine; the unified one has no such files
		return u, nil
	}
	if used, err := legacyMemoryUsed(in("memory")); err == nil {
		u.Memory = &used
	}
	err = errors.Join(
		read(in("memory"), "memory.limit_in_bytes", func(b []byte) error { return parseMax(b, &u.MemoryLimit) }),
		legacyCores(in("cpu"), &u.CPULimit),
		read(in("cpu"), "cpu.stat", func(b []byte) error {
			if n, err := parseStat(b, "throttled_time"); err == nil {
				u.Throttled = new(time.Duration(n))
			}
			return nil
		}),
		read(in("cpuacct"), "cpuacct.usage", func(b []byte) error {
			var n int64
			err := parseSigned(b, &n)
			u.CPU = new(time.Duration(n))
			return err
		}),
		u.tasks(in("pids")),
	)
	return u, err
}

// legacyMemoryUsed is [memoryUsed] of a group and those below it.
func legacyMemoryUsed(dir string) (uint64, error) {
	return memoryUsed(filepath.Join(dir, "memory.usage_in_bytes"), filepath.Join(dir, "memory.stat"), "total_inactive_file")
}

// legacyCores reads the processor limit of a group; it stays 0 where there is none.
func legacyCores(dir string, to *float64) error {
	var quota, period int64
	err := errors.Join(
		read(dir, "cpu.cfs_quota_us", func(b []byte) error { return parseSigned(b, &quota) }),
		read(dir, "cpu.cfs_period_us", func(b []byte) error { return parseSigned(b, &period) }),
	)
	if quota > 0 && period > 0 {
		*to = float64(quota) / float64(period)
	}
	return err
}
