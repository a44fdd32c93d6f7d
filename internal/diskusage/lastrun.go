// SPDX-License-Identifier: Apache-2.0

package diskusage

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sentinel/internal/statefile"
)

// Bounds of the file. It lists directories that others may not see, so root alone can read it.
const (
	maxState    = 2048 // KiB
	maxRuns     = 8    // directories whose last run is kept
	maxKept     = 250  // directories below each
	maxKeptPath = 300  // bytes that a path takes in the file
)

// leastGrowth is what is worth a row.
const leastGrowth = 1 << 20

// A Run is what is kept of one.
type Run struct {
	At    time.Time         `json:"at"`
	Sizes map[string]uint64 `json:"sizes"` // by path
	// Floor is the size that a directory which is not among them did not exceed.
	Floor uint64 `json:"floor"`
}

// Time implements statefile.Run.
func (r Run) Time() time.Time { return r.At }

// Check implements statefile.State.
func (r Run) Check() error {
	if len(r.Sizes) > maxKept {
		return statefile.ErrForm
	}
	return nil
}

type stateFile struct {
	Version int                            `json:"version"` // 1
	Runs    map[string]statefile.Runs[Run] `json:"runs"`    // by the directory that was asked for
}

// Check implements statefile.State.
func (f stateFile) Check() error {
	if f.Version != 1 || len(f.Runs) > maxRuns {
		return statefile.ErrForm
	}
	for _, r := range f.Runs {
		if err := r.Check(); err != nil {
			return err
		}
	}
	return nil
}

// compareAndKeep compares with the last run for the same directory, and keeps this one in its place.
func (u *Usage) compareAndKeep(t Tree, o Options) {
	if o.State == "" {
		u.Unavailable.Add("grown", errNotKept)
		return
	}
	t.BySize = append([]Branch{{Path: u.Path, Bytes: t.Bytes, AtLeast: !t.Complete()}}, t.BySize...)
	f, err := statefile.Read[stateFile](o.State, maxState)
	kept, known := f.Runs[u.Path]
	last := kept.Since(o.Now)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		u.Unavailable.Note("grown", "the record of the last run cannot be used: "+err.Error())
	case !known:
		u.Unavailable.Note("grown", "this is the first run for this directory that is kept")
	default:
		u.Grown, u.GrownSince = cut(u, last.grown(t.BySize), o.rows(maxGrown)), last.At.UTC().Format(time.RFC3339)
	}
	if known && kept.Continues(o.Now) {
		return
	}
	f.Version = 1
	f.keep(u.Path, newRun(t, o.Now))
	if err := statefile.Write(o.State, f, maxState); err != nil {
		u.Unavailable.Note("grown", "this run cannot be kept for the next: "+err.Error())
	}
}

// newRun is what is kept of a walk. A directory that was not read to its end would seem to have
// grown next time.
func newRun(t Tree, now time.Time) Run {
	r := Run{At: now.UTC().Truncate(time.Second), Sizes: map[string]uint64{}}
	for _, b := range t.BySize {
		if len(r.Sizes) == maxKept {
			r.Floor = max(r.Floor, b.Bytes)
			break
		}
		if name := shown(b.Path); b.AtLeast || statefile.Length(name) > maxKeptPath || strings.HasSuffix(name, "…") {
			r.Floor = max(r.Floor, b.Bytes)
		} else {
			r.Sizes[name] = b.Bytes
		}
	}
	if !t.Complete() {
		r.Floor = max(r.Floor, t.Bytes)
	}
	return r
}

// keep puts a run in the place of the last for the same directory, or of the oldest where there are
// too many. That of / stays, whatever else is asked for.
func (f *stateFile) keep(path string, r Run) {
	if f.Runs == nil {
		f.Runs = map[string]statefile.Runs[Run]{}
	}
	f.Runs[path] = f.Runs[path].Add(r)
	for len(f.Runs) > maxRuns {
		oldest := path
		for name, run := range f.Runs {
			if name != "/" && run.Last.At.Before(f.Runs[oldest].Last.At) {
				oldest = name
			}
		}
		delete(f.Runs, oldest)
	}
}

// grown lists the directories that grew since r, where they did: one whose growth is nearly all in a
// directory below it is left out in favour of that.
func (r Run) grown(now []Branch) []Growth {
	list := []Growth{}
	for _, b := range now {
		name := shown(b.Path)
		before, known := r.Sizes[name]
		if !known {
			before = r.Floor
		}
		if b.Bytes > before && b.Bytes-before >= leastGrowth {
			list = append(list, Growth{Path: name, Grown: b.Bytes - before, Bytes: b.Bytes, AtLeast: !known && r.Floor > 0 || b.AtLeast})
		}
	}
	list = slices.DeleteFunc(slices.Clone(list), func(g Growth) bool {
		return slices.ContainsFunc(list, func(deeper Growth) bool {
			return deeper.Path != g.Path && strings.HasPrefix(deeper.Path, strings.TrimSuffix(g.Path, "/")+"/") && 100*float64(deeper.Grown) >= mostly*float64(g.Grown)
		})
	})
	slices.SortStableFunc(list, func(a, b Growth) int { return cmp.Or(cmp.Compare(b.Grown, a.Grown), cmp.Compare(a.Path, b.Path)) })
	return list
}
