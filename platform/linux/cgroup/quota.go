// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxQuotaGroups bounds how many groups are looked at for a quota.
const maxQuotaGroups = 2048

// ErrTooManyGroups reports that not all groups were looked at.
var ErrTooManyGroups = errors.New("there are more than 2048 control groups")

// A Quota is the processor limit of one control group.
type Quota struct {
	Group     string        // as in /proc/PID/cgroup; "/" is that of the container
	Cores     float64       // limit
	Throttled time.Duration // that its processors waited for the next period, since it was made
}

// Quotas lists the groups below root that have a processor limit and were held back by it before
// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst). Beside
// ErrTooManyGroups there are those that were found.
func Quotas(root string) ([]Quota, error) {
	top, read := quotaReader(root)
	var list []Quota
	groups := 0
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == top:
			return err
		case err != nil || !entry.IsDir():
			return nil //nolint:nilerr // a group that is gone meanwhile
		}
		if groups++; groups > maxQuotaGroups {
			return ErrTooManyGroups
		}
		if q, ok := read(path); ok {
			q.Group = filepath.Join("/", path[len(top):])
			list = append(list, q)
		}
		return nil
	})
	return list, err
}

// quotaReader returns where the groups with processor limits are, and how to read one.
func quotaReader(root string) (string, func(dir string) (Quota, bool)) {
	dir := filepath.Join(root, "sys", "fs", "cgroup")
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
		return dir, quotaOf
	}
	top := filepath.Join(dir, "cpu")
	if to, err := filepath.EvalSymlinks(top); err == nil { // systemd mounts it as cpu,cpuacct; a walk follows no link
		top = to
	}
	return top, legacyQuotaOf
}

func quotaOf(dir string) (Quota, bool) {
	var q Quota
	if err := read(dir, "cpu.max", func(b []byte) error { return parseCPUMax(b, &q.Cores) }); err != nil || q.Cores == 0 {
		return Quota{}, false
	}
	err := read(dir, "cpu.stat", func(b []byte) error {
		if d := duration(b, "throttled_usec"); d != nil {
			q.Throttled = *d
		}
		return nil
	})
	return q, err == nil && q.Throttled > 0
}

// legacyQuotaOf reads control groups v1, whose times are in nanoseconds.
func legacyQuotaOf(dir string) (Quota, bool) {
	var q Quota
	err := errors.Join(legacyCores(dir, &q.Cores), read(dir, "cpu.stat", func(b []byte) error {
		throttled, err := parseStat(b, "throttled_time")
		q.Throttled = time.Duration(throttled)
		return err
	}))
	if err != nil || q.Cores == 0 || q.Throttled <= 0 {
		return Quota{}, false
	}
	return q, true
}
