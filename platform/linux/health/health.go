// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package health gives the health domain its facts on Linux.
package health

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"time"

	"sentinel/internal/health"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sysfs"
	"sentinel/platform/linux/systemd"
	"sentinel/platform/linux/updates"
)

// tick is USER_HZ, the unit of /proc/stat.
const tick = 10 * time.Millisecond

// vitals reads below a root directory; "/" is the live system.
type vitals struct {
	root   string
	proc   procfs.FS
	mounts *mounts.FS
}

// errNotLive says that nobody can be asked how full a file system is.
var errNotLive = errors.New("the tree is no live system")

// Sources returns the readers for root. Another root has no kernel behind it,
// so its file systems cannot be measured: the paths would be those of this machine.
func Sources(root string) health.Sources {
	v := vitals{root: root, proc: procfs.New(root), mounts: mounts.New(root)}
	if root != "/" {
		v.mounts = v.mounts.WithStatfs(func(string) (mounts.Usage, error) { return mounts.Usage{}, errNotLive })
	}
	return v.sources()
}

func (v vitals) sources() health.Sources {
	return health.Sources{
		CPU: v.cpu, Load: v.load, Memory: v.memory, Limits: v.limits, Sensors: v.sensors, Disks: v.disks,
		Pressure: v.pressure, Uptime: v.uptime, OOMKills: v.oomKills, FailedUnits: v.failedUnits, RebootRequired: v.rebootRequired,
	}
}

func (v vitals) cpu(context.Context) (health.CPUSample, error) {
	c, err := v.proc.CPU()
	if err != nil {
		return health.CPUSample{}, err
	}
	s := health.CPUSample{All: health.CPUTimes(c.All), Own: ownTime(), Tick: tick}
	for _, core := range c.Cores {
		s.Cores = append(s.Cores, health.CPUTimes(core))
	}
	return s, nil
}

// ownTime is the CPU time of this process (getrusage(2)).
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (v vitals) load(context.Context) (health.Load, error) {
	l, err := v.proc.LoadAverage()
	return health.Load(l), err
}

func (v vitals) memory(context.Context) (health.MemoryFacts, error) {
	m, err := v.proc.Memory()
	return health.MemoryFacts{Total: m.Total, Available: m.Available, SwapTotal: m.SwapTotal, SwapFree: m.SwapFree}, err
}

func (v vitals) limits(context.Context) (health.Limits, error) { return cgroup.Limits(v.root) }

func (v vitals) sensors(context.Context) ([]health.Sensor, error) { return sysfs.Sensors(v.root), nil }

// pressure prefers the pressure files of the container's own group, which a
// machine does not have at the mount point: /proc/pressure is the whole machine.
func (v vitals) pressure(context.Context) (map[string]health.PressureFacts, error) {
	facts := map[string]health.PressureFacts{}
	for _, resource := range []string{"cpu", "memory", "io"} {
		p, err := procfs.ReadPressure(filepath.Join(v.root, "sys", "fs", "cgroup", resource+".pressure"))
		if err != nil {
			p, err = v.proc.Pressure(resource)
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

func (v vitals) uptime(context.Context) (time.Duration, error) {
	seconds, err := v.proc.Uptime()
	return time.Duration(seconds * float64(time.Second)), err
}

func (v vitals) oomKills(context.Context) (uint64, error) { return v.proc.OOMKills() }

func (v vitals) failedUnits(ctx context.Context) ([]health.Unit, error) {
	return systemd.FailedUnits(ctx, v.root)
}

func (v vitals) rebootRequired(context.Context) (bool, error) {
	release, err := v.proc.KernelRelease()
	if err != nil {
		return false, err
	}
	return updates.RebootRequired(v.root, release)
}
