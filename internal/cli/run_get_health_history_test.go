// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/journal"
	"sentinel/internal/testenv"
)

func TestWhatIsSentDoesNotPushOutWhatWasChanged(t *testing.T) {
	s := session{journal: quietJournal(testenv.MemDir(t))}
	act := func(tool string, n int) {
		for range n {
			e, err := s.journal.Begin(t.Context(), journal.Intent{Tool: tool, Who: journal.Who{User: "mallory"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Finish(t.Context(), journal.Outcome{Result: journal.Done}); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now().Add(-time.Minute)
	act("disable_firewall", 1)
	act("send_telemetry_webhook", 500)
	act("report", 1)
	act("tool_of_another_version", 1)
	var gaps answer.Gaps
	var got []string
	for _, c := range s.actionsBetween(t.Context(), began, time.Now(), &gaps) {
		got = append(got, c.Text)
	}
	want := []string{`Sentinel: tool_of_another_version, by "mallory": done.`, `Sentinel: disable_firewall, by "mallory": done.`}
	if diff := cmp.Diff(want, got); diff != "" || len(gaps) != 0 {
		t.Error(diff, gaps)
	}
}

func TestAHistorySaysWhichActionsItMayMiss(t *testing.T) {
	oldest := []journal.Action{{}, {Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	for want, h := range map[string]journal.History{
		"":                                   {Actions: oldest},
		"before 2026-03-01T12:00:00Z is not": {Actions: oldest, Truncated: true},
		"2 lines of the journal are damaged": {Unreadable: 2},
		"the journal is gone":                {Damage: "the journal is gone"},
	} {
		var gaps answer.Gaps
		noteMissing(h, &gaps)
		if len(gaps) != min(1, len(want)) || len(gaps) == 1 && (gaps[0].Field != "changes" || !strings.Contains(gaps[0].Reason, want)) {
			t.Errorf("%q: %+v", want, gaps)
		}
	}
}
