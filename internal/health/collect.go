// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
)

// factLimit is how long one fact may take before the answer goes without it.
const factLimit = 3 * time.Second

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
// fails, and how to get it. get returns a function that stores the value, so that
// an abandoned reader cannot write anything.
type reading struct {
	field string
	get   func(context.Context) (store func(), err error)
}

func read[T any](field string, source func(context.Context) (T, error), to **T) reading {
	return reading{field, func(ctx context.Context) (func(), error) {
		if source == nil {
			return func() {}, nil
		}
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

// Collect reads all facts except CPU times concurrently. Failures are added to
// gaps, in a fixed order.
func Collect(ctx context.Context, s Sources, gaps *answer.Gaps) Facts {
	var f Facts
	readings := append([]reading{
		read("cpu_load", s.Load, &f.Load),
		read("memory", s.Memory, &f.Memory),
		read("memory.limit", s.Limits, &f.Limits),
		read("temperature", s.Sensors, &f.Sensors),
		read(pressureField, s.Thermal, &f.Thermal),
		read("disks", s.Disks, &f.Disks),
		read("pressure", s.Pressure, &f.Pressure),
		read("uptime_seconds", s.Uptime, &f.Uptime),
		read("oom_kills", s.OOMKills, &f.OOMKills),
		read("failed_units", s.FailedUnits, &f.FailedUnits),
		read("restarting_units", s.Restarting, &f.Restarting),
		read("reboot_required", s.RebootRequired, &f.RebootRequired),
	}, readFigures(s, &f)...)
	type outcome struct {
		store func()
		err   error
	}
	outcomes := make([]chan outcome, len(readings))
	for i, r := range readings {
		outcomes[i] = make(chan outcome, 1)
		go func() {
			store, err := r.get(ctx)
			outcomes[i] <- outcome{store, err}
		}()
	}
	for i, r := range readings {
		if o := <-outcomes[i]; o.err == nil {
			o.store()
		} else {
			gaps.Add(r.field, o.err)
		}
	}
	return f
}
