// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// maxQuotaGroups is how many groups are looked at for a quota: of the system's services, of users, and of
// all others.
const maxQuotaGroups = 2048

// ErrTooManyGroups reports that not all groups were looked at.
var ErrTooManyGroups = errors.New("there are more control groups than are looked at: 2048 of services of the system, of users and of others each")

// A Quota is the processor limit of one control group.
type Quota struct {
	Group     string        // as in /proc/PID/cgroup; "/" is that of the container
	Cores     float64       // limit
	Throttled time.Duration // that its processors waited for the next period, since it was made
}

// Slices at the top: of services of the system, and of users, with a slice of each in it (systemd.special(7)).
const (
	systemSlice = "system.slice"
	userSlice   = "user.slice"
)

// Quotas lists the groups below root that have a processor limit and were held back by it before
// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst). Beside ErrTooManyGroups there are
// those that were found.
func Quotas(root string) ([]Quota, error) {
	top, read := quotaReader(root)
	if _, err := os.ReadDir(top); err != nil {
		return nil, err
	}
	w := quotaWalk{top: top, read: read}
	system, users := filepath.Join(top, systemSlice), filepath.Join(top, userSlice)
	err := cmp.Or(w.below(w.within(system)), w.below([]string{top}, system, users), w.below(w.within(users)))
	return w.list, err
}

// A quotaWalk collects groups.
type quotaWalk struct {
	top  string
	read func(dir string) (Quota, bool)
	list []Quota
}

// siblings are groups that have a share each.
type siblings struct {
	share  float64
	groups []string
}

// below looks at groups and those below them, but for what is in some of them. Who may make groups makes any
// number, so each shares what it has with those in it, and those with the largest share come first: many groups
// keep out their own.
func (w *quotaWalk) below(groups []string, without ...string) error {
	pending := []siblings{{1, groups}}
	for range maxQuotaGroups {
		group, share := next(&pending)
		if group == "" {
			return nil
		}
		w.look(group)
		if within := w.within(group); len(within) > 0 && !slices.Contains(without, group) {
			pending = append(pending, siblings{share / float64(1+len(within)), within})
		}
	}
	if group, _ := next(&pending); group != "" {
		return ErrTooManyGroups
	}
	return nil
}

// next takes the first group of the largest share; "" is none.
func next(pending *[]siblings) (group string, share float64) {
	best := -1
	for i, s := range *pending {
		if len(s.groups) > 0 && (best < 0 || s.share > share) {
			best, share = i, s.share
		}
	}
	if best < 0 {
		return "", 0
	}
	of := &(*pending)[best]
	group, of.groups = of.groups[0], of.groups[1:]
	if len(of.groups) == 0 {
		*pending = slices.Delete(*pending, best, best+1)
	}
	return group, share
}

func (w *quotaWalk) look(group string) {
	if q, ok := w.read(group); ok {
		q.Group = filepath.Join("/", group[len(w.top):])
		w.list = append(w.list, q)
	}
}

// within lists the groups in a group. One that is gone meanwhile has none.
func (w *quotaWalk) within(group string) (list []string) {
	entries, _ := os.ReadDir(group) //nolint:errcheck // see above
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, filepath.Join(group, e.Name()))
		}
	}
	return list
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
