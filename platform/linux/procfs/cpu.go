// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
)

// CPUTimes is one cpu line of /proc/stat, in clock ticks (100 a second) since
// boot. Guest time is already inside User and Nice.
type CPUTimes struct {
	Total  uint64 // all states
	Idle   uint64 // idle and iowait
	Stolen uint64 // taken by other virtual machines of the host
}

// CPU holds the cpu lines of /proc/stat: the total and each online core, in order.
type CPU struct {
	All     CPUTimes
	Cores   []CPUTimes
	Waiting uint64 // of all cores: idle, while a task waited for a disk (iowait); inside Idle
	Tasks   uint64 // of all cores: user, nice and system, which is what processes and kernel threads used; interrupts are not in it
}

// CPU reads /proc/stat.
func (fs FS) CPU() (CPU, error) { return readWith(fs, parseCPU, "stat") }

func parseCPU(b []byte) (CPU, error) {
	var c CPU
	found := false
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		core, isCPU := bytes.CutPrefix(name, []byte("cpu"))
		if !isCPU {
			continue
		}
		times, of, err := parseCPUTimes(rest)
		if err != nil {
			return CPU{}, fmt.Errorf("%s: %w", name, err)
		}
		if len(core) == 0 {
			c.All, c.Waiting, c.Tasks, found = times, of.waiting, of.tasks, true
		} else {
			c.Cores = append(c.Cores, times)
		}
	}
	if !found || len(c.Cores) == 0 {
		return CPU{}, fmt.Errorf("cpu lines: %w", ErrFormat)
	}
	return c, nil
}

// kinds are parts of what a cpu line tells.
type kinds struct{ waiting, tasks uint64 }

// parseCPUTimes reads user nice system idle iowait irq softirq steal; guest and guest_nice follow
// and are skipped, as user and nice include them.
func parseCPUTimes(b []byte) (t CPUTimes, of kinds, err error) {
	const states, system, idle, iowait, steal = 8, 2, 3, 4, 7
	fields := bytes.Fields(b)
	if len(fields) < states {
		return CPUTimes{}, kinds{}, ErrFormat
	}
	for i, field := range fields[:states] {
		n, ok := number(field)
		if !ok || n > 1<<60 {
			return CPUTimes{}, kinds{}, ErrFormat
		}
		t.Total += n
		if i == idle || i == iowait {
			t.Idle += n
		}
		if i <= system {
			of.tasks += n
		}
		switch i {
		case iowait:
			of.waiting = n
		case steal:
			t.Stolen = n
		}
	}
	if t.Total == 0 {
		return CPUTimes{}, kinds{}, ErrFormat
	}
	return t, of, nil
}
