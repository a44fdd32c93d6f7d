// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/internal/humanize"
	"sentinel/internal/sampling"
	"sentinel/platform/linux/cgroup"
)

// cappedUnits watches only groups that were held back before: most machines have none. What is found
// is told although not all could be looked at.
func (s source) cappedUnits(ctx context.Context) (health.Reading, error) {
	if s.root != "/" {
		return health.Reading{}, errNotLive
	}
	before, err := cgroup.Quotas(s.root)
	if len(before) == 0 {
		return health.Reading{}, err
	}
	began := time.Now()
	if err := sampling.Wait(ctx); err != nil {
		return health.Reading{}, err
	}
	after, err := cgroup.Quotas(s.root)
	r := capped(before, after, time.Since(began))
	if r.Value > 0 {
		return r, nil
	}
	return r, err
}

// A capping is a group with the share of the time that it waited, in percent.
type capping struct {
	cgroup.Quota
	percent float64
}

func capped(before, after []cgroup.Quota, over time.Duration) health.Reading {
	waited := map[string]time.Duration{}
	for _, q := range before {
		waited[q.Group] = q.Throttled
	}
	var list []capping
	for _, q := range after {
		earlier, known := waited[q.Group]
		// Each processor that the group wants counts for itself.
		percent := min(100, 100*float64(q.Throttled-earlier)/float64(over))
		if known && percent >= health.CappedShare {
			list = append(list, capping{q, percent})
		}
	}
	slices.SortFunc(list, func(a, b capping) int {
		return cmp.Or(cmp.Compare(b.percent, a.percent), cmp.Compare(a.Group, b.Group))
	})
	list, system := systemFirst(list)
	r := health.Reading{Value: float64(len(list))}
	for _, c := range list {
		r.Names = append(r.Names, fmt.Sprintf("%s (%s, waits %.0f %% of the time)", groupName(c.Group), humanize.Processors(c.Cores), c.percent))
	}
	if system == 0 {
		return r
	}
	if unit := cgroup.Unit(list[0].Group); strings.HasSuffix(unit, ".service") {
		r.Object = unit
	}
	return r
}

// systemFirst puts the groups of users behind the system's, of each user in turn: they set quotas as they like.
func systemFirst(list []capping) (sorted []capping, system int) {
	user := func(c capping) (uid int) {
		uid, _ = cgroup.User(c.Group)
		return uid
	}
	var users []capping
	for _, c := range list {
		if _, ok := cgroup.User(c.Group); ok {
			users = append(users, c)
		} else {
			sorted = append(sorted, c)
		}
	}
	return append(sorted, answer.InTurn(users, user)...), len(sorted)
}

// groupName is the unit of a group, or else its own name.
func groupName(group string) string {
	if group == "/" {
		return "this container"
	}
	return cmp.Or(cgroup.ShownUnit(group), path.Base(group))
}
