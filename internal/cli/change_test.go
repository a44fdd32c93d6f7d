// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/config"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/host"
	"sentinel/internal/humanize"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/services"
	"sentinel/internal/testenv"
)

// changing is a session with a journal of its own.
func changing(t *testing.T) (session, invocation) {
	t.Helper()
	s := session{host: &host.Host{StartID: func(int) (string, error) { return "1.1", nil }}, journal: quietJournal(t.TempDir()), root: true, named: Program{}.named}
	op, _ := ops.ByName("restart_service")
	return s, invocation{op: op, args: ops.Arguments{}}
}

// failing is a change that ends with err.
func failing(err error) change {
	return change{object: map[string]any{"service": "x.service"}, do: func(context.Context) (changed, error) { return nil, err }}
}

// A failure is in the journal too, and its document says where.
func TestAFailedChangeNamesItsRecord(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"with an object": {fault.New(fault.RestartFailed, "No.").WithObject(serviceObject{"x.service"}), `"label":"x.service","journal_seq":1}`},
		"without":        {errors.New("boom"), `"journal_seq":1}`},
		"cancelled":      {context.Canceled, `"journal_seq":1}`},
	} {
		s, call := changing(t)
		_, err := s.commit(t.Context(), call, failing(c.err))
		raw, broken := json.Marshal(fault.NewDocument("restart_service", err))
		if broken != nil || !strings.HasSuffix(string(raw), c.want) {
			t.Errorf("%s: %s, %v; want %s at its end", name, raw, broken, c.want)
		}
		if fault.From(err).Code != fault.From(c.err).Code {
			t.Errorf("%s: became %v", name, err)
		}
	}
}

// What a user has begun in a day counts, whatever it was.
func TestAUserWhoWritesTheJournalFullIsStopped(t *testing.T) {
	s, call := changing(t)
	s.journal, s.config = quietJournal(testenv.MemDir(t)), config.Default()
	eve, other := 1000, 1001
	s.who = journal.Who{SudoUID: &eve}
	for range perDay {
		if _, err := s.journal.Begin(t.Context(), journal.Intent{Tool: "send_telemetry_webhook", Who: s.who}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.commit(t.Context(), call, failing(nil))
	if e := fault.From(err); e.Code != fault.RateLimited || !strings.HasPrefix(e.Fix, "Wait 1440 min;") {
		t.Errorf("%v %s", err, e.Fix)
	}
	s.who = journal.Who{SudoUID: &other}
	if _, err := s.commit(t.Context(), call, failing(errors.New("done"))); fault.From(err).Code == fault.RateLimited {
		t.Errorf("another user: %v", err)
	}
}

// An outcome that was lost is said, also when the change has failed.
func TestAFailedChangeSaysThatItsOutcomeWasLost(t *testing.T) {
	dir := t.TempDir()
	s, call := changing(t)
	s.journal = quietJournal(dir)
	c := failing(nil)
	c.do = func(context.Context) (changed, error) {
		if err := os.Chmod(filepath.Join(dir, "log"), 0o777); err != nil { // which is refused
			t.Error(err)
		}
		return nil, fault.New(fault.RestartFailed, "No.")
	}
	_, err := s.commit(t.Context(), call, c)
	raw, _ := json.Marshal(fault.NewDocument("restart_service", err))
	if !strings.Contains(string(raw), `"journal_seq":1,"unavailable":[{"field":"journal","reason":"the outcome was not recorded: `) {
		t.Errorf("%s", raw)
	}
}

// On a terminal the log lines are what the person needs.
func TestAFailedRestartShowsItsLog(t *testing.T) {
	p := newPage(80, false)
	failedChange{failedRestart{services.Restarted{Label: "x.service", Log: []string{"it hurts"}}}, record{}}.explain(p)
	if got := string(p.bytes()); !strings.Contains(got, "Its last log lines:\nit hurts\n") {
		t.Errorf("%q", got)
	}
	raw, err := json.Marshal(failedRestart{services.Restarted{Label: "x.service", Log: []string{"it hurts"}}})
	if err != nil || !strings.Contains(string(raw), `"label":"x.service"`) || !strings.Contains(string(raw), `"log":["it hurts"]`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// A service may write anything to its log. The last line is what tells most.
func TestAFailedRestartFitsAModel(t *testing.T) {
	done := services.Restarted{Label: "x.service", Message: wide(300)}
	for n := range 10 {
		done.Log = append(done.Log, strings.Repeat("🦊", 299)+strconv.Itoa(n))
	}
	err := failedToRestart("restart_service", fault.New(fault.RestartFailed, wide(400)), failedRestart{done})
	noted := record{JournalSeq: 1 << 40, Unavailable: answer.Gaps{{Field: "journal", Reason: "the outcome was not recorded: " + wide(150)}}}
	d := fault.NewDocument("restart_service", noted.on(err))
	raw, encodeErr := encode(d, false)
	var got services.Restarted
	if json.Unmarshal(raw, &got) != nil || encodeErr != nil || len(raw) > usualAnswer {
		t.Fatalf("%d bytes, %v", len(raw), encodeErr)
	}
	if n := len(got.Log); n < 2 || !slices.Equal(got.Log, done.Log[10-n:]) {
		t.Errorf("%d lines, the last %q", n, got.Log)
	}
	short := failedRestart{services.Restarted{Log: []string{"1", "2"}}}
	if kept := fault.From(failedToRestart("restart_service", fault.New(fault.RestartFailed, "No."), short)).With; !slices.Equal(kept.(failedRestart).Log, short.Log) {
		t.Errorf("of a short log %v", kept)
	}
}

func TestADryRunShowsWhatTheFirewallCloses(t *testing.T) {
	e := firewall.Enabled{Details: "said already", ClosesTotal: 2, Closes: []firewall.Listener{{Port: firewall.Port{Number: 8080, Protocol: "tcp"}, Process: "python3"}}}
	d := dryDocument{Header: answer.NewHeader("enable_firewall", true), DryRun: true, Details: "ufw would be switched on.", Preview: enablePreview{Enabled: e}}
	p := newPage(80, false)
	d.view(p)
	got := string(p.bytes())
	for _, want := range []string{"DRY RUN: ufw would be switched on.\nNothing was changed.\n", "1 of 2 services that other hosts could not reach any more", "8080/tcp  python3"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
	raw, err := json.Marshal(d)
	if err != nil || strings.Contains(string(raw), "said already") || !strings.Contains(string(raw), `"closes_total":2`) {
		t.Errorf("%s, %v", raw, err)
	}
}

// A journal that was removed is no machine on which nothing was changed.
func TestTheHistoryOfARemovedJournalIsDamaged(t *testing.T) {
	dir := t.TempDir()
	s, call := changing(t)
	s.journal = quietJournal(dir)
	call.args = ops.Arguments{"last": 5}
	if _, err := s.commit(t.Context(), call, failing(errors.New("boom"))); err == nil {
		t.Fatal("it did not fail")
	}
	if err := os.Remove(filepath.Join(dir, "log", "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	doc, err := runActionHistory(t.Context(), s, call)
	if err != nil {
		t.Fatal(err)
	}
	h := doc.(*historyDocument)
	if len(h.Unavailable) != 1 || h.Unavailable[0].Field != "actions" || !strings.Contains(h.Unavailable[0].Reason, "record 2 was written") {
		t.Errorf("%+v", h)
	}
	p := newPage(80, false)
	h.view(p)
	if got := string(p.bytes()); !strings.HasPrefix(got, "DAMAGED: ") || strings.Contains(got, "Nothing was changed") {
		t.Errorf("%s", got)
	}
	_, err = runVerifyJournal(t.Context(), s, call)
	if e := fault.From(err); e.Code != fault.JournalFailed || !strings.Contains(e.Message, "in 1 place; the first: the journal ends with record 0") {
		t.Errorf("%v", err)
	}
}

// Whoever looks at a narrow page needs the time and the address, if anything.
func TestTheHistoryShowsTimesAndAddressesInFull(t *testing.T) {
	const address = "2001:db8:1111:2222:3333:4444:5555:6666"
	at := time.Now()
	h := &historyDocument{Header: answer.NewHeader("action_history", true), Total: 1, Actions: []journal.Action{{
		Time: at, Tool: "block_ip_address", Arguments: map[string]any{"ip": address}, Reason: strings.Repeat("why ", 50),
		Who: journal.Who{User: "root", SudoUser: "ann", Caller: "an assistant"}, State: "done",
	}}}
	for _, width := range []int{40, 80, 120} {
		p := newPage(width, false)
		h.view(p)
		got := string(p.bytes())
		for _, want := range []string{at.Format("01-02 15:04 -07:00"), address, "ann"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in the page of %d columns:\n%s", want, width, got)
			}
		}
		if strings.Contains(got, "through an") != (width == 120) {
			t.Errorf("who, at %d:\n%s", width, got)
		}
	}
}

func TestTheHistoryShowsWhoAgreed(t *testing.T) {
	h := &historyDocument{Header: answer.NewHeader("action_history", true), Total: 2, Actions: []journal.Action{
		{Tool: "block_ip_address", Who: journal.Who{User: "root", SudoUser: "ann", Caller: "Desk/1", Asked: "accepted by ann through Desk/1"}, State: "done"},
		{Tool: "unblock_ip_address", Who: journal.Who{User: "root", SudoUser: "bob", Caller: "Desk/1", From: "203.0.113.7"}, State: "done"},
	}}
	for width, want := range map[int][]string{80: {"ann (agreed)", "bob "}, 120: {"ann (agreed) through Desk/1", "bob through Desk/1 from 203.0.113.7"}} {
		p := newPage(width, false)
		h.view(p)
		for _, text := range want {
			if got := string(p.bytes()); !strings.Contains(got, text) {
				t.Errorf("%q is not in the page of %d columns:\n%s", text, width, got)
			}
		}
	}
}

// A page has one zone, that of the machine, and says which it is.
func TestTimesHaveTheirOffset(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = time.FixedZone("IST", 19800)
	for given, want := range map[string]string{"2026-07-01T06:30:00Z": "2026-07-01 12:00 +05:30", "": "-", "soon": "soon"} {
		if got := whenText(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestTheListShowsAddressesAndEndsInFull(t *testing.T) {
	const address = "2001:db8:1111:2222:3333:4444:5555:6666"
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	d := &blockedDocument{answer.NewHeader("list_blocked", true), blocklist.Listing{
		EntriesTotal: 2, IPsTotal: 1, Backend: "nftables", InSync: new(false), Warnings: []string{"Differs: sudo sentinel --restore-blocklist"},
		Drift: &blocklist.Drift{Missing: []string{address}, MissingTotal: 1, Unlisted: []string{"203.0.113.9"}, UnlistedTotal: 2},
		Entries: []blocklist.Row{
			{IP: address, BlockedBy: "ann", Reason: strings.Repeat("why ", 50), ExpiresAt: ends.Format(time.RFC3339)},
			{IP: "203.0.113.7", BlockedBy: "ann", Permanent: true},
		},
	}}
	for _, width := range []int{40, 80} {
		p := newPage(width, false)
		d.view(p)
		got := string(p.bytes())
		for _, want := range []string{
			address, humanize.Moment(ends), " never ", "Note: Differs: sudo sentinel --restore-blocklist On the list and not dropped: " + address + " ",
			"Dropped and not on the list: 203.0.113.9 and 1 more",
		} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
				t.Errorf("%q is not in the page of %d columns:\n%s", want, width, got)
			}
		}
		if n := strings.Count(got, "--restore-blocklist"); n != 1 {
			t.Errorf("the advice is there %d times", n)
		}
	}
}

// Without root nobody knows what the packet filter drops.
func TestAnEmptyListIsNoWordAboutThePacketFilter(t *testing.T) {
	for inSync, want := range map[*bool]string{nil: "NONE: No address is on the list; whether", new(true): "NONE: No address is blocked."} {
		p := newPage(120, false)
		(&blockedDocument{answer.NewHeader("list_blocked", true), blocklist.Listing{InSync: inSync}}).view(p)
		if !strings.HasPrefix(string(p.bytes()), want) {
			t.Errorf("%q, want %q", p.bytes(), want)
		}
	}
}
