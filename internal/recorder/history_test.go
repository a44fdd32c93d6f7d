// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A machine is simulated minute by minute: what is true, and what its clock says.
type machine struct {
	now     time.Time
	clock   time.Duration // what the clock is ahead by
	boots   int
	began   time.Time // of this boot
	samples []Sample
}

// minute lets a minute pass and takes a sample.
func (m *machine) minute(change func(*Sample)) {
	m.now = m.now.Add(time.Minute)
	n := len(m.samples)
	s := Sample{
		Time: m.now.Add(m.clock).Unix(), Boot: fmt.Sprintf("boot-%d", m.boots), Up: m.now.Sub(m.began).Seconds(), Span: 60, Fullest: "/",
		Figures: map[string]float64{"load": 0.25 + 0.1*float64(n%2), "cpu": 3 + float64(n%3), "memory": 40, "disk": 61.5, "processes": 212, "network_in": 21_000},
		Largest: []Process{{900, "mysqld", "mysql", 1200}},
	}
	if change != nil {
		change(&s)
	}
	m.samples = append(m.samples, s)
}

func (m *machine) until(t time.Time, change func(*Sample)) {
	for m.now.Before(t) {
		m.minute(change)
	}
}

// reboot leaves the machine off for a while. The clock of the next boot is wrong by so much.
func (m *machine) reboot(off, clock time.Duration) {
	m.now = m.now.Add(off)
	m.began, m.clock = m.now, clock
	m.boots++
}

func at(text string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", text, paris)
	if err != nil {
		panic(err)
	}
	return t
}

var paris = time.FixedZone("CET", 3600)

// week is a week in which a backup ran and a data base was killed for want of memory on the fourth night,
// with a clock that jumps, two boots and a time without samples.
func week() Recording {
	m := &machine{now: at("2027-03-01 12:00"), began: at("2027-03-01 11:00")}
	m.until(at("2027-03-02 09:00"), nil)
	m.clock = -24 * time.Hour // somebody has set it back, and forward again
	m.until(at("2027-03-02 10:00"), nil)
	m.clock = 0
	m.minute(func(s *Sample) { s.Events = []Event{{Kind: ClockSet, Text: "86400"}} })
	m.until(at("2027-03-03 01:00"), nil)
	m.reboot(20*time.Minute, -20*365*24*time.Hour) // without a battery it begins in the past
	m.minute(func(s *Sample) { s.Events = []Event{{Kind: Booted, Ago: 60}}; s.Span = 0 })
	m.until(m.now.Add(10*time.Minute), nil)
	m.clock = 0
	m.until(at("2027-03-05 03:11"), nil)
	m.until(at("2027-03-05 03:40"), func(s *Sample) {
		s.Figures["load"], s.Figures["cpu"], s.Figures["memory"] = 8.1, 51.5, 88
		s.Busiest = []Process{{4711, "backup.sh", "backup", 96}}
		if s.Time == at("2027-03-05 03:14").Unix() {
			s.Events = []Event{{Kind: OOMKill, Text: "mysqld of mysql.service", Ago: 12}, {Kind: UnitFailed, Text: "mysql.service"}}
		}
	})
	m.until(at("2027-03-06 12:00"), nil)
	m.now = m.now.Add(3 * time.Hour) // suspended
	m.until(at("2027-03-08 12:00"), nil)
	return m.recording("boot-1", m.now.Sub(m.began))
}

// recording is what was recorded by now.
func (m *machine) recording(boot string, up time.Duration) Recording {
	r := Recording{Boot: boot, Up: up, Now: m.now}
	for _, s := range slices.Backward(m.samples) {
		r.Add(s)
	}
	return r
}

func textsOf(h History) (texts []string) {
	for _, c := range h.Changes {
		texts = append(texts, c.Text)
	}
	return texts
}

func TestTheNightIsTold(t *testing.T) {
	r := week()
	since, until, err := Request{At: "2027-03-05 03:12"}.Span(r.Now)
	if err != nil {
		t.Fatal(err)
	}
	action := NewAction(at("2027-03-05 03:30"), "Sentinel: restart_service mysql.service, by mira: done.")
	h := Tell(r, "", since, until, []Change{action}, -1)
	want := []string{
		"\"backup.sh\" of user backup (PID 4711) took 96 % of a processor from 2027-03-05 03:11 until 2027-03-05 03:40.",
		"Load rose from 0.3 to 8.1 at 2027-03-05 03:12, and was down again at 2027-03-05 03:41.",
		"Use of memory rose from 40 % to 88 % at 2027-03-05 03:12, and was down again at 2027-03-05 03:41.",
		"Use of the processor rose from 4.0 % to 52 % at 2027-03-05 03:12, and was down again at 2027-03-05 03:41.",
		"mysqld of mysql.service was killed for want of memory at 2027-03-05 03:13.",
		"mysql.service failed at 2027-03-05 03:14.",
		"Sentinel: restart_service mysql.service, by mira: done.",
	}
	got := textsOf(h)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s", diff)
	}
	raw, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/night.golden.json", append(raw, '\n'))
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s, %v:\n%s", file, err, cmp.Diff(string(want), string(got)))
	}
}

func TestTheWeekHasItsGapsAndBoots(t *testing.T) {
	r := week()
	h := Tell(r, "load", r.Now.Add(-8*24*time.Hour), r.Now, nil, 0)
	wantGaps := []Gap{
		{"2027-02-28T11:00:00Z", "2027-03-01T11:01:00Z", gapBefore},
		{"2027-03-03T00:00:00Z", "2027-03-03T00:21:00Z", gapOff},
		{"2027-03-06T11:00:00Z", "2027-03-06T14:01:00Z", gapMissed},
	}
	if diff := cmp.Diff(wantGaps, h.Gaps); diff != "" || h.GapsTotal != 3 {
		t.Errorf("%s", diff)
	}
	var kinds []string
	for _, c := range h.Changes {
		kinds = append(kinds, c.Kind)
	}
	if diff := cmp.Diff([]string{"clock", "boot", "busy_process", "rise", "oom_kill", "unit_failed"}, kinds); diff != "" {
		t.Errorf("%s\n%v", diff, textsOf(h))
	}
	for i, want := range []string{"The clock was set forward by 1 d 0 h at 2027-03-02 10:01.", "The machine was started at 2027-03-03 01:20."} {
		if h.Changes[i].Text != want {
			t.Errorf("%s, want %s", h.Changes[i].Text, want)
		}
	}
	if len(h.Series) != 1 || len(h.Series[0].Buckets) != askedBuckets || h.Samples != r.Len() {
		t.Errorf("%d samples, %+v", h.Samples, h.Series)
	}
	for _, b := range h.Series[0].Buckets {
		if b.Min > b.Mean || b.Mean > b.Max || b.Min < 0.25 || b.Max > 8.1 {
			t.Errorf("%+v", b)
		}
	}
}

// What is not known is neither guessed nor drawn.
func TestNothingIsTakenForWhatWasNotRecorded(t *testing.T) {
	r := week()
	since := at("2027-03-06 12:05")
	h := Tell(r, "load", since, at("2027-03-06 14:55"), nil, -1)
	if h.Samples != 0 || len(h.Series[0].Buckets) != 0 || len(h.Figures) != 0 || len(h.Changes) != 0 || len(h.Gaps) != 1 {
		t.Errorf("%+v", h)
	}
	h = Tell(r, "load", at("2027-03-06 11:00"), at("2027-03-06 16:00"), nil, -1)
	for _, b := range h.Series[0].Buckets {
		if b.Time > "2027-03-06T11:05:00Z" && b.Time < "2027-03-06T13:50:00Z" {
			t.Errorf("a bucket without a sample: %+v", b)
		}
	}
	r.Now = r.Now.Add(time.Hour)
	r.Up += time.Hour
	h = Tell(r, "", r.Now.Add(-2*time.Hour), r.Now, nil, -1)
	if len(h.Gaps) != 1 || h.Gaps[0].Reason != gapSince || h.Gaps[0].From != h.LastSample {
		t.Errorf("%+v", h.Gaps)
	}
	r.Damaged = 2
	if h = Tell(r, "", since, r.Now, nil, -1); len(h.Unavailable) != 1 || !strings.Contains(h.Unavailable[0].Reason, "2 records were damaged") {
		t.Errorf("%+v", h.Unavailable)
	}
}

// Why there are no samples is told by those before and after, also where they are not asked for.
func TestWhyNothingIsKnown(t *testing.T) {
	r := week()
	for _, c := range []struct{ since, until, want string }{
		{"2027-02-20 12:00", "2027-02-20 13:00", gapBefore},
		{"2027-03-03 01:05", "2027-03-03 01:15", gapOff},
		{"2027-03-03 01:05", "2027-03-03 01:30", gapOff},
		{"2027-03-06 13:00", "2027-03-06 16:00", gapMissed},
	} {
		h := Tell(r, "", at(c.since), at(c.until), nil, -1)
		if len(h.Gaps) != 1 || h.Gaps[0].Reason != c.want || h.Gaps[0].From != stamp(at(c.since)) {
			t.Errorf("from %s: %+v, want %s", c.since, h.Gaps, c.want)
		}
	}
	r.Now, r.Up = r.Now.Add(5*time.Hour), r.Up+5*time.Hour
	if h := Tell(r, "", r.Now.Add(-2*time.Hour), r.Now.Add(-time.Hour), nil, -1); len(h.Gaps) != 1 || h.Gaps[0].Reason != gapSince {
		t.Errorf("after the last: %+v", h.Gaps)
	}
}

// Whoever sets the clock to the year 9999 hides nothing.
func TestTimesGoByTheClockOfNow(t *testing.T) {
	m := &machine{now: at("2027-03-01 12:00"), began: at("2027-03-01 11:00"), clock: 200 * 365 * 24 * time.Hour}
	m.until(at("2027-03-01 13:00"), nil)
	h := Tell(m.recording("boot-0", 2*time.Hour), "", m.now.Add(-30*time.Minute), m.now, nil, -1)
	if h.Samples != 31 || h.LastSample != "2027-03-01T12:00:00Z" {
		t.Errorf("%+v", h)
	}
}

// A virtual machine that is paused for 8 hours: its clocks stand still, that since boot too, and some minutes
// after it the other one is set.
func TestAPauseMovesNothing(t *testing.T) {
	paused := func(right bool) Recording {
		m := &machine{now: at("2027-03-05 02:00"), began: at("2027-03-05 01:00")}
		sample := func(s *Sample) { s.Right = right }
		m.until(at("2027-03-05 03:12"), sample)
		m.minute(func(s *Sample) { s.Right, s.Events = right, []Event{{Kind: OOMKill, Text: "mysqld"}} })
		m.until(at("2027-03-05 03:33"), sample)
		m.now, m.began, m.clock = m.now.Add(8*time.Hour), m.began.Add(8*time.Hour), -8*time.Hour
		m.until(at("2027-03-05 11:35"), sample)
		m.clock = 0
		m.minute(func(s *Sample) { s.Events = []Event{{Kind: ClockSet, Text: "28800"}} })
		m.until(at("2027-03-05 12:00"), sample)
		return m.recording("boot-0", m.now.Sub(m.began))
	}
	h := Tell(paused(true), "", at("2027-03-05 01:30"), at("2027-03-05 12:00"), nil, -1)
	want := []string{"mysqld was killed for want of memory at 03:13.", "The clock was set forward by 8 h 0 min at 11:36."}
	if diff := cmp.Diff(want, textsOf(h)); diff != "" || len(h.Unavailable) != 0 {
		t.Errorf("%s%+v", diff, h.Unavailable)
	}
	gaps := []Gap{{"2027-03-05T00:30:00Z", "2027-03-05T01:01:00Z", gapBefore}, {"2027-03-05T02:35:00Z", "2027-03-05T10:36:00Z", gapMissed}}
	if diff := cmp.Diff(gaps, h.Gaps); diff != "" {
		t.Error(diff)
	}
	h = Tell(paused(false), "", at("2027-03-05 01:30"), at("2027-03-05 12:00"), nil, -1)
	uncertain := answer.Gaps{{Field: "times", Reason: "those until 2027-03-05T10:35:00Z are uncertain: " + doubtSet}}
	if diff := cmp.Diff(uncertain, h.Unavailable); diff != "" || h.Changes[0].Text != "mysqld was killed for want of memory at 11:13." {
		t.Errorf("%s%q", diff, textsOf(h))
	}
}

// A power cut at 10:00, without a network, and with a clock that starts at 09:17, where it was last saved.
func TestBootsAreNotMixed(t *testing.T) {
	m := &machine{now: at("2027-03-05 08:00"), began: at("2027-03-05 07:00")}
	m.until(at("2027-03-05 10:00"), nil)
	m.now, m.began, m.boots = at("2027-03-05 09:17"), at("2027-03-05 09:17"), 1
	m.until(at("2027-03-05 10:17"), func(s *Sample) { s.Figures["load"] = 6 })
	h := Tell(m.recording("boot-1", time.Hour), "load", at("2027-03-05 07:00"), m.now, nil, 0)
	if h.FirstSample != "2027-03-05T06:18:00Z" || h.Samples != 180 {
		t.Errorf("from %s on %d samples", h.FirstSample, h.Samples)
	}
	for _, b := range h.Series[0].Buckets {
		if b.Min < 1 && b.Max > 1 {
			t.Errorf("two boots in %+v", b)
		}
	}
	want := answer.Gaps{{Field: "times", Reason: "those until 2027-03-05T08:17:00Z are uncertain: " + doubtBoot}}
	if diff := cmp.Diff(want, h.Unavailable); diff != "" {
		t.Error(diff)
	}
}

// A boot without a clock, and none of its samples after it was set, moves no other one to 1970.
func TestABootWithoutAClockMovesNoOther(t *testing.T) {
	m := &machine{now: at("2027-03-05 08:00"), began: at("2027-03-05 07:00")}
	m.until(at("2027-03-05 09:00"), nil)
	m.reboot(time.Minute, -57*365*24*time.Hour)
	m.until(at("2027-03-05 10:00"), nil)
	m.reboot(time.Minute, 0)
	m.until(at("2027-03-05 11:00"), nil)
	h := Tell(m.recording("boot-2", m.now.Sub(m.began)), "", at("2027-03-05 08:01"), m.now, nil, 0)
	if h.Samples != 60+59 || len(h.Unavailable) != 0 {
		t.Errorf("%d samples, %+v", h.Samples, h.Unavailable)
	}
	m.samples, m.now = m.samples[:119], at("1970-03-19 10:00") // it is the present one
	h = Tell(m.recording("boot-1", 59*time.Minute), "", m.now.Add(-24*time.Hour), m.now, nil, 0)
	if h.Samples != 119 || len(h.Unavailable) != 1 {
		t.Errorf("%d samples, %+v", h.Samples, h.Unavailable)
	}
}

// Somebody who sets the clock forward, and back again, has paused nothing.
func TestAClockThatWasAheadForAWhile(t *testing.T) {
	for _, ahead := range []bool{false, true} { // whether the kernel took it for synchronized
		m := &machine{now: at("2027-03-05 02:00"), began: at("2027-03-05 01:00")}
		right := func(s *Sample) { s.Right = true }
		m.until(at("2027-03-05 03:00"), right)
		m.clock = 24 * time.Hour
		m.until(at("2027-03-05 04:00"), func(s *Sample) { s.Right = ahead })
		m.clock = 0
		m.until(at("2027-03-05 05:00"), right)
		h := Tell(m.recording("boot-0", 4*time.Hour), "", at("2027-03-05 02:01"), m.now, nil, -1)
		if h.FirstSample != "2027-03-05T01:01:00Z" || h.Samples != 180 || len(h.Gaps) != 0 || len(h.Unavailable) != 0 {
			t.Errorf("from %s on %d samples, %+v, %+v", h.FirstSample, h.Samples, h.Gaps, h.Unavailable)
		}
	}
}

func TestARiseIsMoreThanWhatIsUsual(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"steady":             {[]float64{1, 1, 1, 1, 1, 1, 1, 1}, ""},
		"noise":              {[]float64{1, 1.8, 1, 1.5, 1, 1.9, 1, 1}, ""},
		"one high sample":    {[]float64{1, 1, 1, 2.5, 1, 1, 1, 1}, ""},
		"one very high":      {[]float64{1, 1, 1, 9, 1, 1, 1, 1}, "Load rose from 1.0 to 9.0 at 03:03, and was down again at 03:04."},
		"a step":             {[]float64{1, 1, 1, 4, 4, 4, 4, 4}, "Load rose from 1.0 to 4.0 at 03:03, and was still up at 03:07."},
		"a dip is no end":    {[]float64{1, 1, 1, 4, 1, 4, 1, 1}, "Load rose from 1.0 to 4.0 at 03:03, and was down again at 03:06."},
		"most of the time":   {[]float64{1, 1, 4, 4, 4, 4, 4, 4}, "Load rose from 1.0 to 4.0 at 03:02, and was still up at 03:07."},
		"slowly":             {[]float64{1, 1, 1, 1, 1, 3, 4, 5, 6, 7, 8, 9}, "Load rose from 1.0 to 9.0 at 03:05, and was still up at 03:11."},
		"step by step":       {[]float64{1, 1, 1, 1, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9}, "Load rose from 1.0 at 03:04 to 9.0 at 03:12, and was still up at 03:13."},
		"a noisy plateau":    {[]float64{1, 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 9}, "Load rose from 1.0 to 9.0 at 03:03, and was still up at 03:11."},
		"unknown":            {[]float64{math.NaN(), math.NaN()}, ""},
		"unknown in between": {[]float64{1, 1, 1, 4, math.NaN(), 4, 4, 4}, "Load rose from 1.0 to 4.0 at 03:03, and was still up at 03:07."},
	} {
		began := at("2027-03-01 03:00")
		var points []point
		for i, v := range c.values {
			points = append(points, point{began.Add(time.Duration(i) * time.Minute), "b", "", &kept{values: valuesOf(map[string]float64{"load": v})}})
		}
		got := ""
		for _, r := range rises(points, figureOf("load"), began) {
			got += r.change(teller{now: began}).Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestARiseEndsWhereNothingIsKnown(t *testing.T) {
	began := at("2027-03-01 03:00")
	var points []point
	for i, v := range []float64{1, 1, 5, 5, 5} {
		points = append(points, point{began.Add(time.Duration(i) * time.Minute), "b", "", &kept{values: valuesOf(map[string]float64{"load": v})}})
	}
	for i := range 5 {
		points = append(points, point{began.Add(time.Hour + time.Duration(i)*time.Minute), "b", "", &kept{values: valuesOf(map[string]float64{"load": 1})}})
	}
	got := rises(points, figureOf("load"), began)
	if len(got) != 1 || got[0].ended != began.Add(4*time.Minute) {
		t.Errorf("%+v", got)
	}
}

func TestProcessesThatGrowAreTold(t *testing.T) {
	m := &machine{now: at("2027-03-01 12:00"), began: at("2027-03-01 11:00")}
	size := 300.0
	m.until(at("2027-03-01 13:00"), func(s *Sample) {
		size += 30
		s.Largest = []Process{{77, "leak\n\x1b[31m", "", size}, {900, "mysqld", "mysql", 1200}}
	})
	h := Tell(m.recording("boot-0", 2*time.Hour), "", m.now.Add(-time.Hour), m.now, nil, -1)
	if len(h.Changes) != 1 || !strings.Contains(h.Changes[0].Text, "(PID 77) grew from 330 MiB to 2.1 GiB of memory between 12:00 and 13:00.") {
		t.Errorf("%q", textsOf(h))
	}
}

// Processes that live for a minute, in their thousands, neither push out one that goes on nor fill memory.
func TestThousandsOfShortLivesHideNoLongOne(t *testing.T) {
	m := &machine{now: at("2027-03-01 12:00"), began: at("2027-03-01 11:00")}
	n := 0
	m.until(at("2027-03-03 12:00"), func(s *Sample) {
		n += 2
		s.Busiest = []Process{{n, "cc1", "build", 99}, {n + 1, "as", "build", 98}}
		if hour := m.now.Hour(); m.now.Day() == 2 && hour < 3 {
			s.Busiest = append(s.Busiest, Process{999_999, "backup.sh", "backup", 30})
		}
	})
	r := m.recording("boot-0", 49*time.Hour)
	points := r.timeline()
	if list := (teller{owners: r.names.owners}).stretches(points, busyPercent, func(k *kept) []use { return k.busiest }, func(a, b stretch) int { return int(b.sum - a.sum) }); len(list) > maxStretches+2 || n < 2*maxStretches {
		t.Errorf("%d stretches of %d", len(list), n)
	}
	if got := busiest(points, teller{m.now, r.names.owners}); len(got) != toldBusy || got[0].Text != "\"backup.sh\" of user backup (PID 999999) took 30 % of a processor from 2027-03-01 23:59 until 2027-03-02 02:59." {
		t.Errorf("%+v", got)
	}
}

func TestRequestsInEverySpelling(t *testing.T) {
	now := at("2027-03-08 12:00")
	for _, c := range []struct {
		r            Request
		since, until string // "" is refused
	}{
		{Request{}, "2027-03-07 12:00", "2027-03-08 12:00"},
		{Request{Since: "-2h"}, "2027-03-08 10:00", "2027-03-08 12:00"},
		{Request{Since: "yesterday", Until: "today"}, "2027-03-07 00:00", "2027-03-08 00:00"},
		{Request{Until: "2027-03-05T02:00:00Z"}, "2027-03-04 03:00", "2027-03-05 03:00"},
		{Request{At: "03:12"}, "2027-03-08 02:42", "2027-03-08 03:42"},
		{Request{At: "now"}, "2027-03-08 11:30", "2027-03-08 12:00"},
		{Request{Since: "-1h", Until: "tomorrow"}, "2027-03-08 11:00", "2027-03-08 12:00"},
		{Request{Until: "9999-12-31"}, "2027-03-07 12:00", "2027-03-08 12:00"},
		{Request{Since: "1970-01-01"}, "1970-01-01 00:00", "2027-03-08 12:00"},
		{Request{At: "tomorrow"}, "", ""}, {Request{At: "9999-12-31"}, "", ""}, {Request{Since: "9999-12-31"}, "", ""}, {Request{Since: "nonsense"}, "", ""}, {Request{Until: "\x00"}, "", ""},
		{Request{Since: "today", Until: "yesterday"}, "", ""}, {Request{At: "-1h", Since: "-2h"}, "", ""}, {Request{Since: "-1h", Until: "-1h"}, "", ""},
	} {
		since, until, err := c.r.Span(now)
		if c.since == "" {
			if f := new(fault.Error); !errors.As(err, &f) || f.Code != fault.InvalidArgument || f.Fix == "" {
				t.Errorf("%+v: %v", c.r, err)
			}
			continue
		}
		if err != nil || !since.Equal(at(c.since)) || !until.Equal(at(c.until)) {
			t.Errorf("%+v: %v to %v, %v", c.r, since, until, err)
		}
	}
}

func TestTheMostImportantChangesStay(t *testing.T) {
	r := week()
	h := Tell(r, "", at("2027-03-05 03:00"), at("2027-03-05 04:00"), nil, 2)
	if len(h.Changes) != 2 || h.ChangesTotal != 6 || h.Changes[0].Kind != OOMKill || h.Changes[1].Kind != UnitFailed {
		t.Errorf("%q of %d", textsOf(h), h.ChangesTotal)
	}
	if !slices.IsSortedFunc(h.Changes, func(a, b Change) int { return a.at.Compare(b.at) }) {
		t.Error("not in their order")
	}
}

// Whoever has a process killed each minute hides nothing else.
func TestManyKillsLeaveRoomForOthers(t *testing.T) {
	m := &machine{now: at("2027-03-08 08:00"), began: at("2027-03-08 07:00")}
	m.minute(func(s *Sample) { s.Events = []Event{{Kind: Installed}} })
	m.until(at("2027-03-08 12:00"), func(s *Sample) {
		n := len(m.samples)
		s.Events = []Event{{Kind: OOMKill, Text: `"sh" (user mallory)`, Times: 3}, {Kind: OOMKill, Text: fmt.Sprintf("%q (user mallory)", fmt.Sprint("x", n)), Ago: 5}}
		if n == 200 {
			s.Events = append(s.Events, Event{Kind: UnitFailed, Text: "auditd.service"})
		}
	})
	h := Tell(m.recording("boot-0", 5*time.Hour), "", at("2027-03-08 07:30"), m.now, nil, 8)
	want := []string{"Packages were installed, updated or removed at 08:01.", "auditd.service failed at 11:21."}
	got := slices.DeleteFunc(textsOf(h), func(text string) bool { return strings.HasPrefix(text, `"x`) })
	if diff := cmp.Diff(want, got); diff != "" || len(h.Changes) != 8 || h.ChangesTotal != 242 {
		t.Errorf("%d of %d\n%s", len(h.Changes), h.ChangesTotal, diff)
	}
	h = Tell(m.recording("boot-0", 5*time.Hour), "", at("2027-03-08 07:30"), m.now, nil, 0)
	if many := `"sh" (user mallory) was killed for want of memory 717 times, from 08:02 to 12:00.`; len(h.Changes) != 242 || h.Changes[2].Text != many {
		t.Errorf("%d changes, the third is %s", len(h.Changes), h.Changes[2].Text)
	}
}
