// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
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
	dating dating
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
	at, doubt := r.date(record)
	p := point{at: at, boot: r.names.text(record.Boot), doubt: doubt}
	if r.Until.IsZero() || !at.Before(r.Since.Add(-usualBefore)) && !at.After(r.Until) {
		s, err := record.Sample()
		if err != nil {
			return err
		}
		p.kept = r.keep(s)
	}
	r.points = append(r.points, p)
	return nil
}

// Add adds the sample before those that were added.
func (r *Recording) Add(s Sample) {
	at, doubt := r.date(Record{Time: s.Time, Boot: s.Boot, Up: s.Up, Right: s.Right})
	r.points = append(r.points, point{at, r.names.text(s.Boot), doubt, r.keep(s)})
}

func (r *Recording) keep(s Sample) *kept {
	return &kept{
		span: s.Span, values: valuesOf(s.Figures), fullest: r.names.text(s.Fullest),
		busiest: r.names.uses(s.Busiest), largest: r.names.uses(s.Largest), events: s.Events, more: s.More,
	}
}

// Len counts the samples.
func (r *Recording) Len() int { return len(r.points) }

// A dating is how the samples of a boot are dated, as far back as they were added.
type dating struct {
	boot  string
	began time.Time // of the boot
	clock time.Time // the same by the clock of the last sample that was added
	right time.Time // the same by the clocks that were synchronized, by the one that was least ahead; zero if none was
	doubt string    // why the dates are uncertain; "" if they are not
	ended time.Time // of the boot, or now
	next  time.Time // when the boot after it began; zero where that is not known
	moved string    // why the boot as a whole is dated otherwise than by its clock; "" if it is not
}

const (
	doubtSet  = "the clock was set forward after that, and was not known to be right before"
	doubtBoot = "the clock of the next boot began before they ended"
)

// date says when a sample was taken, and why that is uncertain. The clock of a machine is set now and then, by
// days where it had none while it was off; the time since boot is not. So within a boot samples are as far
// apart as that says, and the clock of its last sample says when they were, or that of now, for the present
// boot.
//
// But the time since boot of a virtual machine stands still while that is paused. So where the clock was
// synchronized at two samples, it says how far apart they are.
func (r *Recording) date(s Record) (at time.Time, doubt string) {
	if r.dating.boot == "" && r.Boot != "" {
		began := r.Now.Add(-r.Up)
		r.dating = dating{boot: r.Boot, began: began, clock: began, ended: r.Now}
	}
	d := &r.dating
	since := time.Duration(s.Up * float64(time.Second))
	clock := time.Unix(s.Time, 0).Add(-since)
	if s.Boot != d.boot || s.Boot == "" {
		*d = d.before(r.names.text(s.Boot), clock, time.Unix(s.Time, 0))
	}
	d.back(clock, s.Right)
	return d.began.Add(since), cmp.Or(d.moved, d.doubt)
}

// before is the boot before d, which began and ended so by its own clock. It did not end after d began, as the
// clock may say that starts where it was last saved. A boot without a clock that lies before all of this one
// mixes nothing up, unless it is the present one, which is what times are asked by.
func (d *dating) before(boot string, began, ended time.Time) dating {
	b := dating{boot: boot, began: began, clock: began, ended: ended, next: d.next}
	if d.ended.After(began) || d.next.IsZero() {
		b.next = d.began
	}
	if over := ended.Sub(b.next); !b.next.IsZero() && over > 0 {
		b.began, b.ended = began.Add(-over), b.next
		if over >= jump*time.Second {
			b.moved = doubtBoot
		}
	}
	return b
}

// back goes back to a sample by whose clock the boot began then.
func (d *dating) back(clock time.Time, right bool) {
	switch paused := d.right.Sub(clock); {
	case right && !d.right.IsZero():
		d.doubt = ""
		if paused >= jump*time.Second {
			d.began = d.began.Add(-paused)
		}
	case d.clock.Sub(clock) >= jump*time.Second:
		d.doubt = doubtSet
	}
	if d.clock = clock; right && (d.right.IsZero() || clock.Before(d.right)) {
		d.right = clock
	}
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
