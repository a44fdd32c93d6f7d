// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
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
	table, err := s.table.Recent(ctx)
	if err != nil {
		return health.Reading{}, err
	}
	return missingTimeService(table)
}

func missingTimeService(table []procfs.Process) (health.Reading, error) {
	isInit := func(p procfs.Process) bool { return p.PID == 1 }
	isService := func(p procfs.Process) bool { return slices.Contains(timeServices, p.Name) }
	switch {
	case slices.ContainsFunc(table, isService):
		return health.Reading{}, nil
	case !slices.ContainsFunc(table, isInit):
		return health.Reading{}, errHidden
	default:
		return health.Reading{Value: 1}, nil
	}
}
