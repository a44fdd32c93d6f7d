// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
)

// A list is a Source of checks with fixed findings.
type list []Check

func (l list) Checks() []Check { return l }

func about(id string, s Severity, weight int) About {
	return About{ID: id, Name: "The " + id, Severity: s, Weight: weight, Reference: "CIS 1.1", Description: "It matters.", Formula: "PASS always."}
}

func finding(id string, s Severity, weight int, f Finding) Check {
	return Check{About: about(id, s, weight), Run: func(context.Context) Finding { return f }}
}

func run(t *testing.T, source Source, o Options) Report {
	t.Helper()
	r, err := Run(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestScoreIsTheShareOfWhatWasEvaluated(t *testing.T) {
	pass, warn, fail := Passed("on"), Warned("so", "repair", "where"), Failed("off", "repair", "where")
	for _, c := range []struct {
		name     string
		findings []Finding // of weight 1, 2, 3, ... and severity medium, except the first, which is high
		want     Report
	}{
		{"all pass", []Finding{pass, pass}, Report{Overall: OverallPass, Score: 100, Coverage: 1, Evaluated: 2, Applicable: 2}},
		{"a warning is half", []Finding{pass, warn}, Report{Overall: OverallWarning, Score: 66, Coverage: 1, Evaluated: 2, Applicable: 2}},
		{"a failure is nothing", []Finding{pass, fail}, Report{Overall: OverallWarning, Score: 33, Coverage: 1, Evaluated: 2, Applicable: 2}},
		{"a failure of severity high", []Finding{fail, pass, pass}, Report{Overall: OverallFail, Score: 83, Coverage: 1, Evaluated: 3, Applicable: 3}},
		{"a warning of severity high", []Finding{warn, pass, pass}, Report{Overall: OverallWarning, Score: 91, Coverage: 1, Evaluated: 3, Applicable: 3}},
		{"unseen lowers the coverage alone", []Finding{pass, Unseen("hidden"), Unread("x", errors.New("broken"))}, Report{Overall: OverallPass, Score: 100, Coverage: 0.33, Evaluated: 1, Applicable: 3}},
		{"what does not apply counts nowhere", []Finding{pass, NotApplicable("none here")}, Report{Overall: OverallPass, Score: 100, Coverage: 1, Evaluated: 1, Applicable: 1}},
	} {
		var source list
		for i, f := range c.findings {
			source = append(source, finding(fmt.Sprintf("a.%d", i), []Severity{High, Medium}[min(i, 1)], i+1, f))
		}
		got := run(t, source, Options{})
		got.Checks, got.Skipped, got.ChecksTotal = nil, nil, 0
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTheWorstComesFirstAndAPassIsBrief(t *testing.T) {
	evidence := []string{"1", "2", "3", "4", "5", "6", "7"}
	got := run(t, list{
		finding("a.pass", High, 1, Finding{Status: Pass, Value: "on", Evidence: evidence, Fix: "none"}),
		finding("a.warn", High, 1, Warned("so", "repair")),
		finding("a.low", Low, 1, Failed("off", "repair")),
		finding("a.skip", Low, 1, NotApplicable("none \x1b[31mhere")),
		finding("a.high", High, 1, Failed("o\u202eff", "repair\n", evidence...)),
	}, Options{})
	want := []Result{
		{ID: "a.high", Name: "The a.high", Status: Fail, Value: "o\ufffdff", Severity: High, Reference: "CIS 1.1", Description: "It matters.", Evidence: []string{"1", "2", "3", "4", "5", "and 2 more"}, Fix: "repair "},
		{ID: "a.low", Name: "The a.low", Status: Fail, Value: "off", Severity: Low, Reference: "CIS 1.1", Description: "It matters.", Fix: "repair"},
		{ID: "a.warn", Name: "The a.warn", Status: Warn, Value: "so", Severity: High, Reference: "CIS 1.1", Description: "It matters.", Fix: "repair"},
		{ID: "a.pass", Name: "The a.pass", Status: Pass, Value: "on"},
	}
	if diff := cmp.Diff(want, got.Checks) + cmp.Diff([]Skipped{{"a.skip", "The a.skip", "none \ufffd[31mhere"}}, got.Skipped); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentHasTheFieldsOfTheSpecification(t *testing.T) {
	raw, err := json.Marshal(run(t, list{finding("a.b", Low, 1, Passed("on"))}, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"overall_status":"PASS","score":100,"coverage":1,"evaluated":1,"applicable":1,"checks":[{"id":"a.b","name":"The a.b","status":"PASS","value":"on"}],"checks_total":1,"skipped":[]}`
	if string(raw) != want {
		t.Errorf("got %s\nwant %s", raw, want)
	}
}

func TestExemptChecksAreNotRunAndCountNowhere(t *testing.T) {
	ran := false
	source := list{
		finding("a.b", High, 1, Passed("on")),
		{About: about("a.c", High, 1), Run: func(context.Context) Finding { ran = true; return Failed("off", "repair") }},
	}
	got := run(t, source, Options{Exempt: map[string]string{"a.c": "a lab machine"}})
	if ran || got.Overall != OverallPass || got.Applicable != 1 || got.Coverage != 1 {
		t.Errorf("ran %v, %+v", ran, got)
	}
	if diff := cmp.Diff([]Skipped{{"a.c", "The a.c", "exempt: a lab machine"}}, got.Skipped); diff != "" {
		t.Error(diff)
	}
	for exempt, words := range map[string]string{"a.x": "no such check", "a.b": "no reason"} {
		_, err := Run(t.Context(), source, Options{Exempt: map[string]string{exempt: " "}})
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.ConfigInvalid || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", exempt, err)
		}
	}
	if !KnownID(source, "a.b") || KnownID(source, "a") {
		t.Error("ids are not known")
	}
}

func TestNoVerdictAtAllIsAnError(t *testing.T) {
	_, err := Run(t.Context(), list{finding("a.b", High, 1, Unseen("hidden"))}, Options{})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Unavailable {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, list{finding("a.b", High, 1, Passed("on"))}, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A check that hangs, panics or is slow must not cost the verdicts of the others.
func TestOneBadCheckCostsItsOwnVerdictAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		source := list{
			{About: about("a.stuck", High, 1), Run: func(context.Context) Finding { <-stuck; return Passed("late") }},
			{About: about("a.slow", High, 1), Limit: 20 * time.Second, Run: func(context.Context) Finding { <-time.After(15 * time.Second); return Passed("slow") }},
			{About: about("a.broken", High, 1), Run: func(context.Context) Finding { panic("lost its way") }},
			finding("a.good", High, 1, Passed("on")),
		}
		start := time.Now()
		got := run(t, source, Options{})
		close(stuck)
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("took %v", took)
		}
		want := []Skipped{{"a.stuck", "The a.stuck", "the check: did not answer in time"}, {"a.broken", "The a.broken", "the check: broke off with an error of its own: lost its way"}}
		if diff := cmp.Diff(want, got.Skipped); diff != "" || got.Evaluated != 2 {
			t.Errorf("%d evaluated, %s", got.Evaluated, diff)
		}
	})
}

func TestAllChecksTogetherKeepTheTotalLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := list{finding("a.good", High, 1, Passed("on"))}
		for i := range 100 {
			source = append(source, Check{About: about(fmt.Sprintf("a.%d", i), Low, 1), Run: func(ctx context.Context) Finding { <-ctx.Done(); return Unread("x", ctx.Err()) }})
		}
		start := time.Now()
		got := run(t, source, Options{})
		if took := time.Since(start); took != TotalLimit {
			t.Errorf("took %v, want %v", took, TotalLimit)
		}
		if got.Evaluated != 1 || len(got.Skipped) != 100 {
			t.Errorf("%d evaluated, %d skipped", got.Evaluated, len(got.Skipped))
		}
	})
}

func TestAnAnswerStaysShortWhateverFails(t *testing.T) {
	var source list
	long := strings.Repeat("a long text ", 40)
	for i := range 120 {
		source = append(source, finding(fmt.Sprintf("family.check_%d", i), Medium, 1, Failed(long, long, long, long, long, long, long, long)))
	}
	for _, n := range []int{5, 20, 60, 120} {
		got := run(t, source[:n], Options{})
		raw, err := json.Marshal(got)
		if err != nil || len(raw) > maxAnswer {
			t.Errorf("%d checks: %d bytes, %v", n, len(raw), err)
		}
		if got.ChecksTotal != n || got.Truncated != (n > 5) {
			t.Errorf("%d checks: total %d, truncated %v", n, got.ChecksTotal, got.Truncated)
		}
		if n <= 60 && len(got.Checks) != n || got.Checks[0].Fix == "" {
			t.Errorf("%d checks: %d left, the first %+v", n, len(got.Checks), got.Checks[0])
		}
	}
	for _, n := range []int{5, 20, 120} { // a model hands fixes on
		got := run(t, source[:n], Options{Brief: true})
		raw, err := json.Marshal(got)
		if err != nil || len(raw) > maxBrief || len(got.Checks) < 5 || n < 120 && got.Checks[0].Fix == "" || got.Truncated != (n > 5) {
			t.Errorf("%d checks: %d bytes, %d left, truncated %v, %v", n, len(raw), len(got.Checks), got.Truncated, err)
		}
		for _, c := range got.Checks {
			if c.Fix != "" && !strings.HasSuffix(c.Fix, "as for family.check_0") && c.Fix != got.Checks[0].Fix {
				t.Errorf("%s: the fix is cut: %q", c.ID, c.Fix)
			}
		}
	}
	if whole := run(t, source, Options{Whole: true}); whole.Truncated || len(whole.Checks) != 120 || len(whole.Checks[119].Evidence) != 6 {
		t.Errorf("whole: %d checks, truncated %v", len(whole.Checks), whole.Truncated)
	}
}

func TestOnePieceOfEvidenceCountsTheOthers(t *testing.T) {
	for _, c := range [][2][]string{
		{{"a"}, {"a"}},
		{{"a", "b", "c"}, {"a", "and 2 more"}},
		{{"a", "b", "and 74 more"}, {"a", "and 75 more"}},
		{{"a", "and 5 more"}, {"a", "and 5 more"}},
		{{"a", "and more of it"}, {"a", "and 1 more"}},
	} {
		if diff := cmp.Diff(c[1], firstOnly(c[0])); diff != "" {
			t.Errorf("%q: %s", c[0], diff)
		}
	}
}

func TestABriefAnswerSaysWhatIsNotWellOnce(t *testing.T) {
	const end = " into a file, then run: sudo make it so and look whether it is"
	got := run(t, list{
		finding("a.pass", High, 1, Passed("on")),
		finding("a.one", High, 1, Failed("x = 0", "Write x = 1"+end, "sysctl: x = 0", "/etc/x:3: x = 0", "/etc/y:1: include x")),
		finding("a.two", Medium, 1, Warned("y = 0", "Write y = 1"+end, "/etc/y:2: y = 0")),
		finding("a.low", Low, 1, Warned("so", "Do something else", "/a: 1", "/b: 2", "/c: 3")),
		finding("a.none", Low, 1, NotApplicable("none here")),
		finding("a.unseen", Low, 1, Unseen("hidden")),
		finding("a.exempt", Low, 1, Passed("on")),
	}, Options{Brief: true, Exempt: map[string]string{"a.exempt": "a lab machine"}})
	want := []Result{
		{ID: "a.one", Status: Fail, Value: "x = 0", Severity: High, Evidence: []string{"/etc/y:1: include x"}, Fix: "Write x = 1" + end},
		{ID: "a.two", Status: Warn, Value: "y = 0", Severity: Medium, Evidence: []string{}, Fix: "Write y = 1 … as for a.one"},
		{ID: "a.low", Status: Warn, Value: "so", Severity: Low, Evidence: []string{"/a: 1", "and 2 more"}, Fix: "Do something else"},
	}
	if diff := cmp.Diff(want, got.Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	skipped := []Skipped{{"a.unseen", "The a.unseen", "hidden"}, {"a.exempt", "The a.exempt", "exempt: a lab machine"}}
	if diff := cmp.Diff(skipped, got.Skipped) + cmp.Diff([]string{"a.none"}, got.NotApplicable); diff != "" {
		t.Errorf("the rest (-want +got):\n%s", diff)
	}
	if *got.PassedTotal != 1 || got.ChecksTotal != 4 || got.Truncated {
		t.Errorf("%d pass of %d, truncated %v", *got.PassedTotal, got.ChecksTotal, got.Truncated)
	}
}

// What somebody has done here comes before what was left undone everywhere, but not before what lets
// somebody in.
func TestTheUnusualComesBeforeTheUndone(t *testing.T) {
	outcomes := []outcome{}
	for _, o := range []struct {
		id       string
		status   Status
		severity Severity
		unusual  bool
	}{
		{"a.undone", Fail, Medium, false}, {"a.low", Warn, Low, true}, {"a.fine", Pass, High, true}, {"a.medium", Fail, Medium, true}, {"a.high", Fail, High, false}, {"a.worst", Fail, High, true}, {"a.fine2", Pass, High, false},
	} {
		outcomes = append(outcomes, outcome{About{ID: o.id, Severity: o.severity, Weight: 1, Unusual: o.unusual}, Finding{Status: o.status, Applies: true}})
	}
	var order []string
	for _, c := range report(outcomes, maxEvidence).Checks {
		order = append(order, c.ID)
	}
	if diff := cmp.Diff([]string{"a.worst", "a.high", "a.medium", "a.low", "a.undone", "a.fine", "a.fine2"}, order); diff != "" {
		t.Error(diff)
	}
}
