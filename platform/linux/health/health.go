// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package health reads the facts of the health domain on Linux.
package health

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/health"
	domain "sentinel/internal/processes"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sysfs"
	"sentinel/platform/linux/systemd"
	"sentinel/platform/linux/updates"
	"sentinel/platform/linux/virt"
)

// tick is USER_HZ, the unit of /proc/stat.
const tick = 10 * time.Millisecond

// source reads below a root directory; "/" is the live system.
type source struct {
	root   string
	proc   procfs.FS
	mounts *mounts.FS
	meter  *groupMeter
	looked *look
	table  *processes.Source
	runner sysexec.Runner // nil where no program may be run
	// inContainer reports whether the tree is that of a container. It is found out once: that takes six files.
	inContainer func() bool
}

// newSource returns one for root, which looks at the processes of table.
func newSource(root string, table *processes.Source) source {
	return source{
		root: root, proc: procfs.New(root), mounts: mounts.New(root), meter: &groupMeter{root: root}, looked: &look{}, table: table,
		inContainer: sync.OnceValue(func() bool { return virt.Container(root) != "" }),
	}
}

// errNotLive reports that a fact comes from the running kernel, which says nothing about another
// root.
var errNotLive = errors.New("the tree is not a live system")

// Sources returns the readers for root, which look at the processes of table. The file systems of a root other than "/" cannot be
// measured: statfs would answer for this machine.
func Sources(root string, table *processes.Source) health.Sources {
	s := newSource(root, table)
	if root == "/" {
		s.runner = sysexec.Host{}
	} else {
		s.mounts = s.mounts.WithStatfs(func(string) (mounts.Usage, error) { return mounts.Usage{}, errNotLive })
	}
	return s.sources()
}

func (s source) sources() health.Sources {
	return health.Sources{
		CPU: s.cpu, Load: s.load, Memory: s.memory, Limits: s.limits, Sensors: s.sensors, Disks: s.disks,
		Pressure: s.pressure, Uptime: s.uptime, OOMKills: s.oomKills, FailedUnits: s.failedUnits, Restarting: s.restarting, RebootRequired: s.rebootRequired,
		Counters: s.counters,
		Figures: map[string]health.Reader{
			health.ReadOnlyFileSystems: s.readOnly,
			health.ClockUnsynchronized: s.clockUnsynchronized,
			health.ClockOffset:         s.clockOffset,
			health.ClockBehind:         s.clockBehind,
			health.TimeServiceMissing:  s.timeServiceMissing,
			health.CappedUnits:         s.cappedUnits,
			health.ZombieProcesses:     s.zombies,
			health.FailedLogins:        s.failedLogins,
			health.FalseDaemons:        s.disguised(domain.Pretends),
			health.HiddenPrograms:      s.disguised(domain.Hides),
		},
	}
}

func (s source) cpu(context.Context) (health.CPUSample, error) {
	c, err := s.proc.CPU()
	if err != nil {
		return health.CPUSample{}, err
	}
	if s.inContainer() {
		sample, err := s.meter.sample(s.usableCores(len(c.Cores)))
		if err == nil {
			return sample, nil
		}
		if !s.isOwn("/proc/stat") {
			return health.CPUSample{}, errors.Join(errHostCPU, err)
		}
	}
	sample := health.CPUSample{All: health.CPUTimes(c.All), Own: ownTime(), Tick: tick, Waiting: c.Waiting, Tasks: c.Tasks}
	for _, core := range c.Cores {
		sample.Cores = append(sample.Cores, health.CPUTimes(core))
	}
	return sample, nil
}

// ownTime is the CPU time of this process (getrusage(2)).
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (s source) load(context.Context) (health.Load, error) {
	if s.inContainer() && !s.isOwn("/proc/loadavg") {
		return health.Load{}, errHostLoad
	}
	l, err := s.proc.LoadAverage()
	return health.Load(l), err
}

func (s source) memory(context.Context) (health.MemoryFacts, error) {
	m, err := s.proc.Memory()
	return health.MemoryFacts{Total: m.Total, Available: m.Available, SwapTotal: m.SwapTotal, SwapFree: m.SwapFree, Shared: m.Shared}, err
}

func (s source) limits(context.Context) (health.Limits, error) { return cgroup.Limits(s.root) }

func (s source) sensors(context.Context) ([]health.Sensor, error) { return sysfs.Sensors(s.root), nil }

// pressure prefers the pressure files of the container's own group, which the root group of a
// machine does not have: /proc/pressure covers the whole machine.
func (s source) pressure(context.Context) (map[string]health.PressureFacts, error) {
	facts := map[string]health.PressureFacts{}
	for _, resource := range []string{"cpu", "memory", "io"} {
		p, err := procfs.ReadPressure(filepath.Join(s.root, "sys", "fs", "cgroup", resource+".pressure"))
		if err != nil && s.inContainer() && !s.isOwn("/proc/pressure/"+resource) {
			return nil, errHostPressure
		}
		if err != nil {
			p, err = s.proc.Pressure(resource)
		}
		if err != nil {
			return nil, err
		}
		f := health.PressureFacts{Some: averages(p.Some)}
		if p.Full != nil {
			f.Full = averages(*p.Full)
		}
		facts[resource] = f
	}
	return facts, nil
}

func averages(s procfs.Stall) *health.Averages {
	return &health.Averages{Avg10: s.Avg10, Avg60: s.Avg60}
}

func (s source) uptime(context.Context) (time.Duration, error) {
	seconds, err := s.proc.Uptime()
	return time.Duration(seconds * float64(time.Second)), err
}

func (s source) failedUnits(ctx context.Context) ([]health.Unit, error) {
	return systemd.FailedUnits(ctx, s.root)
}

func (s source) restarting(ctx context.Context) ([]health.RestartingUnit, error) {
	return systemd.RestartingUnits(ctx, s.root)
}

func (s source) rebootRequired(context.Context) (bool, error) {
	release, err := s.proc.KernelRelease()
	if err != nil {
		return false, err
	}
	return updates.RebootRequired(s.root, release)
}
