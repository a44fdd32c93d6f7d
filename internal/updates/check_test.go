// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/progress"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A fake is a Source that returns its fields.
type fake struct {
	pending    Pending
	reboot     Reboot
	os         string
	err        error // of Pending
	rebootErr  error
	versionErr error
}

func (f fake) Pending(context.Context) (Pending, error)  { return f.pending, f.err }
func (f fake) Reboot(context.Context) (Reboot, error)    { return f.reboot, f.rebootErr }
func (f fake) OSVersion(context.Context) (string, error) { return f.os, f.versionErr }

func check(t *testing.T, f fake, limit int) Report {
	t.Helper()
	r, err := Check(t.Context(), f, Options{Limit: limit, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func full() fake {
	return fake{
		pending: Pending{
			Manager: "apt",
			Updates: []Package{
				{Name: "bash", Current: "5.2-1", Candidate: "5.2-2", Security: new(false), Origin: "Debian:12.15/stable"},
				{Name: "zlib1g", Current: "1.2", Candidate: "1.3", Security: new(true), Origin: "Debian-Security:12/stable-security"},
				{Name: "apt", Current: "2.6.1", Candidate: "2.6.2", Security: new(false)},
			},
			Security: []string{"zlib1g"},
			Withheld: []Withheld{
				{"vim", "9.0", "9.1", Held, new(true)}, {"curl", "8.0", "8.1", Phased, new(false)}, {"gimp", "2", "3", KeptBack, new(false)}, {"emacs", "29", "30", Held, new(false)},
			},
			Extra: &Extra{Installs: 2, Removes: 1}, Refreshed: noon.Add(-90 * time.Minute), Busy: true,
		},
		reboot: Reboot{true, "Kernel 6.1.0-30 is installed, 6.1.0-25 is running."}, os: "Debian GNU/Linux 12 (bookworm)",
	}
}

func TestReportSaysWhatIsPendingAndHowOldThatIs(t *testing.T) {
	want := Report{
		Info: Info{
			UpdatesAvailable: new(true), LastChecked: "2026-11-21T10:30:00Z", OSVersion: "Debian GNU/Linux 12 (bookworm)",
			Updates: []string{"zlib1g 1.2 → 1.3", "apt 2.6.1 → 2.6.2", "bash 5.2-1 → 5.2-2"},
		},
		Manager: "apt", UpdatesTotal: new(3), SecurityTotal: new(1), SecurityUpdates: []string{"zlib1g"},
		Packages: []Row{
			{Name: "zlib1g", Current: "1.2", Candidate: "1.3", Security: new(true), Origin: "Debian-Security:12/stable-security"},
			{Name: "apt", Current: "2.6.1", Candidate: "2.6.2", Security: new(false)},
			{Name: "bash", Current: "5.2-1", Candidate: "5.2-2", Security: new(false), Origin: "Debian:12.15/stable"},
		},
		Withheld: []WithheldRow{
			{"vim", "9.0", "9.1", Held, new(true)}, {"curl", "8.0", "8.1", Phased, new(false)}, {"emacs", "29", "30", Held, new(false)}, {"gimp", "2", "3", KeptBack, new(false)},
		},
		Held: new(2), Phased: new(1), KeptBack: new(1), WithheldSecurity: new(1), Installs: new(2), Removes: new(1),
		ListAgeSeconds: new(int64(5400)), Busy: new(true), RebootRequired: new(true), RebootReason: "Kernel 6.1.0-30 is installed, 6.1.0-25 is running.",
		Unavailable: answer.Gaps{},
	}
	if diff := cmp.Diff(want, check(t, full(), DefaultLimit)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestAManagerThatMayBeInUseIsNotFree(t *testing.T) {
	f := full()
	f.pending.Busy = false
	if got := check(t, f, DefaultLimit).Busy; got == nil || *got {
		t.Errorf("free: %v", got)
	}
	f.pending.Gaps.Note(BusyField, "too many locks")
	got := check(t, f, DefaultLimit)
	if got.Busy != nil || !cmp.Equal(got.Unavailable, answer.Gaps{{Field: "busy", Reason: "too many locks"}}) {
		t.Errorf("%v, %v", got.Busy, got.Unavailable)
	}
}

func TestUnknownIsAbsentWithItsReason(t *testing.T) {
	gap := errors.New("nothing tells")
	for name, c := range map[string]struct {
		change func(*fake)
		field  string // of the gap
		reason string
		absent string // of the document
	}{
		"lists never fetched":  {func(f *fake) { f.pending = Pending{Manager: "apt", Unknown: gap} }, "info.updates", "nothing tells", `"updates_available":`},
		"no time":              {func(f *fake) { f.pending.Refreshed = time.Time{} }, "info.last_checked", errNoTime.Error(), `"last_checked":`},
		"no time, no age":      {func(f *fake) { f.pending.Refreshed = time.Time{} }, "info.last_checked", errNoTime.Error(), `"list_age_seconds":`},
		"a time in the future": {func(f *fake) { f.pending.Refreshed = noon.Add(time.Hour) }, "info.last_checked", errFuture.Error(), `"list_age_seconds":`},
		"nothing in old lists": {func(f *fake) {
			f.pending.Updates, f.pending.Withheld, f.pending.Refreshed = nil, nil, noon.Add(-60*24*time.Hour)
		},
			"info.updates_available", "the package lists are 60 d 0 h old, and know of no newer update", `"updates_available":`},
		"nothing in lists of the future": {func(f *fake) {
			f.pending.Updates, f.pending.Withheld, f.pending.Refreshed = nil, nil, noon.Add(time.Hour)
		}, "info.updates_available", errFuture.Error(), `"updates_available":`},
		"withheld, and no more known": {func(f *fake) {
			f.pending.Withheld = []Withheld{{"vim", "9.0", "9.1", Held, nil}, {"tk", "1", "2", Held, nil}}
		},
			"withheld_security", "whether 2 withheld updates close security holes is not known", `"withheld_security":`},
		"nothing in lists of no age":     {func(f *fake) { f.pending.Updates, f.pending.Withheld, f.pending.Refreshed = nil, nil, time.Time{} }, "info.updates_available", errNoTime.Error(), `"updates_available":`},
		"nothing in lists with a reason": {func(f *fake) { f.pending.Updates, f.pending.Withheld, f.pending.Doubt = nil, nil, gap }, "info.updates_available", "nothing tells", `"updates_available":`},
		"no sign of a reboot":            {func(f *fake) { f.rebootErr = gap }, "reboot_required", "nothing tells", `"reboot_required":`},
		"no name of the system":          {func(f *fake) { f.os = "" }, "info.os_version", "not provided by this system", `"os_version":`},
		"os-release unreadable":          {func(f *fake) { f.os, f.versionErr = "", fs.ErrPermission }, "info.os_version", "not readable without root", `"os_version":`},
		"no advisories": {func(f *fake) {
			f.pending.Security = nil
			f.pending.Gaps.Note("security_updates", "none published")
		}, "security_updates", "none published", `"security_total":`},
	} {
		f := full()
		c.change(&f)
		r := check(t, f, DefaultLimit)
		if diff := cmp.Diff(answer.Gap{Field: c.field, Reason: c.reason}, r.Unavailable[0]); diff != "" {
			t.Errorf("%s: gap (-want +got):\n%s", name, diff)
		}
		if raw := encoded(t, r); strings.Contains(raw, c.absent) {
			t.Errorf("%s: %s is there: %s", name, c.absent, raw)
		}
	}
}

func encoded(t *testing.T, r Report) string {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestNothingPendingIsKnownAndEmpty(t *testing.T) {
	f := full()
	f.pending.Updates, f.pending.Security, f.pending.Withheld = []Package{}, []string{}, []Withheld{}
	raw := encoded(t, check(t, f, DefaultLimit))
	for _, part := range []string{`"updates_available":false`, `"updates":[]`, `"updates_total":0`, `"security_total":0`, `"security_updates":[]`, `"packages":[]`, `"withheld":[]`, `"held":0`} {
		if !strings.Contains(raw, part) {
			t.Errorf("no %s in %s", part, raw)
		}
	}
}

// What an administrator holds back is open all the same.
func TestASecurityUpdateThatIsWithheldIsTold(t *testing.T) {
	f := full()
	f.pending.Updates, f.pending.Security = []Package{}, []string{}
	r := check(t, f, DefaultLimit)
	if *r.UpdatesTotal != 0 || *r.SecurityTotal != 0 || *r.WithheldSecurity != 1 || r.Info.UpdatesAvailable == nil || !*r.Info.UpdatesAvailable {
		t.Errorf("%s", encoded(t, r))
	}
	// Not known of one more, the number is short, and says so.
	f.pending.Withheld = append(f.pending.Withheld, Withheld{"tk", "1", "2", Held, nil})
	r = check(t, f, DefaultLimit)
	want := answer.Gaps{{Field: "withheld_security", Reason: "whether 1 withheld update closes security holes is not known"}}
	if diff := cmp.Diff(want, r.Unavailable); diff != "" || *r.WithheldSecurity != 1 {
		t.Errorf("%v of %s", diff, encoded(t, r))
	}
}

// macOS does not report the version of each update, and its label differs from its
// name.
func TestAnUpdateOfMacOSKeepsItsLabelAndItsRestart(t *testing.T) {
	f := full()
	f.pending.Updates = []Package{
		{Name: "macOS Tahoe 26.7", Current: "26.6", Candidate: "26.7", Label: "macOS Tahoe 26.7-25G229", Restart: new(true)},
		{Name: "Old Supplement", Label: "Old Supplement-", Restart: new(false)},
	}
	r := check(t, f, DefaultLimit)
	if diff := cmp.Diff([]string{"Old Supplement", "macOS Tahoe 26.7 26.6 → 26.7"}, r.Info.Updates); diff != "" {
		t.Error(diff)
	}
	want := []Row{
		{Name: "Old Supplement", Label: "Old Supplement-", Restart: new(false)},
		{Name: "macOS Tahoe 26.7", Current: "26.6", Candidate: "26.7", Label: "macOS Tahoe 26.7-25G229", Restart: new(true)},
	}
	if diff := cmp.Diff(want, r.Packages); diff != "" {
		t.Error(diff)
	}
}

func TestAgeIsNeverBelowZero(t *testing.T) {
	f := full()
	f.pending.Refreshed = noon.Add(30 * time.Second)
	if r := check(t, f, DefaultLimit); r.ListAgeSeconds == nil || *r.ListAgeSeconds != 0 {
		t.Errorf("age %v, want 0", r.ListAgeSeconds)
	}
}

func TestManagerThatCannotAnswerFailsTheAnswer(t *testing.T) {
	f := full()
	f.err = fault.New(fault.Unsupported, "No package manager.")
	if _, err := Check(t.Context(), f, Options{}); fault.From(err).Code != fault.Unsupported {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, full(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// many is a machine with n pending updates whose names have the maximum length;
// every third is a security update.
func many(n, length int) fake {
	f := full()
	f.pending.Updates, f.pending.Security, f.pending.Withheld = nil, []string{}, nil
	for i := range n {
		name := fmt.Sprintf("%04d%s", i, strings.Repeat("\u202e", length))
		f.pending.Updates = append(f.pending.Updates, Package{Name: name, Current: name, Candidate: name, Security: new(i%3 == 0), Origin: name, Label: name, Restart: new(true)})
		f.pending.Withheld = append(f.pending.Withheld, Withheld{name, name, name, KeptBack, new(false)})
		if i%3 == 0 {
			f.pending.Security = append(f.pending.Security, name)
		}
	}
	return f
}

func TestListsAreCutAndSaySo(t *testing.T) {
	r := check(t, many(120, 0), DefaultLimit)
	if len(r.Packages) != 50 || len(r.Info.Updates) != 50 || len(r.Withheld) != 50 || len(r.SecurityUpdates) != 40 || !r.Truncated {
		t.Errorf("rows %d, %d, %d, %d, truncated %v", len(r.Packages), len(r.Info.Updates), len(r.Withheld), len(r.SecurityUpdates), r.Truncated)
	}
	if *r.UpdatesTotal != 120 || *r.SecurityTotal != 40 || *r.KeptBack != 120 {
		t.Errorf("totals %d, %d, %d", *r.UpdatesTotal, *r.SecurityTotal, *r.KeptBack)
	}
	for i, row := range r.Packages {
		if *row.Security != (i < 40) {
			t.Errorf("row %d, %s: security %v", i, row.Name, *row.Security)
		}
	}
}

func TestDefaultAnswerStaysWithinItsBudget(t *testing.T) {
	for _, length := range []int{0, 20, 5000} {
		raw := encoded(t, check(t, many(3000, length), DefaultLimit))
		if len(raw) > budget {
			t.Errorf("names of %d: %d bytes", length, len(raw))
		}
		if strings.Contains(raw, "\u202e") {
			t.Errorf("names of %d reorder what is read", length)
		}
	}
}

func TestLimitOfTheCallerIsKept(t *testing.T) {
	if r := check(t, many(300, 100), 0); len(r.Packages) != 300 || r.Truncated {
		t.Errorf("all: %d rows, truncated %v", len(r.Packages), r.Truncated)
	}
	if r := check(t, many(300, 100), 200); len(r.Packages) != 200 || !r.Truncated {
		t.Errorf("200: %d rows, truncated %v", len(r.Packages), r.Truncated)
	}
	if r := check(t, many(300, 0), 3); len(r.Packages) != 3 || !r.Truncated {
		t.Errorf("3: %d rows, truncated %v", len(r.Packages), r.Truncated)
	}
}

// No update in lists of two months is no evidence for the audit either.
func TestNoSecurityUpdateIsOnlyTrueOfFreshLists(t *testing.T) {
	for name, c := range map[string]struct {
		pending Pending
		known   bool
	}{
		"fresh":         {Pending{Security: []string{}, Refreshed: noon.Add(-6 * 24 * time.Hour)}, true},
		"old":           {Pending{Security: []string{}, Refreshed: noon.Add(-60 * 24 * time.Hour)}, false},
		"old, with one": {Pending{Security: []string{"zlib1g"}, Refreshed: noon.Add(-60 * 24 * time.Hour)}, true},
		"doubtful":      {Pending{Security: []string{}, Refreshed: noon, Doubt: errors.New("no archive")}, false},
		"in the future": {Pending{Security: []string{}, Refreshed: noon.Add(time.Hour)}, false},
	} {
		if _, err := SecurityNames(t.Context(), fake{pending: c.pending}, noon); (err == nil) != c.known {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nor does it pass for none to hold every package back.
func TestWithheldSecurityUpdatesAreNamedToTheAudit(t *testing.T) {
	for name, c := range map[string]struct {
		waits    []string
		withheld []Withheld
		want     []string
		err      string
	}{
		"none":            {[]string{}, []Withheld{{"vim", "1", "2", Held, new(false)}}, []string{}, ""},
		"held alone":      {[]string{}, []Withheld{{"vim", "1", "2", Held, new(true)}, {"tk", "1", "2", Phased, new(true)}}, []string{"vim (held)", "tk (phased)"}, ""},
		"beside another":  {[]string{"zip"}, []Withheld{{"vim", "1", "2", KeptBack, new(true)}, {"tk", "1", "2", Held, nil}}, []string{"zip", "vim (kept back)"}, ""},
		"nobody knows":    {[]string{}, []Withheld{{"vim", "1", "2", Held, nil}}, nil, "whether 1 withheld update closes security holes is not known"},
		"others wait too": {[]string{"zip"}, []Withheld{{"vim", "1", "2", Held, nil}}, []string{"zip"}, ""},
	} {
		got, err := SecurityNames(t.Context(), fake{pending: Pending{Security: c.waits, Withheld: c.withheld, Refreshed: noon}}, noon)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if diff := cmp.Diff(c.want, got); diff != "" || said != c.err {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// Every security update is said to a program by its name, as far as there is room with its versions.
func TestABriefAnswerIsHalfAsLongAndNamesEverySecurityUpdate(t *testing.T) {
	f := full()
	f.pending.Updates, f.pending.Security, f.pending.Withheld = nil, []string{}, []Withheld{}
	for i := range 121 {
		name := fmt.Sprintf("libexample%03d", i)
		f.pending.Updates = append(f.pending.Updates, Package{Name: name, Current: "3.7.9-2+deb12u6", Candidate: "3.7.9-2+deb12u7", Security: new(i%3 != 0), Origin: "Debian-Security:12/stable-security"})
		if i%3 != 0 {
			f.pending.Security = append(f.pending.Security, name)
		}
	}
	long := check(t, f, DefaultLimit)
	short, err := Check(t.Context(), f, Options{Limit: DefaultLimit, Brief: true, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	before, after := len(encoded(t, long)), len(encoded(t, short))
	t.Logf("%d bytes, brief %d", before, after)
	if after*2 > before {
		t.Errorf("%d bytes, brief %d, more than half", before, after)
	}
	if len(long.SecurityUpdates) != 80 || len(short.SecurityUpdates) != 80 || *short.SecurityTotal != 80 {
		t.Errorf("%d and %d names of 80 security updates", len(long.SecurityUpdates), len(short.SecurityUpdates))
	}
	if len(short.Info.Updates) != 0 || !short.Truncated || short.Packages != nil || *short.UpdatesTotal != 121 {
		t.Errorf("%d updates beside those for security, truncated %v, rows %v", len(short.Info.Updates), short.Truncated, short.Packages)
	}
	for i, want := range map[int]string{0: "libexample001 3.7.9-2+deb12u6 → 3.7.9-2+deb12u7", 49: "libexample074 3.7.9-2+deb12u6 → 3.7.9-2+deb12u7", 50: "libexample076", 79: "libexample119"} {
		if got := short.SecurityUpdates[i]; got != want {
			t.Errorf("security update %d is %q, want %q", i, got, want)
		}
	}
}

// Each update is said once to a program, with all that a row knows of it.
func TestABriefAnswerNamesEachUpdateOnce(t *testing.T) {
	mac := func(f *fake) {
		f.pending.Updates = []Package{
			{Name: "macOS 26.7", Current: "26.6", Candidate: "26.7", Label: "macOS 26.7-25G229", Restart: new(true)},
			{Name: "Security Update 1", Candidate: "1", Label: "Security Update 1-1", Restart: new(false), Security: new(true)},
		}
		f.pending.Security = []string{"Security Update 1"}
	}
	for name, c := range map[string]struct {
		change          func(*fake)
		updates, secure []string
	}{
		"packages":   {func(*fake) {}, []string{"apt 2.6.1 → 2.6.2", "bash 5.2-1 → 5.2-2"}, []string{"zlib1g 1.2 → 1.3"}},
		"a Mac":      {mac, []string{"macOS 26.7 26.6 → 26.7, restarts, label: macOS 26.7-25G229"}, []string{"Security Update 1 → 1, label: Security Update 1-1"}},
		"only these": {func(f *fake) { f.pending.Updates = f.pending.Updates[1:2] }, []string{}, []string{"zlib1g 1.2 → 1.3"}},
		"none of these": {func(f *fake) { f.pending.Updates, f.pending.Security = f.pending.Updates[:1], []string{} },
			[]string{"bash 5.2-1 → 5.2-2"}, []string{}},
		"not told apart": {func(f *fake) {
			f.pending.Updates, f.pending.Security = []Package{{Name: "curl", Candidate: "8"}}, nil
		}, []string{"curl → 8"}, nil},
		"advisories": {func(f *fake) {
			f.pending.Updates, f.pending.Security = []Package{{Name: "curl", Candidate: "8"}}, []string{"SUSE-2026-7"}
		}, []string{"curl → 8"}, []string{"SUSE-2026-7"}},
		"a name that no row has": {func(f *fake) { f.pending.Security = []string{"openssl", "zlib1g"} },
			[]string{"zlib1g 1.2 → 1.3", "apt 2.6.1 → 2.6.2", "bash 5.2-1 → 5.2-2"}, []string{"openssl", "zlib1g"}},
	} {
		f := full()
		c.change(&f)
		r, err := Check(t.Context(), f, Options{Limit: DefaultLimit, Brief: true, Now: noon})
		if err != nil || r.Truncated || r.Packages != nil {
			t.Errorf("%s: %v, truncated %v, rows %v", name, err, r.Truncated, r.Packages)
		}
		if diff := cmp.Diff(c.updates, r.Info.Updates) + cmp.Diff(c.secure, r.SecurityUpdates); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestABriefAnswerStaysWithinItsBudget(t *testing.T) {
	for _, length := range []int{0, 20, 5000} {
		r, err := Check(t.Context(), many(3000, length), Options{Limit: DefaultLimit, Brief: true, Now: noon})
		if raw := encoded(t, r); err != nil || len(raw) > briefBudget || len(r.SecurityUpdates) < 20 {
			t.Errorf("names of %d: %v, %d bytes, %d security updates", length, err, len(raw), len(r.SecurityUpdates))
		}
	}
}

func TestACheckSaysWhatItReads(t *testing.T) {
	said := ""
	ctx := progress.With(t.Context(), func(percent int, words string) { said += progress.Line(percent, words) })
	if _, err := Check(ctx, full(), Options{Limit: DefaultLimit, Now: noon}); err != nil {
		t.Fatal(err)
	}
	if want := "progress 5 reading the package lists\nprogress 70 looking whether a reboot is due\n"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}
