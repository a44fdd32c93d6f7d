// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// Options set the length of lists: 0 rows means all, less than 0 the defaults.
type Options struct {
	Rows int
	Now  time.Time // zero is the present
}

func (o Options) now() time.Time {
	if o.Now.IsZero() {
		return time.Now()
	}
	return o.Now
}

func (o Options) cap(normal int) int {
	switch {
	case o.Rows < 0:
		return normal
	case o.Rows == 0:
		return math.MaxInt
	default:
		return o.Rows
	}
}

// Build turns facts into the report. Missing values are added to gaps unless they
// are there already.
func Build(f Facts, o Options, gaps *answer.Gaps) Report {
	r := Report{ThreatReasons: []Reason{}}
	r.cpu(f)
	r.thermal(f, gaps)
	r.memory(f, gaps)
	r.disks(f, o.cap(maxDisks), gaps)
	r.pressure(f)
	r.units(f, o.cap(maxUnits))
	r.restarting(f, o.cap(maxUnits))
	if f.Uptime != nil {
		seconds := int64(f.Uptime.Seconds())
		r.UptimeSeconds = &seconds
	}
	r.RebootRequired = f.RebootRequired
	r.oomKills(f.OOMKills, o.now(), gaps)
	r.readings, r.Figures = f.Figures, newValues(f.Figures)
	for _, figure := range All() {
		perhapsMore(gaps, "figures."+figure.Key, f.Figures[figure.Key].More)
	}
	return r
}

// perhapsMore records that there may be more than the value of a field, because of err; nil records nothing.
func perhapsMore(gaps *answer.Gaps, field string, err error) {
	if err != nil {
		gaps.Also(field, errors.New("perhaps more: "+answer.Reason(err)))
	}
}

func (r *Report) oomKills(kills *OOMKills, now time.Time, gaps *answer.Gaps) {
	if kills == nil {
		return
	}
	r.OOMKills, r.OOMKillsLastDay = &kills.SinceBoot, kills.LastDay
	for _, k := range kills.Kills {
		if len(r.OOMEvents) == maxNames || k.Ago+k.Slept >= Day {
			continue
		}
		e := OOMEvent{Process: sanitize.Text(k.Process, 64), Unit: sanitize.Text(k.Unit, 96), User: sanitize.Text(k.User, 32), At: k.At}
		if k.Slept == 0 {
			e.Time = now.Add(-k.Ago).UTC().Format(time.RFC3339)
		}
		r.OOMKilled, r.OOMEvents = append(r.OOMKilled, e.Process), append(r.OOMEvents, e)
	}
	if kills.LastDay == nil {
		gaps.Add("oom_kills_24h", kills.Err)
	}
	perhapsMore(gaps, "oom_kills_24h", kills.More)
}

func (r *Report) cpu(f Facts) {
	r.CPU = &CPU{}
	if f.Load != nil {
		r.CPULoad = strconv.FormatFloat(f.Load.One, 'f', 2, 64)
		r.CPU.Load1, r.CPU.Load5, r.CPU.Load15 = &f.Load.One, &f.Load.Five, &f.Load.Fifteen
	}
	if f.Limits != nil {
		r.CPU.Limit = round(f.Limits.CPUs, 2)
	}
}

// thermal shows what is told of heat. Without any of it the whole member is what is missing.
func (r *Report) thermal(f Facts, gaps *answer.Gaps) {
	if t := f.Thermal; t != nil {
		gaps.Add(pressureField, t.Err)
		shown := Thermal{
			PressureLevel: sanitize.Text(t.Level, 32), WarningLevel: t.WarningLevel, PerformanceLevel: t.PerformanceLevel,
			SpeedLimit: t.SpeedLimit, SchedulerLimit: t.SchedulerLimit,
		}
		if shown != (Thermal{}) {
			r.Thermal = &shown
		}
	}
	r.temperature(f, gaps)
	for i, g := range *gaps {
		if g.Field == pressureField && r.Thermal == nil {
			(*gaps)[i].Field = "thermal"
		}
	}
}

func (r *Report) temperature(f Facts, gaps *answer.Gaps) {
	if f.Sensors == nil {
		return
	}
	best, ok := pick(*f.Sensors)
	if !ok {
		gaps.Note("temperature", "this machine shows no CPU temperature sensor")
		return
	}
	if r.Thermal == nil {
		r.Thermal = &Thermal{}
	}
	celsius := round(best.Celsius, 1)
	r.Thermal.Sensor, r.Thermal.Celsius = sanitize.Text(best.name(), 64), &celsius
	r.Temperature = strconv.Itoa(int(math.Round(best.Celsius)))
}

// memory shows the container's limit if it is below the memory of the machine,
// since its processes are killed at that limit.
func (r *Report) memory(f Facts, gaps *answer.Gaps) {
	if m := f.Memory; m != nil {
		r.Memory = newMemory(m.Total, m.Total-m.Available)
		r.Memory.PressureLevel, r.Memory.SharedBytes = m.Pressure, m.Shared
		gaps.Add("memory.pressure_level", m.PressureErr)
		gaps.Add("swap", m.SwapErr)
		if used := m.SwapTotal - m.SwapFree; m.SwapErr == nil {
			r.Swap = &Swap{TotalBytes: m.SwapTotal, UsedBytes: used, UsedPercent: percent(used, m.SwapTotal), Grows: m.SwapGrows}
		}
	} else if at := slices.IndexFunc(*gaps, func(g answer.Gap) bool { return g.Field == "memory" }); at >= 0 {
		gaps.Note("swap", (*gaps)[at].Reason) // read together
	}
	limited := f.Limits != nil && f.Limits.MemoryMax > 0
	if limited && (r.Memory == nil || f.Limits.MemoryMax < r.Memory.TotalBytes) {
		r.Memory = newMemory(f.Limits.MemoryMax, min(f.Limits.MemoryUsed, f.Limits.MemoryMax))
		r.Memory.LimitedBy = "cgroup"
	}
}

func newMemory(total, used uint64) *Memory {
	return &Memory{TotalBytes: total, UsedBytes: used, AvailableBytes: total - used, UsedPercent: percent(used, total)}
}

// maxPlace bounds the name of a file system that could not be read, in characters.
const maxPlace = 64

// otherDisks is the field of file systems that could not be read and are not named; not "disks", which says that
// none is known.
const otherDisks = "disks.others"

// disks lists the fullest first.
func (r *Report) disks(f Facts, rows int, gaps *answer.Gaps) {
	if f.Disks == nil {
		return
	}
	r.Disks = []Disk{}
	var unknown []answer.Place
	total := 0
	for _, d := range *f.Disks {
		list := &r.Disks
		if d.InMemory {
			list = &r.inMemory
		} else {
			total++
		}
		if d.Err == nil {
			*list = append(*list, newDisk(d))
			continue
		}
		unknown = append(unknown, answer.Place{Field: "disks." + sanitize.Text(cmp.Or(d.Mountpoint, d.Device), maxPlace), Reason: answer.Reason(d.Err)})
	}
	if more := gaps.AddPlaces(unknown); len(more) > 0 {
		gaps.Note(otherDisks, fmt.Sprintf("%d more could not be read", len(more)))
	}
	slices.SortStableFunc(r.Disks, func(a, b Disk) int {
		return cmp.Or(cmp.Compare(b.fullness(), a.fullness()), cmp.Compare(a.Mountpoint, b.Mountpoint))
	})
	r.DisksTotal = &total
	r.Disks = r.Disks[:min(rows, len(r.Disks))]
}

func newDisk(d DiskFacts) Disk {
	disk := Disk{
		Mountpoint: sanitize.Text(d.Mountpoint, 128), Device: sanitize.Text(d.Device, 128), FileSystem: sanitize.Text(d.FileSystem, 32),
		SizeBytes: d.Size, UsedBytes: d.Used, AvailableBytes: d.Available,
		UsedPercent: percent(d.Used, d.Used+d.Available), ReadOnly: d.ReadOnly,
	}
	if d.Inodes > 0 {
		p := percent(d.InodesUsed, d.Inodes)
		disk.InodesUsedPercent = &p
	}
	return disk
}

// fullness is the higher use of bytes and inodes, whichever runs out first. A
// read-only file system counts as empty, because it cannot fill up.
func (d Disk) fullness() float64 {
	if d.ReadOnly {
		return 0
	}
	if d.InodesUsedPercent != nil {
		return max(d.UsedPercent, *d.InodesUsedPercent)
	}
	return d.UsedPercent
}

func (r *Report) pressure(f Facts) {
	if f.Pressure == nil {
		return
	}
	r.Pressure = map[string]Pressure{}
	for resource, p := range *f.Pressure {
		var shown Pressure
		if p.Some != nil {
			shown.SomeAvg10, shown.SomeAvg60 = &p.Some.Avg10, &p.Some.Avg60
		}
		if p.Full != nil {
			shown.FullAvg10, shown.FullAvg60 = &p.Full.Avg10, &p.Full.Avg60
		}
		r.Pressure[resource] = shown
	}
}

func (r *Report) units(f Facts, rows int) {
	if f.FailedUnits == nil {
		return
	}
	total := 0
	r.FailedUnits, r.FailedUnitsTotal = []FailedUnit{}, &total
	for i, u := range *f.FailedUnits {
		total += max(1, u.Instances)
		if i < rows {
			r.FailedUnits = append(r.FailedUnits, FailedUnit{sanitize.Text(u.Name, 96), sanitize.Text(u.Description, 96), u.Instances})
		}
	}
}

// restarting lists the services that keep dying, those with the most restarts first.
func (r *Report) restarting(f Facts, rows int) {
	if f.Restarting == nil {
		return
	}
	list := slices.Clone(*f.Restarting)
	slices.SortStableFunc(list, func(a, b RestartingUnit) int {
		return cmp.Or(cmp.Compare(b.Restarts, a.Restarts), cmp.Compare(a.Name, b.Name))
	})
	total := len(list)
	r.RestartingUnitsTotal = &total
	for _, u := range list[:min(rows, total)] {
		r.RestartingUnits = append(r.RestartingUnits, Restarting{sanitize.Text(u.Name, 96), u.Restarts, momentText(u.Since), u.Waits})
	}
}

// UseCPU adds what was used between two samples, windowMS apart. What they do
// not tell is added to gaps.
func (r *Report) UseCPU(before, after CPUSample, windowMS int64, gaps *answer.Gaps) {
	if share := after.Share; share != nil {
		p := round(share.Percent, 1)
		r.CPU.Percent, r.CPU.Cores, r.CPU.WindowMS = &p, share.Cores, share.Window.Milliseconds()
		if share.Cores == 0 {
			gaps.Note("cpu.cores", "the system does not tell how many are online")
		}
		return
	}
	r.CPU.Cores = cmp.Or(after.Count, len(after.Cores))
	if after.Container {
		r.CPU.Scope = "container"
	}
	r.CPU.WindowMS = windowMS
	if p, ok := busy(before.All, after.All, ticks(after.Own-before.Own, after.Tick)); ok {
		r.CPU.Percent = &p
	} else {
		gaps.Note("cpu.percent", "the kernel's counters did not move forward")
	}
	if p, ok := stolen(before.All, after.All); ok {
		r.CPU.Stolen = &p
	}
	var ok bool
	if r.CPU.PerCore, ok = perCore(before.Cores, after.Cores); !ok {
		gaps.Note("cpu.per_core", "a core went on- or offline meanwhile")
	}
	r.CPU.Truncated = ok && len(after.Cores) > maxCores
}

// perCore pairs the rows of two samples. If one does not match, none is reported,
// because it is unknown which core it is.
func perCore(before, after []CPUTimes) ([]float64, bool) {
	if len(before) != len(after) {
		return nil, false
	}
	var list []float64
	for i := range after[:min(len(after), maxCores)] {
		p, ok := busy(before[i], after[i], 0)
		if !ok {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

// busy is the share of time that was not idle, less what sentinel used itself:
// measuring must not make a quiet machine look busy. The idle time of a busy core
// may run back a little, because of its I/O wait (proc_stat(5)); more than that
// means another core.
func busy(before, after CPUTimes, own float64) (float64, bool) {
	total := float64(after.Total) - float64(before.Total)
	idle := float64(after.Idle) - float64(before.Idle)
	if total <= 0 || idle < -total {
		return 0, false
	}
	return round(min(100, max(0, 100*(total-idle-own)/total)), 1), true
}

// stolen is the share of time that the host gave to others; ok is false where that is nothing.
func stolen(before, after CPUTimes) (float64, bool) {
	p, ok := shareOf(before.Stolen, after.Stolen, before, after)
	return p, ok && after.Stolen > before.Stolen
}

// ticks converts a duration to ticks.
func ticks(d, tick time.Duration) float64 {
	if tick <= 0 {
		return 0
	}
	return float64(d) / float64(tick)
}

func percent(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return round(100*float64(part)/float64(whole), 1)
}

func round(x float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(x*scale) / scale
}

func (s Sensor) name() string {
	if s.Label == "" {
		return s.Chip
	}
	return fmt.Sprintf("%s %s", s.Chip, s.Label)
}
