// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/health"
	"sentinel/platform/linux/cgroup"
)

// A container sees the processors, the load and the pressure of its host in /proc, which say nothing
// of the container.
var (
	errHostCPU      = errors.New("a container is shown the use of its host's processors, and its control group tells none")
	errHostLoad     = errors.New("a container is shown the load of its host; see pressure")
	errHostPressure = errors.New("a container is shown the waiting on its host, and its control group tells none")
)

// isOwn reports whether a file of /proc tells of the container itself because
// LXCFS has mounted its own over it.
func (s source) isOwn(file string) bool {
	table, err := s.mounts.Table()
	return err == nil && slices.ContainsFunc(table, func(m *mountinfo.Info) bool { return m.Mountpoint == file })
}

// A groupMeter measures the processor time of a container from its first sample on.
type groupMeter struct {
	root  string
	began time.Time
	used  time.Duration // at the first sample
}

// sample takes the limit of the container for all there is, or else the processors that it may use.
func (m *groupMeter) sample(cores int) (health.CPUSample, error) {
	used, err := cgroup.CPUTime(m.root)
	if err != nil {
		return health.CPUSample{}, err
	}
	limits, err := cgroup.Limits(m.root)
	if err != nil {
		return health.CPUSample{}, err
	}
	if m.began.IsZero() {
		m.began, m.used = time.Now(), used
	}
	capacity := float64(cores)
	if limits.CPUs > 0 {
		capacity = min(capacity, limits.CPUs)
	}
	total := time.Duration(float64(time.Since(m.began)) * capacity)
	idle := max(0, total-(used-m.used))
	return health.CPUSample{
		All: health.CPUTimes{Total: uint64(total), Idle: uint64(idle)}, Count: cores, Own: ownTime(), Tick: 1,
		Container: true, Used: used, Capacity: capacity,
	}, nil
}

// usableCores is how many processors this process may run on (sched_getaffinity(2)); of another tree
// that is not known.
func (s source) usableCores(all int) int {
	if s.root != "/" {
		return all
	}
	return min(all, runtime.NumCPU())
}
