// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

func TestIntentsAndOutcomesComeTogether(t *testing.T) {
	j := fresh(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j.now = func() time.Time { now = now.Add(time.Second); return now }
	uid := 1000
	intents := []Intent{block("done"), block("failed"), block("killed"), block("running"), block("pending")}
	intents[0].Who = Who{UID: 0, User: "root", SudoUID: &uid, SudoUser: "alice"}
	intents[3].Program = Program{PID: 77, StartID: "b.9"}
	entries := make([]*Entry, len(intents))
	for i, intent := range intents {
		var err error
		if entries[i], err = j.Begin(t.Context(), intent, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, o := range map[int]Outcome{4: {Result: Pending}, 0: {Result: Done, Detail: "until tomorrow"}, 1: {Result: Failed, Code: "FIREWALL_FAILED"}} {
		if err := entries[i].Finish(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	alive := func(p Program) bool { return p == Program{PID: 77, StartID: "b.9"} }
	history, err := j.History(t.Context(), 10, alive)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range history.Actions {
		if ended := a.EndedAt != nil && a.EndedAt.After(a.Time); ended != (a.State != Running && a.State != Unknown) {
			t.Errorf("%s ended at %v", a.Reason, a.EndedAt)
		}
		got = append(got, strings.TrimSpace(a.Reason+": "+a.State+" "+a.Code+a.Detail))
	}
	want := []string{"pending: pending", "running: running", "killed: unknown", "failed: failed FIREWALL_FAILED", "done: done until tomorrow"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := history.Actions[4]
	first.EndedAt = nil
	wantFirst := Action{
		Seq: 1, Time: time.Date(2026, 3, 1, 12, 0, 1, 0, time.UTC), Tool: "block_ip_address", Arguments: map[string]any{"ip": "203.0.113.7", "ttl": 60.0},
		Reason: "done", Who: intents[0].Who, State: Done, Detail: "until tomorrow",
	}
	if diff := cmp.Diff(wantFirst, first); diff != "" {
		t.Error(diff)
	}
	if nobody, err := j.History(t.Context(), 10, nil); err != nil || nobody.Actions[1].State != Unknown {
		t.Errorf("%+v, %v", nobody, err)
	}
}

func TestTheLastOutcomeCounts(t *testing.T) {
	j := fresh(t)
	e := begin(t, j, "slow")
	for _, result := range []string{Pending, Done} {
		if _, err := j.appendRecord(t.Context(), Outcome{Result: result}.record(e.Seq()), nil, true); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := j.History(t.Context(), 1, nil); err != nil || h.Actions[0].State != Done {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestHistoryIsCutAndSaysSo(t *testing.T) {
	j := fresh(t)
	j.maxFile = 20 << 10
	act(t, j, 30)
	begin(t, j, "open")
	for _, test := range []struct{ last, want int }{{0, 0}, {-1, 0}, {1, 1}, {5, 5}, {30, 30}, {31, 31}, {500, 31}, {1 << 40, 31}} {
		h, err := j.History(t.Context(), test.last, nil)
		if err != nil || len(h.Actions) != test.want || h.Total != 31 || h.Truncated != (test.want < 31) {
			t.Errorf("last %d: %d of %d, truncated %v, %v", test.last, len(h.Actions), h.Total, h.Truncated, err)
		}
	}
}

// Text that a caller wrote must not count as a record.
func TestHistoryCountsRecordsAlone(t *testing.T) {
	j := fresh(t)
	intent := block("x")
	intent.Tool = `,"event":"intent",`
	e, err := j.Begin(t.Context(), intent, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(t.Context(), Outcome{Result: `,"event":"intent",`, Code: `,"event":"intent",`}); err != nil {
		t.Fatal(err)
	}
	if h, err := j.History(t.Context(), 0, nil); err != nil || h.Total != 1 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestHistorySaysHowMuchItCouldNotRead(t *testing.T) {
	j := fresh(t)
	act(t, j, 3)
	raw := string(read(t, j.current()))
	write0600(t, j.current(), []byte(strings.Replace(raw, "brute", "flute", 1)+"garbage\n"))
	h, err := j.History(t.Context(), 10, nil)
	if err != nil || h.Unreadable != 2 || h.Total != 2 || len(h.Actions) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.History(ctx, 10, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A journal that lost its end, or all of it, must not pass for one of a machine
// where nothing was changed.
func TestHistorySaysWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		harm   func(t *testing.T, j *Journal, head []byte)
		damage string
	}{
		"whole": {func(*testing.T, *Journal, []byte) {}, ""},
		"removed": {func(t *testing.T, j *Journal, _ []byte) {
			t.Helper()
			os.Remove(j.current())
		}, "record 4 was written"},
		"directory removed": {func(t *testing.T, j *Journal, _ []byte) {
			t.Helper()
			os.RemoveAll(j.dir)
		}, "record 4 was written"},
		"cut": {func(t *testing.T, j *Journal, _ []byte) {
			t.Helper()
			raw := read(t, j.current())
			write0600(t, j.current(), raw[:bytes.IndexByte(raw, '\n')+1])
		}, "the journal ends with record 1, but record 4 was written"},
		"head damaged": {func(t *testing.T, j *Journal, _ []byte) {
			t.Helper()
			write0600(t, j.headPath(), []byte("{}\n"))
		}, "head of the journal"},
		"crash before the head": {func(t *testing.T, j *Journal, head []byte) {
			t.Helper()
			write0600(t, j.headPath(), head)
		}, ""},
	} {
		j := fresh(t)
		act(t, j, 1)
		e := begin(t, j, "second")
		head := read(t, j.headPath())
		finish(t, e)
		c.harm(t, j, head)
		for _, last := range []int{0, 1, 10} {
			h, err := j.History(t.Context(), last, nil)
			if err != nil || len(h.Actions) > last || (h.Damage == "") != (c.damage == "") || !strings.Contains(h.Damage, c.damage) {
				t.Errorf("%s, last %d: %+v, %v; want damage %q", name, last, h, err, c.damage)
			}
		}
	}
}

func TestOnlySoManyBeginWithinATime(t *testing.T) {
	j := fresh(t)
	j.maxFile = maxLine + 500 // the records that count are in several files
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limit := &Limit{Most: 2, Within: time.Minute, Counts: func(r Record) bool { return r.Tool == "block_ip_address" }}
	other := block("other")
	other.Tool = "unblock_ip_address"
	for _, step := range []struct {
		at     time.Duration
		intent Intent
		limit  *Limit
		wait   string // in the fix of a refusal, empty when it begins
	}{
		{0, block("first"), limit, ""},
		{10 * time.Second, other, nil, ""},
		{20 * time.Second, block("second"), limit, ""},
		{30 * time.Second, block("third"), limit, "Wait 30 s;"},
		{30 * time.Second, other, limit, "Wait 30 s;"}, // the limit is what counts, not what asks
		{59500 * time.Millisecond, block("third"), limit, "Wait 1 s;"},
		{60 * time.Second, block("third"), limit, ""},
		{61 * time.Second, block("fourth"), limit, "Wait 19 s;"},
		{61 * time.Second, block("without a limit"), nil, ""},
		{-time.Hour, block("clock set back"), limit, ""},
		{61 * time.Second, block("clock set right"), limit, "Wait 59 s;"},
		{time.Hour, block("later"), limit, ""},
		{time.Hour, block("never"), &Limit{Most: 0, Within: time.Minute}, "Wait 60 s;"},
		{time.Hour, other, &Limit{Most: 2, Within: time.Minute}, ""}, // one has begun, and ended
		{time.Hour, other, &Limit{Most: 1, Within: time.Minute}, "Wait 60 s;"},
	} {
		j.now = func() time.Time { return start.Add(step.at) }
		before := verify(t, j).Records
		e, err := j.Begin(t.Context(), step.intent, step.limit)
		if step.wait == "" {
			if err != nil {
				t.Fatalf("%v %s: %v", step.at, step.intent.Reason, err)
			}
			finish(t, e)
			continue
		}
		var known *fault.Error
		if !errors.As(err, &known) || known.Code != fault.RateLimited || !strings.Contains(known.Fix, step.wait) {
			t.Errorf("%v %s: %+v", step.at, step.intent.Reason, err)
		}
		if after := verify(t, j).Records; after != before {
			t.Errorf("%v %s: %d records became %d", step.at, step.intent.Reason, before, after)
		}
	}
	sound(t, j)
}

// Whichever of several limits is reached refuses.
func TestEachOfSeveralLimitsHolds(t *testing.T) {
	j := fresh(t)
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	minute, day := &Limit{Most: 2, Within: time.Minute}, &Limit{Most: 3, Within: 24 * time.Hour}
	for _, step := range []struct {
		at   time.Duration
		wait string
	}{
		{0, ""}, {time.Second, ""}, {2 * time.Second, "Wait 58 s;"}, {time.Hour, ""}, {2 * time.Hour, "Wait 1320 min;"}, {24 * time.Hour, ""},
	} {
		j.now = func() time.Time { return start.Add(step.at) }
		e, err := j.Begin(t.Context(), block("x"), nil, minute, day)
		if step.wait == "" {
			if err != nil {
				t.Fatalf("%v: %v", step.at, err)
			}
			finish(t, e)
			continue
		}
		if known, ok := errors.AsType[*fault.Error](err); !ok || known.Code != fault.RateLimited || !strings.Contains(known.Fix, step.wait) {
			t.Errorf("%v: %+v", step.at, err)
		}
	}
}

// A timer reports every five minutes; what somebody did must not be lost among
// that.
func TestReportsByTheTimerAreOneAction(t *testing.T) {
	j := fresh(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j.now = func() time.Time { now = now.Add(time.Second); return now }
	act := func(tool string, o Outcome) {
		e, err := j.Begin(t.Context(), Intent{Tool: tool, Who: Who{User: "root"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Finish(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		act("report", Outcome{Result: Done})
	}
	act("restart_service", Outcome{Result: Done})
	act("restart_service", Outcome{Result: Done})
	for range 30 {
		act("report", Outcome{Result: Done})
	}
	act("report", Outcome{Result: Pending, Code: "WEBHOOK_QUEUED"})
	act("report", Outcome{Result: Pending, Code: "WEBHOOK_QUEUED"})
	for last, want := range map[int]string{
		10: "report pending+1 report done+29 restart_service done+0 restart_service done+0 report done+2 ",
		4:  "report pending+1 report done+29 restart_service done+0 restart_service done+0 ",
		2:  "report pending+1 report done+29 ",
		1:  "report pending+1 ",
		0:  "",
	} {
		h, err := j.History(t.Context(), last, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range h.Actions {
			got += fmt.Sprintf("%s %s+%d ", a.Tool, a.State, a.Repeated)
			if (a.Since != nil) != (a.Repeated > 0) || a.Since != nil && !a.Since.Before(a.Time) {
				t.Errorf("since %v, at %v", a.Since, a.Time)
			}
		}
		if got != want || h.Total != 37 || h.Truncated != (last < 10) {
			t.Errorf("%d: %s, %d in all, truncated: %v; want %s", last, got, h.Total, h.Truncated, want)
		}
	}
}

// What a client may do as often as it likes must not push out what changed the machine.
func TestTheSearchForASpanEnds(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := merger{span: &Span{at, at.Add(time.Hour), func(string) bool { return true }}}
	old := func(n int) {
		for range n {
			m.wants(Record{Time: at.Add(-time.Second)})
		}
	}
	old(maxOldInSpan - 1)
	if m.ended() || !m.wants(Record{Time: at}) {
		t.Error("it ends where the clock was set back for a while")
	}
	old(maxOldInSpan)
	if !m.ended() {
		t.Error("it goes through all that is kept")
	}
}

func TestOfASpanOnlyWhatIsWantedCounts(t *testing.T) {
	j := fresh(t)
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	j.now = func() time.Time { return now }
	act := func(tool string, n int) {
		for range n {
			e, err := j.Begin(t.Context(), Intent{Tool: tool, Reason: now.Format("15:04")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, e)
			now = now.Add(time.Second)
		}
	}
	act("disable_firewall", 1) // too early
	now = start.Add(time.Hour)
	act("disable_firewall", 1)
	act("send_telemetry_webhook", MaxHistory+10)
	now = time.Unix(0, 0) // before a machine without a clock of its own has the time
	act("restart_service", maxOldInARow+1)
	now = start.Add(2 * time.Hour)
	act("restart_service", 1)
	now = start.Add(3 * time.Hour)
	act("restart_service", 1) // too late
	span := Span{start.Add(time.Hour), start.Add(2 * time.Hour), func(tool string) bool { return tool != "send_telemetry_webhook" }}
	h, err := j.Between(t.Context(), span, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range h.Actions {
		got = append(got, a.Tool+" "+a.Reason+" "+a.State)
	}
	if want := []string{"restart_service 14:00 done", "disable_firewall 13:00 done"}; !cmp.Equal(got, want) || h.Truncated {
		t.Errorf("%q, truncated: %v; want %q", got, h.Truncated, want)
	}
	span.Wanted = func(string) bool { return true }
	if h, err = j.Between(t.Context(), span, nil); err != nil || len(h.Actions) != MaxHistory || !h.Truncated {
		t.Errorf("%d actions, truncated: %v, %v", len(h.Actions), h.Truncated, err)
	}
}
