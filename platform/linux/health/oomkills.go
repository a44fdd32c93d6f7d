// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/health"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/cgroup"
)

var (
	errNoMoment = errors.New("a container is not told when; its host has them in its kernel's log")
	errOverrun  = errors.New("the kernel's log does not go back a day")
	errSlept    = errors.New("the machine was suspended since processes were killed for want of memory, and the kernel does not tell for how long")
)

// oomKills counts the processes that the kernel killed since boot. The counter does not tell when,
// so those of the last day are taken from the kernel's log, which may be for root alone.
func (s source) oomKills(ctx context.Context) (health.OOMKills, error) {
	if s.inContainer() {
		return s.oomKillsOfContainer()
	}
	total, err := s.proc.OOMKills()
	if err != nil {
		return health.OOMKills{}, err
	}
	kills := health.OOMKills{SinceBoot: total}
	if total == 0 {
		kills.LastDay = &total
		return kills, nil
	}
	up, err := s.uptime(ctx)
	if err == nil && up < health.Day {
		kills.LastDay = &total
	}
	log, err := readKernelLog(filepath.Join(s.root, "dev", "kmsg"))
	if err != nil {
		kills.Err = err
		return kills, nil
	}
	names, _ := accounts.Read(s.root) //nolint:errcheck // a user without a name is shown as a number
	now := s.sinceBoot(up)
	log.tell(now, up-now, &kills, func(k oomKill) health.OOMKill { return s.describe(k, names) })
	return kills, nil
}

// describe says whose process it was, and in which unit. What is in the slice of a user is named by that user, so
// that it tells nothing of a process of another.
func (s source) describe(k oomKill, names accounts.Names) health.OOMKill {
	told := health.OOMKill{Process: k.name, Unit: cgroup.ShownUnit(k.group)}
	if owner, users := cgroup.User(k.group); users && s.proc.UserOf(k.uid) != owner {
		told.Unit = ""
	}
	if k.uid >= 0 {
		told.User = names.Name(k.uid)
	}
	return told
}

// sinceBoot is the clock of the kernel's log, which stands still during suspend
// (clock_gettime(2), CLOCK_MONOTONIC). Another tree has its uptime alone.
func (s source) sinceBoot(up time.Duration) time.Duration {
	var now unix.Timespec
	if s.root != "/" || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return up
	}
	return time.Duration(now.Nano())
}

// oomKillsOfContainer counts those of the container's own control group, since that was made.
func (s source) oomKillsOfContainer() (health.OOMKills, error) {
	total, err := cgroup.OOMKills(s.root)
	if err != nil {
		return health.OOMKills{}, err
	}
	if total == 0 {
		return health.OOMKills{LastDay: &total}, nil
	}
	return health.OOMKills{SinceBoot: total, Err: errNoMoment}, nil
}
