// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"math"
	"slices"
	"sync"
	"time"
)

// A Recording is what there is to tell from.
type Recording struct {
	Boot    string        // the present one; "" where it is not known
	Up      time.Duration // in it
	Now     time.Time     // in the time zone of this machine
	Damaged int           // records that cannot be read
	// Since and Until are what is asked for. Of samples that [Tell] does not need for that, only when they
	// were taken is kept. Zero are all times.
	Since, Until time.Time

	points []point // newest first
	began  map[string]time.Time
	names  names
}

// A kept sample is one as it is held in memory, where a full ring has twenty thousand of them: figures
// without their keys, and each name once.
type kept struct {
	span    float64
	values  []float64 // of [Figures], in their order; NaN is unknown
	fullest string
	busiest []use
	largest []use
	events  []Event
	more    int
}

// A use is what one process uses of the processor or of memory.
type use struct {
	pid   int32
	who   int32 // its name and user, in the list of the recording
	value float32
}

// names has each name once.
type names struct {
	texts  map[string]string
	index  map[owner]int32
	owners []owner
}

type owner struct{ name, user string }

// AddRecord adds the sample before those that were added.
func (r *Recording) AddRecord(record Record) error {
	at := r.date(record)
	if !r.Until.IsZero() && (at.Before(r.Since.Add(-usualBefore)) || at.After(r.Until)) {
		r.points = append(r.points, point{at: at, boot: r.names.text(record.Boot)})
		return nil
	}
	s, err := record.Sample()
	if err == nil {
		r.Add(s)
	}
	return err
}

// Add adds the sample before those that were added.
func (r *Recording) Add(s Sample) {
	k := &kept{
		span: s.Span, values: valuesOf(s.Figures), fullest: r.names.text(s.Fullest),
		busiest: r.names.uses(s.Busiest), largest: r.names.uses(s.Largest), events: s.Events, more: s.More,
	}
	r.points = append(r.points, point{r.date(Record{Time: s.Time, Boot: s.Boot, Up: s.Up}), r.names.text(s.Boot), k})
}

// Len counts the samples.
func (r *Recording) Len() int { return len(r.points) }

// date says when a sample was taken. The clock of a machine is set now and then, by days where it had none
// while it was off; the time since boot is not. So within a boot samples are as far apart as that says, and
// the clock of its last sample says when they were, or that of now, for the present boot.
func (r *Recording) date(s Record) time.Time {
	since := time.Duration(s.Up * float64(time.Second))
	if s.Boot == r.Boot && r.Boot != "" {
		return r.Now.Add(since - r.Up)
	}
	if r.began == nil {
		r.began = map[string]time.Time{}
	}
	began, known := r.began[s.Boot]
	if !known {
		began = time.Unix(s.Time, 0).Add(-since)
		r.began[r.names.text(s.Boot)] = began
	}
	return began.Add(since)
}

// timeline is the samples in the order of time.
func (r *Recording) timeline() []point {
	points := slices.Clone(r.points)
	slices.Reverse(points)
	slices.SortStableFunc(points, func(a, b point) int { return a.at.Compare(b.at) })
	return points
}

// positions say where the value of a figure is, by its key.
var positions = sync.OnceValue(func() map[string]int {
	at := map[string]int{}
	for i, key := range Keys() {
		at[key] = i
	}
	return at
})

func valuesOf(byKey map[string]float64) []float64 {
	values := slices.Repeat([]float64{math.NaN()}, len(positions()))
	for key, value := range byKey {
		if at, known := positions()[key]; known {
			values[at] = value
		}
	}
	return values
}

// value is that of a figure.
func (k *kept) value(f Figure) (value float64, known bool) {
	value = k.values[positions()[f.Key]]
	return value, !math.IsNaN(value)
}

func (n *names) text(s string) string {
	if n.texts == nil {
		n.texts = map[string]string{}
	}
	if same, known := n.texts[s]; known {
		return same
	}
	n.texts[s] = s
	return s
}

func (n *names) uses(list []Process) []use {
	if len(list) == 0 {
		return nil
	}
	uses := make([]use, len(list))
	for i, p := range list {
		uses[i] = use{int32(p.PID), n.who(owner{p.Name, p.User}), float32(p.Value)}
	}
	return uses
}

func (n *names) who(o owner) int32 {
	if n.index == nil {
		n.index = map[owner]int32{}
	}
	at, known := n.index[o]
	if !known {
		at = int32(len(n.owners))
		n.index[o], n.owners = at, append(n.owners, o)
	}
	return at
}
