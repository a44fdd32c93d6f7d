// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"slices"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
)

// factLimit is how long the facts may take, each and all together, before the answer goes without those
// that are missing.
const factLimit = 3 * time.Second

// readers is how many facts are read at a time. Each that waits in the kernel takes a thread, and a
// machine may have none to spare; more than these would hardly be faster, because nearly
// all is read from the kernel's memory.
const readers = 6

// pressureField is where it shows that what the system does because of heat is not
// known.
const pressureField = "thermal.pressure_level"

// Facts are what could be read; nil is unknown.
type Facts struct {
	Load           *Load
	Memory         *MemoryFacts
	Limits         *Limits
	Sensors        *[]Sensor
	Thermal        *ThermalFacts
	Disks          *[]DiskFacts
	Pressure       *map[string]PressureFacts
	Uptime         *time.Duration
	OOMKills       *OOMKills
	FailedUnits    *[]Unit
	Restarting     *[]RestartingUnit
	RebootRequired *bool
	Figures        map[string]Reading // of figures with a Member, by key; absent is unknown
}

// A reading is one fact to be read: which field of the document lacks it if that
// fails, and how to get it; without get, this system does not have the fact. get returns a function that stores the value, so that
// an abandoned reader cannot write anything.
type reading struct {
	field string
	get   func(context.Context) (store func(), err error)
}

func read[T any](field string, source func(context.Context) (T, error), to **T) reading {
	if source == nil {
		return reading{}
	}
	return reading{field, func(ctx context.Context) (func(), error) {
		value, err := deadline.Call(ctx, factLimit, source)
		return func() { *to = &value }, err
	}}
}

// readFigures are the readings of figures with a Member.
func readFigures(s Sources, to *Facts) []reading {
	to.Figures = map[string]Reading{}
	var readings []reading
	for _, f := range All() {
		if f.Member == NoMember || s.Figures[f.Key] == nil {
			continue
		}
		readings = append(readings, reading{"figures." + f.Key, func(ctx context.Context) (func(), error) {
			value, err := deadline.Call(ctx, factLimit, s.Figures[f.Key])
			return func() { to.Figures[f.Key] = value }, err
		}})
	}
	return readings
}

// Collect reads all facts except CPU times, several at a time and in order: those that the verdict
// rests on and that the kernel has at hand come first, so that a machine that gives this process little time is
// judged all the same. Failures are added to gaps, in that order.
func Collect(ctx context.Context, s Sources, gaps *answer.Gaps) Facts {
	var f Facts
	readings := append([]reading{
		read("cpu_load", s.Load, &f.Load),
		read("memory", s.Memory, &f.Memory),
		read("memory.limit", s.Limits, &f.Limits),
		read("pressure", s.Pressure, &f.Pressure),
		read("uptime_seconds", s.Uptime, &f.Uptime),
		read("temperature", s.Sensors, &f.Sensors),
		read(pressureField, s.Thermal, &f.Thermal),
		read("disks", s.Disks, &f.Disks),
		read("oom_kills", s.OOMKills, &f.OOMKills),
		read("failed_units", s.FailedUnits, &f.FailedUnits),
		read("restarting_units", s.Restarting, &f.Restarting),
		read("reboot_required", s.RebootRequired, &f.RebootRequired),
	}, readFigures(s, &f)...)
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.get == nil })
	outcomes := readAll(ctx, readings)
	for i, r := range readings {
		if o := <-outcomes[i]; o.err == nil {
			o.store()
		} else {
			gaps.Also(r.field, o.err)
		}
	}
	return f
}

// An outcome is what came of a reading.
type outcome struct {
	store func()
	err   error
}

// readAll begins the readings in order, a few at a time, and returns where each one's outcome comes. What
// has not begun when the time is over never does.
func readAll(ctx context.Context, readings []reading) []chan outcome {
	ctx, cancel := context.WithTimeout(ctx, factLimit)
	outcomes, turns := make([]chan outcome, len(readings)), make(chan int, len(readings))
	for i := range readings {
		outcomes[i] = make(chan outcome, 1)
		turns <- i
	}
	close(turns)
	var busy sync.WaitGroup
	for range readers {
		busy.Go(func() {
			for i := range turns {
				outcomes[i] <- readings[i].outcome(ctx)
			}
		})
	}
	go func() {
		busy.Wait()
		cancel()
	}()
	return outcomes
}

func (r reading) outcome(ctx context.Context) outcome {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) { // its timer may be about to fire
		return outcome{err: context.DeadlineExceeded}
	}
	store, err := r.get(ctx)
	return outcome{store, err}
}
