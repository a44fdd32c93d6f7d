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
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/cgroup"
)

// cappedUnits watches only groups that were held back before: most machines have none.
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
	after, unseen := cgroup.Quotas(s.root)
	return capped(before, after, time.Since(began)).OrMore(cmp.Or(err, unseen))
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
	list = answer.InTurn(list, func(c capping) owner { return ownerOf(c.Group) })
	slices.SortStableFunc(list, func(a, b capping) int { return ownerOf(a.Group).rank - ownerOf(b.Group).rank })
	r := health.Reading{Value: float64(len(list))}
	for _, c := range list {
		r.Names = append(r.Names, fmt.Sprintf("%s (%s, waits %.0f %% of the time)", groupName(c.Group), humanize.Processors(c.Cores), c.percent))
	}
	if len(list) == 0 || ownerOf(list[0].Group).rank == ofUsers {
		return r
	}
	if unit := cgroup.Unit(list[0].Group); strings.HasSuffix(unit, ".service") {
		r.Object = unit
	}
	return r
}

// An owner is who has a group, and sets quotas below it as they like: those of one are told in turn with those of
// others, services of the system first and users last.
type owner struct {
	rank int
	name string
}

const (
	ofSystem = iota
	ofOthers
	ofUsers
)

func ownerOf(group string) owner {
	parts := strings.SplitN(group+"//", "/", 4) // also of a path that has fewer
	_, user := cgroup.User(group)
	switch top := parts[1]; {
	case user:
		return owner{ofUsers, parts[2]}
	case top == "", top == "system.slice":
		return owner{ofSystem, parts[2]}
	default:
		return owner{ofOthers, top}
	}
}

// groupName is the unit of a group, or else its own name, which whoever made it has chosen.
func groupName(group string) string {
	if group == "/" {
		return "this container"
	}
	return cmp.Or(cgroup.ShownUnit(group), sanitize.Quoted(path.Base(group), 64))
}
