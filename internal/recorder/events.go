// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/sanitize"
)

// jump is by how many seconds the clock must have been set for that to be an event. Time daemons correct
// less than that all the time.
const jump = 10

// Bounds of what is kept to be compared with. New reasons come in up to theirs.
const (
	maxReasons = 100
	maxUnits   = 2000
)

// maxWaiting bounds the events that wait for a sample with room for them.
const maxWaiting = 100

// notEvents are reasons that come and go all the time, or have an event of their own.
var notEvents = []string{"OOM_KILLS", "FAILED_UNITS"}

// events finds what happened since the sample before, which may be of an earlier boot; of each kind what
// matters most comes first.
func (t *taker) events(r health.Report, k kills) {
	add := func(kind, text string, ago float64) { t.add(Event{Kind: kind, Text: text, Ago: ago}) }
	before := t.previous
	t.waiting()
	if before != nil && t.before == nil {
		add(Booted, "", t.now.Sample.Up)
	}
	t.killed(k)
	t.clock(add)
	t.units(r, add)
	t.reasons(r, add)
	if installed := t.now.Counters.Installed; before != nil && installed.After(before.Counters.Installed) && !before.Counters.Installed.IsZero() {
		add(Installed, "", max(0, t.Now().Sub(installed).Seconds()))
	}
}

// add takes an event that was not told yet. A user can have processes killed by the thousand: those of one
// text are one event.
func (t *taker) add(e Event) {
	s := &t.now.Sample
	e.Text, e.Ago = sanitize.Text(e.Text, maxText), roundTo(e.Ago, 0)
	times := e.times() - t.told(e)
	if times <= 0 {
		return
	}
	at := slices.IndexFunc(s.Events, func(o Event) bool { return o.Kind == OOMKill && o.Kind == e.Kind && o.Text == e.Text })
	if at < 0 {
		at, s.Events = len(s.Events), append(s.Events, e)
	} else {
		times += s.Events[at].times()
	}
	s.Events[at].Ago = min(s.Events[at].Ago, e.Ago)
	if s.Events[at].Times = times; times == 1 {
		s.Events[at].Times = 0
	}
}

// waiting takes those that did not fit the sample before.
func (t *taker) waiting() {
	if t.previous == nil {
		return
	}
	passed := t.span.Seconds()
	if t.before == nil {
		passed = max(0, float64(t.now.Sample.Time-t.previous.Sample.Time))
	}
	for _, e := range t.previous.Waiting {
		e.Ago += passed
		t.add(e)
	}
}

// fit leaves in the sample what a record has room for, each kind in its turn, so that no user can push out
// what happened to others. The rest waits for the next sample.
func (t *taker) fit() error {
	s := &t.now.Sample
	all := inTurns(s.Events, 1, func(e Event) string { return e.Kind })
	more := max(0, len(all)-maxEvents-maxWaiting)
	s.Events = all[:len(all)-more]
	bounded, err := s.bounded()
	bounded.More = more
	t.now.Waiting = all[len(bounded.Events) : len(all)-more]
	t.now.Sample = bounded
	return err
}

// kills are those since the sample before.
type kills struct {
	named   []health.OOMKill // newest first
	unnamed int              // of which no more is known
}

// maxNamed is how many processes of one user are told by name, of those that were killed since the sample
// before: users choose names.
const maxNamed = 3

func (t *taker) killed(k kills) {
	texts := map[string][]string{} // by user
	for _, one := range k.named {
		text := one.Text()
		switch known := texts[one.User]; {
		case slices.Contains(known, text):
		case len(known) < maxNamed:
			texts[one.User] = append(known, text)
		default:
			text = "another process"
			if one.User != "" {
				text += " (user " + one.User + ")"
			}
		}
		ago := one.Ago.Seconds()
		if one.Slept > 0 {
			ago = 0
		}
		t.add(Event{Kind: OOMKill, Text: text, Ago: ago})
	}
	if k.unnamed > 0 {
		t.add(Event{Kind: OOMKill, Text: "a process", Times: k.unnamed})
	}
}

// clock compares what the clock has gone forward by with what has passed.
func (t *taker) clock(add func(kind, text string, ago float64)) {
	if t.before == nil {
		return
	}
	by := float64(t.now.Sample.Time-t.before.Sample.Time) - t.span.Seconds()
	if math.Abs(by) >= jump {
		add(ClockSet, strconv.FormatInt(int64(by), 10), 0)
	}
}

// units compares the failed units. Where they are not known, those of before stay; those of the first
// sample have failed before.
func (t *taker) units(r health.Report, add func(kind, text string, ago float64)) {
	var old, folded []string
	if t.previous != nil {
		old, folded = slices.Sorted(slices.Values(t.previous.Failed)), t.previous.Folded
	}
	if r.FailedUnitsTotal == nil {
		t.now.Failed, t.now.Folded = old, folded
		return
	}
	t.now.Failed, t.now.Folded = firstUnits(r.FailedUnits), foldedIn(r.FailedUnits)
	for _, name := range t.now.Failed {
		// one that was folded had failed before, and is shown now because another one is gone
		if t.previous != nil && lacks(old, name) && (t.before == nil || !instanceOf(folded, name)) {
			add(UnitFailed, name, 0)
		}
	}
	for _, name := range old {
		if t.before != nil && lacks(t.now.Failed, name) && !instanceOf(t.now.Folded, name) {
			add(UnitWell, name, 0)
		}
	}
}

// firstUnits are the names in their order, so that of two lists that were cut it is known how far each goes.
func firstUnits(list []health.FailedUnit) []string {
	names := make([]string, 0, len(list))
	for _, u := range list {
		names = append(names, u.Name)
	}
	slices.Sort(names)
	return names[:min(len(names), maxUnits)]
}

// lacks reports whether a list of units is known to be without one: it may be behind the end of one that was cut.
func lacks(list []string, name string) bool {
	at, found := slices.BinarySearch(list, name)
	return !found && at < maxUnits
}

// foldedIn are the templates whose failed instances are one row: of the others it is not known which they are.
func foldedIn(rows []health.FailedUnit) (templates []string) {
	for _, u := range rows {
		if prefix, _, _ := strings.Cut(u.Name, "@"); u.Instances > 0 && len(templates) < maxUnits {
			templates = append(templates, prefix+"@")
		}
	}
	return templates
}

// instanceOf reports whether a unit is an instance of one of the templates.
func instanceOf(templates []string, name string) bool {
	return slices.ContainsFunc(templates, func(template string) bool { return strings.HasPrefix(name, template) })
}

// away is after how many samples without it a reason is gone: some come and go from one minute to the next. A
// sample that could not read what it rests on does not count.
const away = 3

// reasons compares the reasons of the threat level. Their messages hold figures that change all the time,
// so they are told apart by code and object.
func (t *taker) reasons(r health.Report, add func(kind, text string, ago float64)) {
	t.now.Reasons = map[string]Standing{}
	old := map[string]Standing{}
	if t.previous != nil {
		old = t.previous.Reasons
	}
	up := t.now.Sample.Up
	for _, reason := range r.ThreatReasons {
		key := reason.Code + " " + reason.Object
		was, known := old[key]
		if slices.Contains(notEvents, reason.Code) || !known && len(t.now.Reasons) >= maxReasons {
			continue
		}
		text := cmp.Or(was.Text, sanitize.Text(reason.Message, maxText))
		if !known {
			add(Reason, text, 0)
		}
		t.now.Reasons[key] = Standing{Text: text, Up: up}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		was := old[key]
		code, object, _ := strings.Cut(key, " ")
		_, stays := t.now.Reasons[key]
		switch {
		case stays:
		case r.Unread(code, object, t.gaps):
			t.now.Reasons[key] = was
		case t.before == nil:
			add(ReasonGone, was.Text, 0)
		case was.Away+1 < away:
			was.Away++
			t.now.Reasons[key] = was
		default:
			add(ReasonGone, was.Text, max(0, up-was.Up))
		}
	}
}

func roundTo(x float64, places int) float64 {
	scale := math.Pow10(places)
	return math.Round(x*scale) / scale
}

// momentOf is when an event was, by the time of its sample.
func momentOf(e Event, at time.Time) time.Time {
	return at.Add(-time.Duration(e.Ago * float64(time.Second)))
}
