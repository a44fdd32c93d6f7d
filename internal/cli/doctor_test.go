// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/doctor"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
)

func doctored(checks ...doctor.Finding) doctorDocument {
	d := doctorDocument{answer.NewHeader("doctor", true), doctor.Report{Checks: checks}}
	for _, c := range checks {
		switch c.Status {
		case doctor.Problem:
			d.Problems++
		case doctor.Warning:
			d.Warnings++
		}
	}
	return d
}

func TestDoctorViewBeginsWithTheVerdictAndShowsEachFixOnce(t *testing.T) {
	fine := doctor.Finding{ID: "a", Name: "first", Status: doctor.OK, Value: "all well"}
	poor := doctor.Finding{ID: "b", Name: "second", Status: doctor.Warning, Value: "so so", Fix: "sudo fix " + strings.Repeat("long ", 20)}
	other := doctor.Finding{ID: "c", Name: "third", Status: doctor.Warning, Value: "so so too", Fix: poor.Fix}
	bad := doctor.Finding{ID: "d", Name: "fourth", Status: doctor.Problem, Value: "broken", Fix: "sudo replace"}
	for _, test := range []struct {
		checks  []doctor.Finding
		verdict string
	}{
		{[]doctor.Finding{fine}, "OK: 1 check, 0 problems, 0 warnings."},
		{[]doctor.Finding{fine, poor, other}, "WARNING: 3 checks, 0 problems, 2 warnings."},
		{[]doctor.Finding{fine, poor, other, bad}, "PROBLEM: 4 checks, 1 problem, 2 warnings."},
	} {
		p := newPage(80, false)
		doctored(test.checks...).view(p)
		text := string(p.bytes())
		if first, _, _ := strings.Cut(text, "\n"); first != test.verdict {
			t.Errorf("verdict %q, want %q", first, test.verdict)
		}
		whole := strings.Join(strings.Fields(text), " ")
		for _, c := range test.checks {
			want := c.Status + " " + c.Name + ": " + c.Value
			if c.Status == doctor.OK {
				want = "ok " + c.Name
			}
			if !strings.Contains(whole, want) {
				t.Errorf("%s is not on the page:\n%s", c.ID, text)
			}
			if fix := strings.Join(strings.Fields(c.Fix), " "); fix != "" && strings.Count(whole, fix) != 1 {
				t.Errorf("the fix of %s is there %d times, in full, want once:\n%s", c.ID, strings.Count(whole, fix), text)
			}
		}
	}
}

func TestDoctorDocumentNamesItsMembers(t *testing.T) {
	raw, err := json.Marshal(doctored(doctor.Finding{ID: "a", Name: "first", Status: doctor.Problem, Value: "broken", Fix: "repair"}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `"checks":[{"id":"a","name":"first","status":"problem","value":"broken","fix":"repair"}],"problems":1,"warnings":0}`
	if !bytes.Contains(raw, []byte(`{"success":true,"action":"doctor",`)) || !bytes.HasSuffix(raw, []byte(want)) {
		t.Errorf("%s, want %s at its end", raw, want)
	}
}

// Behind sudo the machine is looked at for the person who is there, whose
// environment nobody knows.
func TestDoctorLooksForWhoIsBehindSudo(t *testing.T) {
	uid := 1000
	for _, test := range []struct {
		who       journal.Who
		wantUID   int
		wantName  string
		wantPlace string
	}{
		{journal.Who{UID: 1000, User: "uid 1000"}, 1000, "", "/conf"},
		{journal.Who{UID: 0, User: "root"}, 0, "", "/conf"},
		{journal.Who{UID: 0, User: "root", SudoUID: &uid, SudoUser: "ann"}, 1000, "ann", ""},
	} {
		got := session{who: test.who, getenv: func(string) string { return "/conf" }}.user()
		place := ""
		if got.Env != nil {
			place = got.Env("XDG_CONFIG_HOME")
		}
		if got.UID != test.wantUID || got.Name != test.wantName || place != test.wantPlace {
			t.Errorf("%+v: %d, %q, %q, want %+v", test.who, got.UID, got.Name, place, test)
		}
	}
}

func TestDoctorAsksForTheToolsThatRootIsOfUseTo(t *testing.T) {
	want := map[string]bool{}
	for _, op := range ops.All() {
		if op.Privilege != ops.AnyUser && !op.OptIn {
			want[op.Name] = op.Privilege == ops.NeedsRoot
		}
	}
	got := map[string]bool{}
	for _, tool := range rootTools(nil) {
		got[tool.Name] = tool.Needs
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDoctorReadsTheJournalAsRootAlone(t *testing.T) {
	s := session{journal: quietJournal(t.TempDir())}
	if _, err := s.journalProbe(t.Context()); !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v, want a permission error", err)
	}
	s.root = true
	if seen, err := s.journalProbe(t.Context()); err != nil || !strings.Contains(seen, "0 records") {
		t.Errorf("%q, %v", seen, err)
	}
	e, err := s.journal.Begin(t.Context(), journal.Intent{Tool: "terminate_process"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(context.Background(), journal.Outcome{Result: journal.Done}); err != nil {
		t.Fatal(err)
	}
	if seen, err := s.journalProbe(t.Context()); err != nil || seen != "2 records in an unbroken chain" {
		t.Errorf("%q, %v", seen, err)
	}
}
