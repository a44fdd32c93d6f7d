// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"math"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
)

// Sources are what a sample is made of.
type Sources struct {
	Health     health.Sources
	Processes  processes.Source
	Interfaces func(context.Context) ([]network.Interface, error)
	Boot       func() (string, error)                   // identity of this boot
	Ask        func(context.Context) (*Resolver, error) // nil asks no name server
	Now        func() time.Time
	Thresholds health.Thresholds
	// Unsaved is what the sample before has told without being kept as the last one; see [Ring.Unsaved].
	Unsaved *Sample
}

// cheap are the facts of a report that cost little enough for every minute. A kernel's log, which takes
// long to read, is looked at when a counter says that it has something new.
func (s Sources) cheap(resolver *Resolver) health.Sources {
	h := s.Health
	return health.Sources{
		Load: h.Load, Memory: h.Memory, Limits: h.Limits, Sensors: h.Sensors, Thermal: h.Thermal, Disks: h.Disks, Pressure: h.Pressure,
		FailedUnits: h.FailedUnits, Restarting: h.Restarting,
		Figures: map[string]health.Reader{health.ReadOnlyFileSystems: h.Figures[health.ReadOnlyFileSystems], health.ResolverSilent: resolver.Reader()},
	}
}

// Reader tells health what came of the question; nil where there was none.
func (r *Resolver) Reader() health.Reader {
	if r == nil {
		return nil
	}
	return func(context.Context) (health.Reading, error) {
		if r.Problem == "" {
			return health.Reading{}, nil
		}
		return health.Reading{Value: 1, Names: []string{r.Server + " (" + r.Problem + ")"}}, nil
	}
}

// partLimit bounds what is read beside the facts of health, each part of it.
const partLimit = 3 * time.Second

// A taker takes one sample.
type taker struct {
	Sources
	previous *Last // of any boot; nil if there is none
	before   *Last // of this boot; nil if there is none
	span     time.Duration
	now      Last
	gaps     answer.Gaps
	untold   []Event // of Unsaved, that were not found again yet
}

// Take takes a sample. previous is the last one, or nil. What could not be read is absent, and in gaps.
// Without the time since boot, and which boot that is, samples cannot be put in order: that is
// UNAVAILABLE.
func Take(ctx context.Context, s Sources, previous *Last) (*Last, answer.Gaps, error) {
	boot, err := s.Boot()
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, "Which boot of this machine this is cannot be told", err)
	}
	up, err := deadline.Call(ctx, partLimit, s.Health.Uptime)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, "How long this machine has been up cannot be told", err)
	}
	t := taker{Sources: s, previous: previous, now: Last{Version: 1, Sample: Sample{
		Time: s.Now().Unix(), Boot: sanitize.Text(boot, maxUser), Up: roundTo(up.Seconds(), 2), Figures: map[string]float64{},
	}}}
	if s.Unsaved != nil {
		t.untold = slices.Clone(s.Unsaved.Events)
	}
	if age, same := previous.Age(t.now.Sample.Boot, up); same && age > 0 {
		t.before, t.span, t.now.Sample.Span = previous, age, roundTo(age.Seconds(), 2)
	}
	t.now.Sample.Right = t.synchronized(ctx)
	report, kills := t.read(ctx)
	t.events(report, kills)
	if err := t.fit(); err != nil {
		return nil, nil, err
	}
	return &t.now, t.gaps, ctx.Err()
}

// synchronized reports whether the kernel knows that its clock is right.
func (t *taker) synchronized(ctx context.Context) bool {
	read := t.Health.Figures[health.ClockUnsynchronized]
	if read == nil {
		return false
	}
	unsynchronized, err := deadline.Call(ctx, partLimit, read)
	return err == nil && unsynchronized.Value == 0
}

// read reads everything and returns the verdict of health on it, and who was killed for want of memory
// since the sample before.
func (t *taker) read(ctx context.Context) (health.Report, kills) {
	t.ask(ctx)
	facts := health.Collect(ctx, t.cheap(t.now.Resolver), &t.gaps)
	report := health.Build(facts, health.Options{Rows: 0, Now: t.Now()}, &t.gaps)
	kills := t.counters(ctx)
	t.interfaces(ctx)
	t.processor(ctx, &report)
	t.processes(ctx)
	t.facts(report)
	report.Judge(t.Thresholds)
	return report, kills
}

// ask asks the name servers before anything is measured: the answer may take a while.
func (t *taker) ask(ctx context.Context) {
	if t.Ask == nil {
		return
	}
	answer, err := t.Ask(ctx)
	t.gaps.Add("resolver", err)
	t.now.Resolver = answer
	if err == nil && answer.Problem == "" {
		t.now.Sample.set("resolver_ms", &answer.MS)
	}
}

// facts takes over what the report of health has.
func (t *taker) facts(r health.Report) {
	s := &t.now.Sample
	if c := r.CPU; c != nil {
		s.set("load", c.Load1)
	}
	if r.Memory != nil {
		s.set("memory", &r.Memory.UsedPercent)
	}
	if r.Swap != nil && r.Swap.TotalBytes > 0 {
		s.set("swap", &r.Swap.UsedPercent)
	}
	s.set("pressure_cpu", r.Pressure["cpu"].SomeAvg60)
	s.set("pressure_memory", r.Pressure["memory"].FullAvg60)
	s.set("pressure_io", r.Pressure["io"].FullAvg60)
	if r.Thermal != nil {
		s.set("temperature", r.Thermal.Celsius)
	}
	if r.FailedUnitsTotal != nil {
		s.set("failed_units", new(float64(*r.FailedUnitsTotal)))
	}
	t.disks(r.Disks)
}

func (t *taker) disks(list []health.Disk) {
	var space, inodes *float64
	for _, d := range list {
		if d.ReadOnly {
			continue
		}
		if space == nil || d.UsedPercent > *space {
			space, t.now.Sample.Fullest = &d.UsedPercent, sanitize.Text(d.Mountpoint, maxName)
		}
		if p := d.InodesUsedPercent; p != nil && (inodes == nil || *p > *inodes) {
			inodes = p
		}
	}
	t.now.Sample.set("disk", space)
	t.now.Sample.set("inodes", inodes)
}

// processor measures the use of the processor since the sample before. A system that does not count
// measures it itself, for a second, from the first call to the second: both have the same context.
func (t *taker) processor(ctx context.Context, r *health.Report) {
	after, err := t.Health.CPU(ctx)
	if err == nil && !after.Spans() {
		after, err = t.Health.CPU(ctx)
	}
	if err != nil {
		t.gaps.Add("cpu", err)
		return
	}
	t.now.CPU = after
	if t.before == nil && after.Share == nil {
		return
	}
	var first health.CPUSample
	if t.before != nil {
		first, after = health.Across(t.before.CPU, after, t.span)
	}
	r.UseCPU(first, after, t.span.Milliseconds(), &t.gaps)
	t.now.Sample.set("cpu", r.CPU.Percent)
	if after.Share != nil || after.Container {
		return
	}
	if p, ok := health.WaitedPercent(first, after); ok {
		t.now.Sample.set("iowait", &p)
	}
	if p, ok := health.StolenPercent(first, after); ok {
		t.now.Sample.set("steal", &p)
	}
}

// processes finds those that stand out.
func (t *taker) processes(ctx context.Context) {
	table, err := deadline.Call(ctx, partLimit, t.Processes.Table)
	if err != nil {
		t.gaps.Add("processes", err)
		return
	}
	t.gaps.Add("processes", table.Unread)
	t.now.Processes, t.now.Others = uses(table)
	zombies := 0.0
	for _, p := range table.Samples {
		if p.State == 'Z' {
			zombies++
		}
	}
	s := &t.now.Sample
	s.set("processes", new(float64(len(table.Samples))))
	s.set("zombies", &zombies)
	before := table // without one, only memory can be compared
	if t.before != nil {
		before = t.before.Table(t.span)
		s.Busiest = t.top(ctx, before, table, "cpu", func(p processes.Process) float64 { return p.CPUPercent })
	}
	s.Largest = t.top(ctx, before, table, "memory", func(p processes.Process) float64 { return p.MemoryMB })
}

// worthKeeping is the least value of a process that is kept: percent of a core, and MiB.
const worthKeeping = 1

func (t *taker) top(ctx context.Context, before, after processes.Table, by string, value func(processes.Process) float64) []Process {
	var list []Process
	for _, p := range processes.Rank(ctx, t.Processes, before, after, processes.Options{Count: shownProcesses, Sort: by, Named: true, Least: worthKeeping}).Processes {
		list = append(list, Process{p.PID, sanitize.Text(p.Name, maxName), sanitize.Text(p.User, maxUser), roundTo(value(p), 1)})
	}
	return list
}

// counters compares what the kernel counts. It returns who was killed for want of memory, if the count
// has risen.
func (t *taker) counters(ctx context.Context) kills {
	if t.Health.Counters == nil {
		return kills{}
	}
	c, err := deadline.Call(ctx, partLimit, t.Health.Counters)
	if err != nil {
		t.gaps.Add("counters", err)
		return kills{}
	}
	t.now.Counters = c
	s := &t.now.Sample
	s.set("connections", floatOf(c.Established))
	s.set("open_files", floatOf(c.Files))
	switch {
	case t.previous == nil:
		return kills{}
	case t.before == nil:
		return t.kills(ctx, 0, c.OOMKills)
	}
	old := t.before.Counters
	s.set("disk_read", t.rate(old.DiskRead, c.DiskRead))
	s.set("disk_write", t.rate(old.DiskWritten, c.DiskWritten))
	s.set("retransmits", resentPercent(old, c))
	if old.OOMKills == nil {
		return kills{}
	}
	return t.kills(ctx, *old.OOMKills, c.OOMKills)
}

// fewSegments is how many segments must have been sent for a share of them to say anything.
const fewSegments = 100

func resentPercent(old, c health.Counters) *float64 {
	sent, resent := risen(old.Sent, c.Sent), risen(old.Resent, c.Resent)
	if sent == nil || resent == nil || *sent < fewSegments {
		return nil
	}
	return new(min(100, 100**resent / *sent))
}

// kills names those who were killed, as far as the system tells more than their number.
func (t *taker) kills(ctx context.Context, before uint64, now *uint64) kills {
	if now == nil || *now <= before || t.Health.OOMKills == nil {
		return kills{}
	}
	n := int(min(*now-before, math.MaxInt32))
	told, err := deadline.Call(ctx, partLimit, t.Health.OOMKills)
	t.gaps.Add("oom_kills", err)
	named := told.Kills[:min(n, len(told.Kills))]
	return kills{named, n - len(named)}
}

// interfaces adds up those that were there at both samples and whose counters were not set back.
func (t *taker) interfaces(ctx context.Context) {
	if t.Interfaces == nil {
		return
	}
	list, err := deadline.Call(ctx, partLimit, t.Interfaces)
	if err != nil {
		t.gaps.Add("network", err)
		return
	}
	t.now.Interfaces = map[string][2]uint64{}
	var in, out float64
	known := false
	for _, i := range list[:min(len(list), maxInterfaces)] {
		if i.Loopback {
			continue
		}
		t.now.Interfaces[i.Name] = [2]uint64{i.BytesIn, i.BytesOut}
		if t.before == nil {
			continue
		}
		old, ok := t.before.Interfaces[i.Name]
		if ok && i.BytesIn >= old[0] && i.BytesOut >= old[1] {
			in, out, known = in+float64(i.BytesIn-old[0]), out+float64(i.BytesOut-old[1]), true
		}
	}
	if known {
		t.now.Sample.set("network_in", new(in/t.span.Seconds()))
		t.now.Sample.set("network_out", new(out/t.span.Seconds()))
	}
}

// maxInterfaces bounds those that are kept.
const maxInterfaces = 256

// rate is what a counter rose by in a second; nil where it is not known, or was set back.
func (t *taker) rate(before, now *uint64) *float64 {
	rise := risen(before, now)
	if rise == nil {
		return nil
	}
	return new(*rise / t.span.Seconds())
}

func risen(before, now *uint64) *float64 {
	if before == nil || now == nil || *now < *before {
		return nil
	}
	return new(float64(*now - *before))
}

func floatOf(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}
