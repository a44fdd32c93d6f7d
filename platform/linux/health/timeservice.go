// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sentinel/internal/health"
	"sentinel/platform/linux/procfs"
)

// timeServices are the names, as the kernel has them (at most 15 bytes), of programs that set the
// clock: time daemons, and the tools of hypervisors that pass on their host's time.
var timeServices = []string{
	"systemd-timesyn", "chronyd", "ntpd", "ntpd-rs", "ntp-daemon", "timed", "ptp4l", "phc2sys", "ts2phc", "timemaster",
	"vmtoolsd", "VBoxService", "prltoolsd", "xe-daemon",
}

var errHostClock = errors.New("a container has the clock of its host")

// timeServiceMissing needs the whole table of processes: what is hidden could be the service.
func (s source) timeServiceMissing(ctx context.Context) (health.Reading, error) {
	if s.inContainer() {
		return health.Reading{}, errHostClock
	}
	c, err := s.clock()
	if err != nil || c.synchronized {
		return health.Reading{}, err
	}
	table, unread, err := s.table.Recent(ctx)
	if err != nil {
		return health.Reading{}, err
	}
	r, err := missingTimeService(table, s.table.Daemon)
	if err == nil && r.Value > 0 && unread != nil {
		return health.Reading{}, unread
	}
	return r, err
}

// A judge says whether a process is a daemon of the system with one of the names.
type judge func(p procfs.Process, names []string) (bool, error)

func missingTimeService(table []procfs.Process, is judge) (health.Reading, error) {
	isInit := func(p procfs.Process) bool { return p.PID == 1 }
	found, err := runs(table, timeServices, is)
	switch {
	case found:
		return health.Reading{}, nil
	case err != nil:
		return health.Reading{}, err
	case !slices.ContainsFunc(table, isInit):
		return health.Reading{}, errHidden
	default:
		return health.Reading{Value: 1}, nil
	}
}

// runs looks for a daemon of the system. Whoever calls a process so has not started one; the error says that
// one of them was not looked at, and none of the others is one.
func runs(table []procfs.Process, names []string, is judge) (found bool, err error) {
	for _, p := range table {
		if !slices.Contains(names, p.Name) {
			continue
		}
		found, unread := is(p, names)
		if found {
			return true, nil
		}
		err = cmp.Or(err, unread)
	}
	return false, err
}
