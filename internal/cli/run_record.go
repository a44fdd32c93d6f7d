// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/lockfile"
	"sentinel/internal/recorder"
)

// A recordDocument answers --record.
type recordDocument struct {
	answer.Header
	Recorded bool   `json:"recorded"`
	Details  string `json:"details"`
	// Figures of the sample, by their names; what is not known is absent.
	Figures     map[string]float64 `json:"figures"`
	Unavailable answer.Gaps        `json:"unavailable"`
}

// recordGC lets a run, which is over in an instant, use some megabytes more in place of processor time.
const recordGC = 800

// spare makes this process one that takes a sample: it uses one processor, since nobody waits for it. Called
// before there is work for another, that costs nothing; later, what the other has must be put away.
func spare() {
	debug.SetGCPercent(recordGC)
	runtime.GOMAXPROCS(1)
}

// recordWait is how long a run waits for another one, which does the same.
const recordWait = 100 * time.Millisecond

func runRecord(ctx context.Context, s session, call invocation) (document, error) {
	d := recordDocument{Header: answer.NewHeader(call.op.Action, true), Figures: map[string]float64{}, Unavailable: answer.Gaps{}}
	if !s.config.Record.Enabled {
		d.Details = "The recorder is switched off by record.enabled in the configuration."
		return d, nil
	}
	dir := s.recordings()
	ring := recorder.NewRing(dir)
	if err := ring.Make(); err != nil {
		return nil, notKept(err)
	}
	last, err := recorder.ReadLast(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.Unavailable.Add("last_sample", err)
	}
	sources := s.recorderSources()
	sources.Unsaved = ring.Unsaved(last)
	taken, gaps, err := recorder.Take(ctx, sources, last)
	if err != nil {
		return nil, err
	}
	// Nothing that users can hold up is read under the lock.
	release, err := lockfile.Exclude(ctx, filepath.Join(dir, "lock"), recordWait)
	if errors.As(err, new(lockfile.BusyError)) {
		d.Details = "Another run is keeping a sample."
		return d, nil
	}
	if err != nil {
		return nil, notKept(err)
	}
	defer release()
	if now, err := recorder.ReadLast(dir); err == nil && !now.Same(last) {
		d.Details = "Another run has kept a sample meanwhile."
		return d, nil
	}
	if err := ring.Append(taken.Sample, func() error { return taken.Save(dir) }); err != nil {
		return nil, notKept(err)
	}
	d.Recorded, d.Figures, d.Unavailable = true, taken.Sample.Figures, append(d.Unavailable, gaps...)
	d.Details = "A sample is kept."
	return d, nil
}

// recordings is the folder of the recorder.
func (s session) recordings() string { return filepath.Join(s.stateDir, "recorder") }

// boot identifies this boot by the first process.
func (s session) boot() (string, error) { return s.host.StartID(1) }

func (s session) recorderSources() recorder.Sources {
	sources := recorder.Sources{
		Health: s.host.Health, Processes: s.host.Processes, Interfaces: s.host.Network.Interfaces, Boot: s.boot, Now: s.host.Now,
		Thresholds: health.Thresholds(s.config.Thresholds),
	}
	if s.config.Record.Resolver {
		sources.Ask = s.askResolver
	}
	return sources
}

func (s session) askResolver(ctx context.Context) (*recorder.Resolver, error) {
	found, err := s.host.DNS.Alive(ctx)
	if err != nil {
		return nil, err
	}
	return &recorder.Resolver{Server: found.Server.String(), MS: float64(found.Took.Microseconds()) / 1000, Problem: found.Problem}, nil
}

// notKept says that a sample is lost, and that no other is.
func notKept(err error) error {
	e := fault.Wrap(fault.Unavailable, "The sample cannot be kept, and those before it are", err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return e.WithFix("Make room on the disk of /var/lib/sentinel; see what fills it with: sudo sentinel --disk-usage /var")
	}
	return e.WithFix("See that /var/lib/sentinel/recorder belongs to root, that nobody else can write there, and that its file system is writable.")
}

func (d recordDocument) view(p *page) {
	if d.Recorded {
		p.verdict(calm, "RECORDED", d.Details)
	} else {
		p.verdict(calm, "UNCHANGED", d.Details)
	}
	p.gaps(d.Unavailable)
}
