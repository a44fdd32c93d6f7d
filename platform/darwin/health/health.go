// SPDX-License-Identifier: Apache-2.0

// Package health gives the health domain its facts on macOS. What macOS does
// not have (pressure stall information, a count of processes killed for want of memory, control
// groups, a list of failed services) has no source and is absent from the answer.
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

// A Mac is what the facts are read from.
type Mac struct {
	Runner sysexec.Runner
	EUID   int    // effective user of this run
	Own    string // path of this program; see package sensors
	Now    func() time.Time
}

// names of the kernel's values that the facts rest on, read with one run. What not
// every Mac has comes last: a sysctl that stops at it has told the rest.
var names = []string{
	"hw.memsize", "hw.logicalcpu",
	"kern.boottime", "vm.loadavg", "vm.swapusage", "kern.memorystatus_vm_pressure_level", "hw.optional.arm64",
}

// Sources returns the readers. They are good for one answer: the values of the
// kernel are read once.
func Sources(m Mac) health.Sources {
	s := &source{Mac: m}
	heat := thermal.Reader{Runner: m.Runner, Own: m.Own, Root: m.EUID == 0, AppleSilicon: s.appleSilicon}
	return health.Sources{
		CPU: s.cpu, Load: s.load, Memory: s.memory, Sensors: heat.Sensors, Thermal: heat.Pressure,
		Disks: s.disks, Uptime: s.uptime,
		Figures: map[string]health.Reader{
			health.ReadOnlyFileSystems: s.readOnly,
			health.ClockUnsynchronized: clockUntold,
			health.ClockOffset:         clockUntold,
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

// kernel reads the values for whoever asks first; the others wait.
func (s *source) kernel(ctx context.Context) (sysctl.Values, error) {
	s.once.Do(func() { s.values, s.err = sysctl.Read(ctx, s.Runner, names...) })
	return s.values, s.err
}

// appleSilicon is false where it is not known: then what is only there on Intel
// is tried, and fails.
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

// memory counts as available what is not in use by [vmstat.Memory.Used], which
// is how Activity Monitor counts. Swap that cannot be read leaves memory without an answer too:
// the two are one fact.
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
	swap, used, err := values.Swap()
	if err != nil {
		return health.MemoryFacts{}, err
	}
	return health.MemoryFacts{
		Total: total, Available: total - min(m.Used(), total), SwapTotal: swap, SwapFree: swap - used, SwapGrows: true,
		Pressure: pressure(values),
	}, nil
}

// pressure names the levels of <sys/event.h> NOTE_MEMORYSTATUS_PRESSURE_NORMAL,
// _WARN and _CRITICAL less their bits, as kern.memorystatus_vm_pressure_level tells them.
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

// cores is 0 when it is not known.
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

// failed says how a program ended that should have ended well.
func failed(program string, r sysexec.Result) error {
	return fmt.Errorf("%s ended with status %d", program, r.Exit)
}
