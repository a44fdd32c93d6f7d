// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
)

// A Change is something that happened, in a sentence.
type Change struct {
	Time   string `json:"time"`                                                                                                                       // RFC 3339, UTC
	Kind   string `json:"kind" enum:"rise,busy_process,growing_process,boot,clock,oom_kill,unit_failed,unit_well,reason,reason_gone,packages,action"` // what kind of thing
	Figure string `json:"figure,omitempty"`                                                                                                           // of a rise
	Text   string `json:"text"`                                                                                                                       // with times of the machine's own time zone

	at     time.Time
	weight float64 // how much it matters
}

// NewAction is what sentinel changed on this machine, by the journal.
func NewAction(at time.Time, text string) Change {
	return Change{Time: stamp(at), Kind: "action", Text: text, at: at, weight: 70}
}

// A Summary is what a figure was like over the whole time.
type Summary struct {
	Figure string  `json:"figure"`         // its name
	Unit   string  `json:"unit,omitempty"` // absent for what is counted
	Min    float64 `json:"min"`            // least
	Mean   float64 `json:"mean"`           // of all samples
	Max    float64 `json:"max"`            // most
	MaxAt  string  `json:"max_at"`         // RFC 3339, UTC
}

// A Series is a figure over time. Times without a sample have no bucket.
type Series struct {
	Figure        string   `json:"figure"`         // its name
	Unit          string   `json:"unit,omitempty"` // absent for what is counted
	BucketSeconds int      `json:"bucket_seconds"` // length of each bucket
	Buckets       []Bucket `json:"buckets"`        // those with a sample
}

// A Bucket is a part of a series.
type Bucket struct {
	Time string  `json:"time"` // its beginning; RFC 3339, UTC
	Min  float64 `json:"min"`  // least
	Mean float64 `json:"mean"` // of its samples
	Max  float64 `json:"max"`  // most
}

// A History answers get_health_history.
type History struct {
	Since         string      `json:"since"`                        // RFC 3339, UTC
	Until         string      `json:"until"`                        // RFC 3339, UTC
	TimeZone      string      `json:"time_zone"`                    // of the times in texts
	Samples       int         `json:"samples"`                      // in this time
	FirstSample   string      `json:"first_sample"`                 // of all that are kept; RFC 3339, UTC
	LastSample    string      `json:"last_sample"`                  // of all that are kept; RFC 3339, UTC
	Changes       []Change    `json:"changes"`                      // what happened, in its order
	ChangesTotal  int         `json:"changes_total"`                // before those that matter least were left out
	Series        []Series    `json:"series" schema:"brief"`        // of the figure that was asked for, or of those that rose most
	Figures       []Summary   `json:"figures" schema:"brief"`       // what each was like; those that were 0 are left out
	Gaps          []Gap       `json:"gaps" schema:"brief"`          // times without samples, of which nothing is known
	GapsTotal     int         `json:"gaps_total"`                   // before the list was cut
	FullestVolume string      `json:"fullest_filesystem,omitempty"` // that the figure disk was of, at last
	Unavailable   answer.Gaps `json:"unavailable"`                  // what could not be read, and why
}

// Bounds of an answer.
const (
	usualChanges = 25
	usualGaps    = 10
	usualBuckets = 12 // of each figure that nobody asked for
	askedBuckets = 48
	usualSeries  = 2
)

// usualBefore is the time before a span from which it is told what was usual.
const usualBefore = 6 * time.Hour

// Tell tells what changed between two moments, which lie in what the recording is of. more is what happened by other records; rows bounds the
// changes, 0 is all of them.
func Tell(r Recording, figure string, since, until time.Time, more []Change, rows int) History {
	all := r.timeline()
	inside, context := between(all, since, until), between(all, since.Add(-usualBefore), until)
	h := History{
		Since: stamp(since), Until: stamp(until), TimeZone: r.Now.Format("MST -07:00"), Samples: len(inside),
		FirstSample: stamp(all[0].at), LastSample: stamp(all[len(all)-1].at),
		Series: []Series{}, Figures: []Summary{}, Gaps: gaps(all, since, until), Unavailable: answer.Gaps{},
	}
	if r.Damaged > 0 {
		h.Unavailable.Note("samples", humanize.Count(r.Damaged, "record was", "records were")+" damaged or cut off, as by a power cut")
	}
	doubtful(inside, &h.Unavailable)
	if n := dropped(inside); n > 0 {
		h.Unavailable.Note("changes", humanize.Count(n, "event was", "events were")+" too many at once to be kept")
	}
	t := teller{r.Now, r.names.owners}
	var found []rise
	for _, f := range Figures() {
		if figure == "" || figure == f.Key {
			found = append(found, rises(context, f, since)...)
		}
		h.summarize(inside, f)
	}
	h.draw(inside, found, figure, since, until)
	h.tell(inside, found, t, more, rows)
	h.GapsTotal = len(h.Gaps)
	h.Gaps = h.Gaps[max(0, len(h.Gaps)-usualGaps):]
	if len(inside) > 0 {
		h.FullestVolume = inside[len(inside)-1].fullest
	}
	return h
}

// dropped counts the events that did not fit their samples.
func dropped(points []point) (n int) {
	for _, p := range points {
		n += p.more
	}
	return n
}

// tell makes the list of changes.
func (h *History) tell(points []point, found []rise, t teller, more []Change, rows int) {
	h.Changes = append([]Change{}, more...)
	for _, r := range found {
		h.Changes = append(h.Changes, r.change(t))
	}
	h.Changes = append(h.Changes, busiest(points, t)...)
	h.Changes = append(h.Changes, grown(points, t)...)
	h.Changes = append(h.Changes, t.events(points)...)
	h.Changes = append(h.Changes, t.kills(points)...)
	h.ChangesTotal = len(h.Changes)
	switch {
	case rows < 0:
		rows = usualChanges
	case rows == 0:
		rows = len(h.Changes)
	}
	h.KeepChanges(rows)
}

// kindShare is the part of the list of changes that one kind may have while there are others: users can have
// as many processes killed as they like.
const kindShare = 4

// KeepChanges leaves out the changes that matter least, down to n.
func (h *History) KeepChanges(n int) {
	slices.SortStableFunc(h.Changes, func(a, b Change) int { return cmp.Or(cmp.Compare(b.weight, a.weight), b.at.Compare(a.at)) })
	h.Changes = inTurns(h.Changes, max(1, n/kindShare), func(c Change) string { return c.Kind })
	h.Changes = h.Changes[:min(n, len(h.Changes))]
	slices.SortStableFunc(h.Changes, func(a, b Change) int { return a.at.Compare(b.at) })
}

// summarize adds what a figure was like, unless it was 0 all the time.
func (h *History) summarize(points []point, f Figure) {
	s, sum, n := Summary{Figure: f.Key, Unit: f.Unit}, 0.0, 0
	for _, p := range points {
		v, ok := p.value(f)
		if !ok {
			continue
		}
		if n == 0 || v < s.Min {
			s.Min = v
		}
		if n == 0 || v > s.Max {
			s.Max, s.MaxAt = v, stamp(p.at)
		}
		sum, n = sum+v, n+1
	}
	if n > 0 && (s.Max != 0 || s.Min != 0) {
		s.Mean = roundTo(sum/float64(n), f.places)
		h.Figures = append(h.Figures, s)
	}
}

// draw adds the series of the figure that was asked for, or of those that rose most.
func (h *History) draw(points []point, found []rise, figure string, since, until time.Time) {
	keys, count := []string{figure}, askedBuckets
	if figure == "" {
		keys, count = nil, usualBuckets
		found = slices.Clone(found)
		slices.SortStableFunc(found, func(a, b rise) int { return cmp.Compare(b.score, a.score) })
		for _, r := range found {
			if !slices.Contains(keys, r.figure.Key) && len(keys) < usualSeries {
				keys = append(keys, r.figure.Key)
			}
		}
	}
	for _, key := range keys {
		h.Series = append(h.Series, series(points, figureOf(key), since, until, count))
	}
}

// series cuts the time into so many buckets, of a minute at least, and leaves out those without a sample.
func series(points []point, f Figure, since, until time.Time, count int) Series {
	if len(points) > 0 && points[0].at.After(since) {
		since = points[0].at.Truncate(Interval)
	}
	width := max(Interval, until.Sub(since)/time.Duration(count)).Round(time.Second)
	s := Series{Figure: f.Key, Unit: f.Unit, BucketSeconds: int(width / time.Second), Buckets: []Bucket{}}
	at, n := -1, 0.0
	for _, p := range points {
		v, ok := p.value(f)
		if !ok {
			continue
		}
		if i := int(p.at.Sub(since) / width); i != at {
			at, n = i, 0
			s.Buckets = append(s.Buckets, Bucket{Time: stamp(since.Add(time.Duration(i) * width)), Min: v, Max: v})
		}
		b := &s.Buckets[len(s.Buckets)-1]
		b.Min, b.Max = math.Min(b.Min, v), math.Max(b.Max, v)
		b.Mean, n = (b.Mean*n+v)/(n+1), n+1
	}
	for i := range s.Buckets {
		s.Buckets[i].Mean = roundTo(s.Buckets[i].Mean, f.places)
	}
	return s
}

// Coarser returns s with at most n buckets.
func (s Series) Coarser(n int) Series {
	each := (len(s.Buckets) + n - 1) / n
	if each < 2 {
		return s
	}
	coarse := s
	coarse.BucketSeconds, coarse.Buckets = s.BucketSeconds*each, []Bucket{}
	for part := range slices.Chunk(s.Buckets, each) {
		b := part[0]
		sum := 0.0
		for _, one := range part {
			b.Min, b.Max, sum = math.Min(b.Min, one.Min), math.Max(b.Max, one.Max), sum+one.Mean
		}
		b.Mean = roundTo(sum/float64(len(part)), figureOf(s.Figure).places)
		coarse.Buckets = append(coarse.Buckets, b)
	}
	return coarse
}

// A teller words what happened, with times of the zone of now.
type teller struct {
	now    time.Time
	owners []owner // of processes
}

// clock is a time of today without its day.
func (t teller) clock(at time.Time) string {
	at = at.In(t.now.Location())
	if at.Year() == t.now.Year() && at.YearDay() == t.now.YearDay() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// sentences are how events are told, and how much each matters.
var sentences = map[string]struct {
	text   string // %[1]s is the text of the event, %[2]s the time
	weight float64
}{
	Booted:     {"The machine was started at %[2]s.", 90},
	UnitFailed: {"%[1]s failed at %[2]s.", 80},
	Reason:     {"From %[2]s on, health said: %[1]s", 60},
	ClockSet:   {"The clock was set %[1]s at %[2]s.", 55},
	UnitWell:   {"%[1]s had failed, and was well again at %[2]s.", 40},
	Installed:  {"Packages were installed, updated or removed at %[2]s.", 50},
	ReasonGone: {"No longer from %[2]s on: %[1]s", 35},
}

// events tells what happened, as far as it is known here.
func (t teller) events(points []point) []Change {
	var list []Change
	for _, p := range points {
		for _, e := range p.events {
			how, known := sentences[e.Kind]
			if !known {
				continue
			}
			text, at := e.Text, momentOf(e, p.at)
			if e.Kind == ClockSet {
				text = setText(text)
			}
			list = append(list, Change{Time: stamp(at), Kind: e.Kind, Text: fmt.Sprintf(how.text, text, t.clock(at)), at: at, weight: how.weight})
		}
	}
	return list
}

// together is how far apart kills of one text may be to be told as one change.
const together = time.Hour

// kills tells who was killed for want of memory.
func (t teller) kills(points []point) []Change {
	var list []killed
	open := map[string]int{}
	for _, p := range points {
		for _, e := range p.events {
			if e.Kind != OOMKill {
				continue
			}
			at := momentOf(e, p.at)
			i, known := open[e.Text]
			if !known || at.Sub(list[i].last) > together {
				i = len(list)
				open[e.Text], list = i, append(list, killed{text: e.Text, first: at})
			}
			list[i].last, list[i].times = at, list[i].times+e.times()
		}
	}
	changes := make([]Change, len(list))
	for i, k := range list {
		changes[i] = Change{Time: stamp(k.first), Kind: OOMKill, Text: k.sentence(t), at: k.first, weight: 100}
	}
	return changes
}

// A killed process is one of a text, or as many as were killed together.
type killed struct {
	text        string
	first, last time.Time
	times       int
}

func (k killed) sentence(t teller) string {
	first, last := t.clock(k.first), t.clock(k.last)
	switch {
	case k.times == 1:
		return fmt.Sprintf("%s was killed for want of memory at %s.", k.text, last)
	case first == last:
		return fmt.Sprintf("%s was killed for want of memory %d times, last at %s.", k.text, k.times, last)
	default:
		return fmt.Sprintf("%s was killed for want of memory %d times, from %s to %s.", k.text, k.times, first, last)
	}
}

// setText says by how much a clock was set.
func setText(seconds string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "anew"
	}
	way := "forward"
	if n < 0 {
		way, n = "back", -n
	}
	const years = 100 * 365 * 24 * 60 * 60
	switch {
	case n < 60:
		return fmt.Sprintf("%s by %d s", way, n)
	case n > years:
		return way + " by more than a hundred years"
	default:
		return way + " by " + humanize.Duration(n)
	}
}
