// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// How many groups are looked at for a quota: of the system, of all users, and of one user, to whom systemd
// leaves the groups below their slice.
const (
	maxQuotaGroups = 2048
	maxQuotaOfUser = 512
)

// ErrTooManyGroups reports that not all groups were looked at.
var ErrTooManyGroups = errors.New("there are more control groups than are looked at: 2048 of the system and of users each, 512 of one user")

// A Quota is the processor limit of one control group.
type Quota struct {
	Group     string        // as in /proc/PID/cgroup; "/" is that of the container
	Cores     float64       // limit
	Throttled time.Duration // that its processors waited for the next period, since it was made
}

// userSlice has a slice of each user in it (systemd.special(7)).
const userSlice = "user.slice"

// Quotas lists the groups below root that have a processor limit and were held back by it before
// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst), those of the system
// first. Beside ErrTooManyGroups there are those that were found.
func Quotas(root string) ([]Quota, error) {
	top, read := quotaReader(root)
	w := quotaWalk{top: top, read: read}
	users := filepath.Join(top, userSlice)
	_, err := w.below(top, maxQuotaGroups, users)
	if err != nil && !errors.Is(err, ErrTooManyGroups) {
		return w.list, err
	}
	return w.list, errors.Join(err, w.ofUsers(users))
}

// A quotaWalk collects groups.
type quotaWalk struct {
	top  string
	read func(dir string) (Quota, bool)
	list []Quota
}

// below looks at a group and those below it, but for what is in one of them.
func (w *quotaWalk) below(dir string, most int, without string) (groups int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == w.top:
			return err
		case err != nil || !entry.IsDir():
			return nil //nolint:nilerr // a group that is gone meanwhile
		case groups == most:
			return ErrTooManyGroups
		}
		groups++
		if q, ok := w.read(path); ok {
			q.Group = filepath.Join("/", path[len(w.top):])
			w.list = append(w.list, q)
		}
		if path == without {
			return fs.SkipDir
		}
		return nil
	})
	return groups, err
}

// ofUsers looks at the slices of users, none of whom takes the room of the others.
func (w *quotaWalk) ofUsers(dir string) error {
	slices, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // there is none without systemd
	}
	left := maxQuotaGroups
	for _, s := range slices {
		if !s.IsDir() {
			continue
		}
		groups, cut := w.below(filepath.Join(dir, s.Name()), min(left, maxQuotaOfUser), "")
		left -= groups
		err = cmp.Or(err, cut)
	}
	return err
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
