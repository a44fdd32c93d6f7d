// SPDX-License-Identifier: Apache-2.0

// Package health reads the facts of the health domain on macOS. Facts that macOS does not have
// (pressure stall information, a count of OOM kills, control groups, a list of failed services)
// have no source and are absent from the answer.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/sysctl"
	"sentinel/platform/darwin/thermal"
	"sentinel/platform/darwin/vmstat"
)

// A Mac holds what the readers need.
type Mac struct {
	Runner     sysexec.Runner
	EUID       int    // effective user of this run
	Executable string // path of this program; see package sensors
	Now        func() time.Time
}

// kernelValues are the kernel values that the facts need, read with one run. Those that some Macs lack
// come last: a sysctl that stops at them has printed the rest.
var kernelValues = []string{
	"hw.memsize", "hw.logicalcpu",
	"kern.boottime", "vm.loadavg", "vm.swapusage", "kern.memorystatus_vm_pressure_level", "hw.optional.arm64",
}

// Sources returns the readers for a single report: the kernel values are read once.
func Sources(m Mac) health.Sources {
	s := &source{Mac: m}
	heat := thermal.Reader{Runner: m.Runner, Executable: m.Executable, Root: m.EUID == 0, AppleSilicon: s.appleSilicon}
	return health.Sources{
		CPU: s.cpu, Load: s.load, Memory: s.memory, Sensors: heat.Sensors, Thermal: heat.Pressure,
		Disks: s.disks, Uptime: s.uptime, Restarting: s.restarting,
		Figures: map[string]health.Reader{
			health.ReadOnlyFileSystems: s.readOnly,
			health.ClockUnsynchronized: clockUnknown,
			health.ClockOffset:         clockUnknown,
			health.ZombieProcesses:     s.zombies,
		},
	}
}

type source struct {
	Mac
	once    sync.Once
	values  sysctl.Values
	err     error
	topOnce sync.Once
	share   chan share // of the one run of top
}

// kernel reads the values on the first call; concurrent calls wait for it.
func (s *source) kernel(ctx context.Context) (sysctl.Values, error) {
	s.once.Do(func() { s.values, s.err = sysctl.Read(ctx, s.Runner, kernelValues...) })
	return s.values, s.err
}

// appleSilicon is false if it is unknown: then programs that work only on Intel are tried, and
// fail.
func (s *source) appleSilicon(ctx context.Context) bool {
	values, err := s.kernel(ctx)
	return err == nil && values["hw.optional.arm64"] == "1"
}

func (s *source) load(ctx context.Context) (health.Load, error) {
	values, err := s.kernel(ctx)
	if err != nil {
		return health.Load{}, err
	}
	l, err := values.LoadAverage()
	return health.Load{One: l[0], Five: l[1], Fifteen: l[2]}, err
}

var errPressure = errors.New("the kernel reports no known level in kern.memorystatus_vm_pressure_level")

// memory counts as available all memory that is not in [vmstat.Memory.Used], as Activity Monitor
// does.
func (s *source) memory(ctx context.Context) (health.MemoryFacts, error) {
	values, err := s.kernel(ctx)
	if err != nil {
		return health.MemoryFacts{}, err
	}
	total, err := values.Number("hw.memsize")
	if err != nil {
		return health.MemoryFacts{}, err
	}
	m, err := vmstat.Read(ctx, s.Runner)
	if err != nil {
		return health.MemoryFacts{}, err
	}
	facts := health.MemoryFacts{Total: total, Available: total - min(m.Used(), total), SwapGrows: true, Pressure: pressure(values)}
	if facts.Pressure == "" {
		facts.PressureErr = errPressure
	}
	swap, used, err := values.Swap()
	facts.SwapTotal, facts.SwapFree, facts.SwapErr = swap, swap-used, err
	return facts, nil
}

// pressure names the level in kern.memorystatus_vm_pressure_level: 1, 2 and 4 correspond to
// NOTE_MEMORYSTATUS_PRESSURE_NORMAL, _WARN and _CRITICAL of <sys/event.h>.
func pressure(values sysctl.Values) string {
	switch values["kern.memorystatus_vm_pressure_level"] {
	case "1":
		return health.PressureNormal
	case "2":
		return health.PressureWarning
	case "4":
		return health.PressureCritical
	default:
		return ""
	}
}

var errClock = errors.New("the clock is before the time at which the machine started")

func (s *source) uptime(ctx context.Context) (time.Duration, error) {
	values, err := s.kernel(ctx)
	if err != nil {
		return 0, err
	}
	boot, err := values.BootTime()
	if err != nil {
		return 0, err
	}
	up := s.Now().Sub(boot)
	if up < 0 {
		return 0, errClock
	}
	return up.Truncate(time.Second), nil
}

// cores returns the number of logical CPUs, or 0 if it is unknown.
func (s *source) cores(ctx context.Context) int {
	values, err := s.kernel(ctx)
	if err != nil {
		return 0
	}
	n, err := values.Number("hw.logicalcpu")
	if err != nil || n > 1<<16 {
		return 0
	}
	return int(n)
}

// failed reports the exit status of a program that should have succeeded.
func failed(program string, r sysexec.Result) error {
	return fmt.Errorf("%s ended with status %d", program, r.Exit)
}
