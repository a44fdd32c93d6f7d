// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
)

// A fakeSource hands out what it has.
type fakeSource struct {
	entries  []Entry
	coverage Coverage
	asked    Selection
	err      error
	endless  func(i int) Entry // in place of entries
}

func (f *fakeSource) Unit(typed string) (string, error) {
	if typed == "bad" {
		return "", fault.New(fault.InvalidService, "It is bad.")
	}
	return typed + ".service", nil
}

func (f *fakeSource) Read(ctx context.Context, s Selection, yield func(Entry) bool) (Coverage, error) {
	f.asked = s
	for i := 0; f.endless != nil && ctx.Err() == nil; i++ {
		if !yield(f.endless(i)) {
			break
		}
	}
	for _, e := range f.entries {
		if !yield(e) {
			break
		}
	}
	if f.coverage.Logs == nil {
		f.coverage.Logs = []Log{}
	}
	return f.coverage, f.err
}

func report(t *testing.T, f *fakeSource, r Request) *Report {
	t.Helper()
	got, err := Read(t.Context(), f, r, noon)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTimesOfARequest(t *testing.T) {
	for _, c := range []struct{ unit, since, until, from, to string }{
		{"", "", "", "11:00:00", "12:00:00"}, {"web", "", "", "-12:00:00", "12:00:00"}, {"", "-2h", "-1h", "10:00:00", "11:00:00"},
		{"", "", "10:30", "09:30:00", "10:30:00"}, {"", "03:12", "9999-12-31", "03:12:00", "12:00:00"}, {"", "yesterday 13:00", "tomorrow", "-13:00:00", "12:00:00"},
	} {
		f := &fakeSource{}
		r := report(t, f, Request{Unit: c.unit, Since: c.since, Until: c.until})
		days := map[bool]string{true: "2026-03-03T", false: "2026-03-04T"}
		wantFrom := days[strings.HasPrefix(c.from, "-")] + strings.TrimPrefix(c.from, "-") + "Z"
		if r.Since != wantFrom || r.Until != "2026-03-04T"+c.to+"Z" || stamp(f.asked.Since) != r.Since {
			t.Errorf("%+v: %s to %s, want %s to %s", c, r.Since, r.Until, wantFrom, c.to)
		}
	}
	for _, r := range []Request{
		{Since: "+1h"}, {Since: "9999-12-31"}, {Since: "tomorrow"}, {Since: "soon"}, {Until: "2026-13-01"}, {Since: "-1h", Until: "-2h"}, {Since: strings.Repeat("9", 64)},
	} {
		if _, err := Read(t.Context(), &fakeSource{}, r, noon); err == nil || fault.From(err).Code != fault.InvalidArgument || !strings.Contains(fault.From(err).Fix, "-2h") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := (Request{Unit: "bad"}).Form(&fakeSource{}, noon); fault.From(err).Code != fault.InvalidService {
		t.Error(err)
	}
}

func TestPatternsAreOrderedByHowBadTheyAre(t *testing.T) {
	f := &fakeSource{entries: []Entry{
		entry(1, 6, "web.service", "web", "GET /1"), entry(2, 6, "web.service", "web", "GET /2"), entry(3, 6, "web.service", "web", "request failed: 5"),
		entry(4, 3, "db.service", "mysqld", "disk \x1b[31mfull\u202e"), entry(5, 6, "web.service", "web", "GET /3"),
	}}
	r := report(t, f, Request{})
	var got []string
	for _, p := range r.Patterns {
		got = append(got, fmt.Sprintf("%d %s %s %s %s|%s", p.Count, p.Priority, p.Unit, p.Program, p.Pattern, p.Sample))
	}
	want := []string{"1 err db.service mysqld |disk \ufffd[31mfull\ufffd", "1 info web.service  |request failed: 5", "3 info web.service  GET /#|GET /3"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || *r.LinesTotal != 5 || *r.ErrorsTotal != 1 || r.PatternsTotal != 3 || r.Truncated {
		t.Errorf("%q, %+v", got, r)
	}
	if p := r.Patterns[2]; p.First != "2026-03-04T12:00:01Z" || p.Last != "2026-03-04T12:00:05Z" {
		t.Errorf("%+v", p)
	}
	if r := report(t, f, Request{Rows: 1}); len(r.Patterns) != 1 || !r.Truncated || r.PatternsTotal != 3 {
		t.Errorf("%+v", r)
	}
}

// A user who writes errors of all kinds hides none of a service, and what a session tells of comes before what
// tells of no failure.
func TestAUserHidesNoErrorOfAService(t *testing.T) {
	f := &fakeSource{}
	add := func(priority int, unit, text string) {
		f.entries = append(f.entries, entry(len(f.entries), priority, unit, "kernel", text))
	}
	for i := range 2 * maxPatterns {
		word := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		add(0, []string{"session-3.scope", "user@1000.service"}[i%2], "I/O error of "+word)
		add(4, "session-4.scope", "it fails at "+word)
	}
	add(6, "cron.service", "all is well")
	add(6, "web.service", "request failed")
	add(3, "db.service", "disk full")
	r := report(t, f, Request{})
	if r.Patterns[0].Sample != "disk full" || r.Patterns[1].Sample != "request failed" || !strings.HasPrefix(r.Patterns[2].Sample, "I/O error") {
		t.Errorf("%+v", r.Patterns[:3])
	}
}

// The same of a job that stays in the unit of a service (cron of Debian), also where it writes what the service does.
func TestAUserWithinAServiceHidesNoneOfItsErrors(t *testing.T) {
	f := &fakeSource{}
	add := func(priority int, user bool, text string) {
		e := entry(len(f.entries), priority, "cron.service", "cron", text)
		e.User = user
		f.entries = append(f.entries, e)
	}
	for i := range 2 * maxPatterns {
		word := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		add(0, true, "I/O error of "+word)
		add(0, true, "disk full")
	}
	add(4, false, "request late")
	add(3, false, "disk full")
	add(6, false, "all is well")
	r := report(t, f, Request{})
	want := []Pattern{
		{Count: 1, Priority: "err", Sample: "disk full"}, {Count: 1, Priority: "warning", Sample: "request late"}, {Count: 2 * maxPatterns, Priority: "emerg", Sample: "disk full"},
	}
	for i, w := range want {
		if got := r.Patterns[i]; got.Count != w.Count || got.Priority != w.Priority || got.Sample != w.Sample {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

func TestRawGivesTheNewestLinesInOrder(t *testing.T) {
	f := &fakeSource{}
	for i := range 100 { // the newest first, then those of another log
		f.entries = append(f.entries, entry(199-2*i, 6, "a.service", "a", fmt.Sprint("line ", 199-2*i)))
	}
	for i := range 100 {
		f.entries = append(f.entries, entry(198-2*i, 6, "b.service", "b", fmt.Sprint("line ", 198-2*i)))
	}
	r := report(t, f, Request{Raw: true, Rows: 5})
	var got []string
	for _, l := range r.Lines {
		got = append(got, l.Text)
	}
	if strings.Join(got, ",") != "line 195,line 196,line 197,line 198,line 199" || !r.Truncated || *r.LinesTotal != 200 || r.Patterns != nil {
		t.Errorf("%q, %+v", got, r)
	}
}

// Somebody who asks for the letters of a secret one by one learns nothing.
func TestATextIsLookedForInWhatIsShown(t *testing.T) {
	f := &fakeSource{entries: []Entry{
		entry(1, 6, "", "app", "login with password=hunter2 for ann"), entry(2, 6, "", "app", "Login of ÄNNE"), entry(3, 6, "", "app", "logout"),
	}}
	for text, want := range map[string]int{"LOGIN": 2, "password=": 1, "hunter2": 0, "password=h": 0, "änne": 1, "": 3, "nothing": 0, ".*": 0} {
		if r := report(t, f, Request{Text: text}); *r.LinesTotal != want {
			t.Errorf("%q: %d lines, want %d", text, *r.LinesTotal, want)
		}
	}
	for _, raw := range []bool{true, false} {
		out, err := json.Marshal(report(t, f, Request{Raw: raw}))
		if err != nil || strings.Contains(string(out), "hunter2") {
			t.Errorf("%s, %v", out, err)
		}
	}
}

// In what was not read there may be any text.
func TestWhatIsTooLongIsCountedAndNotSearched(t *testing.T) {
	f := &fakeSource{entries: []Entry{entry(1, 6, "", "app", "(text not shown)"), entry(2, 6, "", "app", "hello")}}
	f.entries[0].TooLong = true
	want := answer.Gaps{{Field: "texts", Reason: "1 lines are too long to be read: they are counted and not shown, and no text is looked for in them"}}
	if r := report(t, f, Request{}); *r.LinesTotal != 2 || *r.ErrorsTotal != 0 || len(r.Patterns) != 2 || !slices.Equal(r.Unavailable, want) {
		t.Errorf("%+v", r)
	}
	if r := report(t, f, Request{Text: "shown"}); r.LinesTotal != nil || len(r.Patterns) != 0 || !slices.Equal(r.Unavailable, want) {
		t.Errorf("%+v", r)
	}
	if r := report(t, f, Request{Text: "hello"}); *r.LinesTotal != 1 || r.ErrorsTotal != nil {
		t.Errorf("%+v", r)
	}
}

func TestBootsAreTold(t *testing.T) {
	f := &fakeSource{entries: []Entry{entry(9, 6, "", "a", "x"), entry(7, 6, "", "a", "y"), entry(2, 6, "", "a", "z")}}
	f.entries[0].Boot, f.entries[1].Boot, f.entries[2].Boot = 2, 2, 1
	if r := report(t, f, Request{}); r.Boots != 2 || r.BootedBefore != "2026-03-04T12:00:07Z" {
		t.Errorf("%+v", r)
	}
	f.entries[2].Boot = 2
	if r := report(t, f, Request{}); r.Boots != 0 || r.BootedBefore != "" {
		t.Errorf("%+v", r)
	}
}

func TestErrorsAndGapsOfTheSource(t *testing.T) {
	f := &fakeSource{coverage: Coverage{Gaps: []Gap{{"journal", "no"}}}}
	if r := report(t, f, Request{}); len(r.Unavailable) != 1 || r.Unavailable[0].Field != "journal" {
		t.Errorf("%+v", r.Unavailable)
	}
	if r := report(t, f, Request{}); *r.LinesTotal != 0 || *r.ErrorsTotal != 0 {
		t.Errorf("%+v", r)
	}
	f.coverage.Incomplete = true
	if r := report(t, f, Request{}); r.LinesTotal != nil || r.ErrorsTotal != nil {
		t.Errorf("unknown is zero: %+v", r)
	}
	f.err = errors.New("none")
	if _, err := Read(t.Context(), f, Request{}, noon); !errors.Is(err, f.err) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, &fakeSource{}, Request{}, noon); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What was not reached within the time may hold an error.
func TestNoneWithinTheTimeIsNotZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := func(int) Entry {
			<-time.After(2 * time.Second) // of the bubble
			return entry(0, 6, "web.service", "web", "all is well")
		}
		r := report(t, &fakeSource{endless: endless}, Request{})
		if r.ErrorsTotal != nil || r.LinesTotal == nil || *r.LinesTotal != 13 {
			t.Errorf("%+v", r)
		}
		if r := report(t, &fakeSource{endless: endless}, Request{Text: "nothing"}); r.LinesTotal != nil || r.ErrorsTotal != nil {
			t.Errorf("%+v", r)
		}
	})
}

// However much there is, memory and the answer have bounds, and what was cut is told.
func TestMillionsOfLinesAreBounded(t *testing.T) {
	text := make([]byte, 0, 200)
	f := &fakeSource{coverage: Coverage{Logs: []Log{{Name: "journal", Stopped: true, ReadBackTo: noon}}}}
	f.endless = func(i int) Entry {
		text = append(text[:0], "request "...)
		for n := i / 20; n > 0; n /= 26 { // a new pattern now and then
			text = append(text, 'a'+byte(n%26))
		}
		text = append(text, " was served to somebody who waited for it for some time"...)
		e := entry(-i, 6, "web.service", "web", "")
		e.Text = text
		return e
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := report(t, f, Request{})
	runtime.ReadMemStats(&after)
	if *r.LinesTotal != maxLines || r.OtherLines < maxLines/2 || len(r.Patterns) != maxRows || r.ReadFrom != stamp(noon) || len(r.Unavailable) != 2 {
		t.Errorf("%d lines, %d other, %d patterns, %s, %v", *r.LinesTotal, r.OtherLines, len(r.Patterns), r.ReadFrom, r.Unavailable)
	}
	if used := int64(after.HeapSys) - int64(before.HeapSys); used > 20<<20 {
		t.Errorf("%d MB of heap", used>>20)
	}
}
