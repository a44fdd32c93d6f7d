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

// maxKept bounds the reasons and units that are kept to be compared with.
const maxKept = 100

// notEvents are reasons that come and go all the time, or have an event of their own.
var notEvents = []string{"OOM_KILLS", "FAILED_UNITS"}

// events finds what happened since the sample before, which may be of an earlier boot; what matters most
// comes first.
func (t *taker) events(r health.Report, kills []health.OOMKill) {
	s := &t.now.Sample
	add := func(kind, text string, ago float64) {
		if e := (Event{kind, sanitize.Text(text, maxText), roundTo(ago, 0)}); !t.wasTold(e) {
			s.Events = append(s.Events, e)
		}
	}
	before := t.previous
	if before != nil && t.before == nil {
		add(Booted, "", s.Up)
	}
	for _, k := range kills {
		add(OOMKill, killText(k), k.Ago.Seconds())
	}
	t.clock(add)
	t.units(r, add)
	t.reasons(r, add)
	if installed := t.now.Counters.Installed; before != nil && installed.After(before.Counters.Installed) && !before.Counters.Installed.IsZero() {
		add(Installed, "", max(0, t.Now().Sub(installed).Seconds()))
	}
}

func killText(k health.OOMKill) string {
	if k.Process == "" {
		return "a process"
	}
	return k.Text()
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
	var old []string
	if t.previous != nil {
		old = t.previous.Failed
	}
	if r.FailedUnitsTotal == nil {
		t.now.Failed = old
		return
	}
	t.now.Failed = []string{}
	for _, u := range r.FailedUnits[:min(len(r.FailedUnits), maxKept)] {
		t.now.Failed = append(t.now.Failed, u.Name)
		if t.previous != nil && !slices.Contains(old, u.Name) {
			add(UnitFailed, u.Name, 0)
		}
	}
	for _, name := range old {
		if !slices.Contains(t.now.Failed, name) && t.before != nil {
			add(UnitWell, name, 0)
		}
	}
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
		if slices.Contains(notEvents, reason.Code) || len(t.now.Reasons) == maxKept {
			continue
		}
		text := cmp.Or(old[key].Text, sanitize.Text(reason.Message, maxText))
		if _, known := old[key]; !known {
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
