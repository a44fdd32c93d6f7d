// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"howett.net/plist"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
	macplist "sentinel/platform/darwin/plist"
)

// A tool plays softwareupdate, and a sw_vers of macOS 26.6.
type tool struct {
	stdout, stderr string
	exit           int
	err            error
	hang           bool
}

// Run implements [sysexec.Runner].
func (f tool) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	switch {
	case c.Path == "/usr/bin/sw_vers":
		return sysexec.Result{Stdout: []byte("ProductName:\tmacOS\nProductVersion:\t26.6\nBuildVersion:\t25G72\n")}, nil
	case strings.Join(c.Args, " ") != "--list --no-scan" || c.MaxOutput == 0:
		return sysexec.Result{}, errors.New("another command line, or one without bounds")
	case f.hang:
		<-ctx.Done()
		return sysexec.Result{}, ctx.Err()
	}
	return sysexec.Result{Stdout: []byte(f.stdout), Stderr: []byte(f.stderr), Exit: f.exit}, f.err
}

const head = "Software Update Tool\n\nSoftware Update found the following new or updated software:\n"

// noted returns the preferences of a Mac that waits for these.
func noted(t *testing.T, format int, names ...string) string {
	t.Helper()
	list := []any{}
	for _, name := range names {
		version := name[strings.LastIndex(name, " ")+1:]
		list = append(list, map[string]any{"Display Name": name, "Display Version": version, "Identifier": name, "Product Key": "0"})
	}
	raw, err := plist.Marshal(map[string]any{
		"RecommendedUpdates": list, "LastSuccessfulDate": time.Date(2026, 11, 19, 6, 0, 0, 0, time.UTC),
		"LastBackgroundSuccessfulDate": time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC), "LastFullSuccessfulDate": "never",
	}, format)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func withPreferences(t *testing.T, content string) string {
	t.Helper()
	if content == "" {
		return t.TempDir()
	}
	return testenv.Plant(t, map[string]string{preferences: content})
}

func gap(p updates.Pending, field string) string {
	for _, g := range p.Gaps {
		if g.Field == field {
			return g.Reason
		}
	}
	return ""
}

func TestTheListSaysWhatWaits(t *testing.T) {
	u := New(withPreferences(t, noted(t, plist.BinaryFormat)), tool{stdout: head +
		"* Label: Safari27.0TahoeAuto-27.0\n\tTitle: Safari, Version: 27.0, Size: 1KiB, Recommended: YES, \n" +
		"* Label: macOS Tahoe 26.7-25G229\n\tTitle: macOS Tahoe 26.7, Version: 26.7, Size: 1K, Recommended: YES, Action: restart,\n" +
		"- Label: Tools, more-1\n\tTitle: Tools, more, Version: 1, Size: 1K,\n" +
		"* Label: Security Update 2026-001-1\n\tTitle: Security Update 2026-001, Version: 1, Size: 1K, Recommended: YES, Action: shut down,\n" +
		"* Label: macOS Tahoe 26.6-25G72\n\tTitle: macOS Tahoe 26.6, Version: 26.6, Size: 1K, Recommended: YES, Action: restart,\n" +
		"* Label: macOS 27-26A428\n\tTitle: macOS 27, Version: 27, Size: 1KiB, Recommended: YES, Action: restart, Deferred: YES,\n"})
	p, err := u.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []updates.Package{
		{Name: "Safari", Candidate: "27.0", Label: "Safari27.0TahoeAuto-27.0", Origin: "Apple", Restart: new(false)},
		{Name: "macOS Tahoe 26.7", Current: "26.6", Candidate: "26.7", Label: "macOS Tahoe 26.7-25G229", Origin: "Apple", Restart: new(true)},
		{Name: "Tools, more", Candidate: "1", Label: "Tools, more-1", Origin: "Apple", Restart: new(false)},
		{Name: "Security Update 2026-001", Candidate: "1", Label: "Security Update 2026-001-1", Origin: "Apple", Restart: new(true), Security: new(true)},
	}
	if diff := cmp.Diff(want, p.Updates); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]updates.Withheld{{Name: "macOS 27", Current: "26.6", Candidate: "27", Reason: updates.Held}}, p.Withheld); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Security Update 2026-001"}, p.Security); diff != "" || gap(p, "security_updates") == "" {
		t.Errorf("%s, gaps %v", diff, p.Gaps)
	}
	if p.Manager != "softwareupdate" || !p.Refreshed.Equal(time.Date(2026, 11, 20, 6, 0, 0, 0, time.UTC)) || gap(p, "info.updates") != "" {
		t.Errorf("%+v", p)
	}
}

// A profile may defer an update that closes holes: whether it does, its title alone can say.
func TestADeferredUpdateIsNoneThatIsKnownToBeHarmless(t *testing.T) {
	p, err := New(t.TempDir(), tool{stdout: head +
		"* Label: Security Update 2026-001-1\n\tTitle: Security Update 2026-001, Version: 1, Size: 1K, Recommended: YES, Deferred: YES,\n" +
		"* Label: macOS 27-26A428\n\tTitle: macOS 27, Version: 27, Size: 1KiB, Recommended: YES, Action: restart, Deferred: YES,\n"}).Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []updates.Withheld{
		{Name: "Security Update 2026-001", Candidate: "1", Reason: updates.Held, Security: new(true)}, {Name: "macOS 27", Candidate: "27", Reason: updates.Held},
	}
	for i := range p.Withheld {
		p.Withheld[i].Current = ""
	}
	if diff := cmp.Diff(want, p.Withheld); diff != "" || len(p.Updates) != 0 {
		t.Errorf("%s, updates %+v", diff, p.Updates)
	}
}

func TestNothingWaits(t *testing.T) {
	for name, f := range map[string]tool{
		"said on standard output": {stdout: "Software Update Tool\n\nNo new software available.\n"},
		"said on standard error":  {stdout: "Software Update Tool\n\n", stderr: "2026-11-20 12:00:00.000 softwareupdate[1:2] x\nNo new software available.\n"},
	} {
		p, err := New(t.TempDir(), f).Pending(t.Context())
		if err != nil || p.Updates == nil || len(p.Updates) > 0 || p.Security == nil || len(p.Gaps) > 0 || !p.Refreshed.IsZero() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// broken are the ways in which softwareupdate does not answer.
func broken() map[string]tool {
	whole := head + "* Label: Safari-1\n\tTitle: Safari, Version: 1, Size: 1KiB, Recommended: YES, \n* Label: macOS 27-26A428\n\tTitle: macOS 27, Version: 27, Size: 1KiB,\n"
	return map[string]tool{
		"missing":                  {err: fs.ErrNotExist},
		"flood":                    {err: sysexec.ErrOutputTooLarge},
		"empty":                    {},
		"another language":         {stdout: "Das ist nicht erlaubt.\n", exit: 1},
		"no network":               {stdout: "Software Update Tool\n\nScan finished with error: Error Domain=NSURLErrorDomain Code=-1009 \"The Internet connection appears to be offline.\" UserInfo={}\n", exit: 1},
		"no server":                {stderr: "Can't connect to the Apple Software Update server, because you are not connected to the Internet.\n", exit: 1},
		"cut behind the heading":   {stdout: head},
		"cut behind a label":       {stdout: whole[:strings.Index(whole, "macOS")+8]},
		"cut within the version":   {stdout: whole[:strings.LastIndex(whole, "27, Size")+1]},
		"cut within the size":      {stdout: strings.TrimSuffix(whole, "iB,\n")},
		"a label without a title":  {stdout: head + "* Label: a\n* Label: b\n\tTitle: b, Version: 1, Size: 1K,\n"},
		"a title without versions": {stdout: head + "* Label: a\n\tTitle: a,\n"},
	}
}

func TestTheNotesStandInForAToolThatDoesNotAnswer(t *testing.T) {
	root := withPreferences(t, noted(t, plist.XMLFormat, "Safari 27.0", "macOS Tahoe 26.6", "macOS Tahoe 26.7", "XProtectPlistConfigData 5322"))
	for name, f := range broken() {
		p, err := New(root, f).Pending(t.Context())
		if err != nil || !strings.Contains(gap(p, "info.updates"), "noted down at its last scan") {
			t.Errorf("%s: %+v, %v", name, p, err)
			continue
		}
		want := []updates.Package{
			{Name: "Safari 27.0", Candidate: "27.0", Label: "Safari 27.0", Origin: "Apple"},
			{Name: "macOS Tahoe 26.7", Current: "26.6", Candidate: "26.7", Label: "macOS Tahoe 26.7", Origin: "Apple"},
			{Name: "XProtectPlistConfigData 5322", Candidate: "5322", Label: "XProtectPlistConfigData 5322", Origin: "Apple", Security: new(true)},
		}
		if diff := cmp.Diff(want, p.Updates); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWithoutNotesTheFailureIsToldWithAFix(t *testing.T) {
	for name, f := range broken() {
		for what, content := range map[string]string{"no file": "", "an empty file": " ", "an old-style list": "{ RecommendedUpdates = (); }", "no list": noted(t, plist.XMLFormat)[:40]} {
			code := fault.Unavailable
			if name == "missing" {
				code = fault.Unsupported
			}
			_, err := New(withPreferences(t, content), f).Pending(t.Context())
			if e := fault.From(err); err == nil || e.Code != code || e.Fix == "" {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func TestAToolThatHangsIsGivenUp(t *testing.T) {
	root := withPreferences(t, noted(t, plist.XMLFormat, "Safari 27.0"))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p, err := New(root, tool{hang: true}).Pending(t.Context())
		if err != nil || len(p.Updates) != 1 || !strings.Contains(gap(p, "info.updates"), "did not answer in time") {
			t.Errorf("%+v, %v", p, err)
		}
		if took := time.Since(began); took != limit {
			t.Errorf("took %v", took)
		}
		_, err = New(t.TempDir(), tool{hang: true}).Pending(t.Context())
		if e := fault.From(err); e.Code != fault.Unavailable || !strings.Contains(e.Fix, "kickstart") {
			t.Errorf("%v", err)
		}
	})
}

func TestTheCallerCanGiveUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(t.TempDir(), tool{hang: true}).Pending(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestARebootIsNeverClaimed(t *testing.T) {
	if r, err := New(t.TempDir(), tool{}).Reboot(t.Context()); err == nil || r.Due {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheMacsOfTheTestsWaitForWhatTheySay(t *testing.T) {
	for name, want := range map[string]struct {
		updates, security int
		os                string
	}{"m4-26": {3, 1, "macOS 26.6 (25G72)"}, "intel-12": {0, 0, "macOS 12.7.6 (21H1320)"}} {
		dir := "../../../testdata/macs/" + name
		machine, err := replay.OpenMachine(dir + "/exec")
		if err != nil {
			t.Fatal(err)
		}
		u := New(dir+"/root", machine)
		p, err := u.Pending(t.Context())
		if err != nil || len(p.Updates) != want.updates || len(p.Security) != want.security || p.Refreshed.IsZero() {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		if text, err := u.OSVersion(t.Context()); text != want.os || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestRecordedLists(t *testing.T) {
	want := map[string]struct {
		titles   string
		restarts int
		fails    string
	}{
		"beta-noscan-13.txt":                {titles: "macOS Ventura 13.3 Beta 3=13.3", restarts: 1},
		"beta-scan-13.txt":                  {titles: "macOS Ventura 13.3 Beta 3=13.3", restarts: 1},
		"log-noise-12.txt":                  {titles: "Safari=17.6|macOS Monterey 12.7.6=12.7.6|macOS Sonoma 14.6.1=14.6.1", restarts: 2},
		"network-lost-13.txt":               {fails: "The network connection was lost."},
		"new-format-10.15-shutdown.txt":     {titles: "Command Line Tools beta 5 for Xcode=11.0|macOS Catalina Public Beta=5|BridgeOSUpdateCustomer=10.15.0.1.1.1560926689|iCal=1.0.2", restarts: 2},
		"none-noscan-13.txt":                {},
		"none-scan-13.txt":                  {},
		"old-format-no-version-10.14.6.txt": {titles: "macOS Mojave 10.14.6 Supplemental Update=", restarts: 1},
		"one-restart-scan-13.txt":           {titles: "macOS Ventura 13.3.1=13.3.1", restarts: 1},
		"schedule-on-26.5.1.txt":            {fails: errUnknown.Error()},
		"two-updates-noscan-13.txt":         {titles: "Command Line Tools for Xcode=14.3|macOS Ventura 13.4 Beta=13.4", restarts: 1},
		"updates-available-26.6-fleet.txt":  {titles: "Safari=27.0|SF Symbols=27.0|macOS Tahoe 26.7=26.7|macOS 27=27", restarts: 2},
		"updates-available-26.6.txt":        {titles: "Safari=27.0|macOS Tahoe 26.7=26.7|macOS 27=27", restarts: 2},
	}
	for _, r := range testenv.RecordedOutputs(t, "softwareupdate") {
		list, err := parseList(string(r.Raw))
		w, known := want[r.Name]
		if text := string(r.Raw); !known { // by what it says itself
			none, listed := strings.Contains(text, noUpdates), strings.Count(text, "Label: ")
			if none && (err != nil || len(list) > 0) || !none && listed > 0 && (err != nil || len(list) != listed) || !none && listed == 0 && len(list) > 0 && !strings.Contains(text, "* ") {
				t.Errorf("%s: %+v, %v", r.Name, list, err)
			}
			continue
		}
		var titles []string
		restarts := 0
		for _, e := range list {
			titles = append(titles, e.title+"="+e.version)
			if e.restart {
				restarts++
			}
			if e.label == "" {
				t.Errorf("%s: no label of %s", r.Name, e.title)
			}
		}
		if got := strings.Join(titles, "|"); got != w.titles || restarts != w.restarts {
			t.Errorf("%s: %q, %d restarts", r.Name, got, restarts)
		}
		if (err != nil) != (w.fails != "") || err != nil && !strings.Contains(err.Error(), w.fails) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

// What defaults(1) prints of the preferences is no property list of the forms in
// which they are kept; its values are.
func TestRecordedPreferences(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "defaults-read") {
		var p preferenceFile
		if err := macplist.Read(bytes.NewReader(r.Raw), &p); !errors.Is(err, macplist.ErrNoList) {
			t.Errorf("%s: %v", r.Name, err)
		}
		if r.Name != "softwareupdate-10.15-no-updates.txt" {
			continue
		}
		var values map[string]any
		if _, err := plist.Unmarshal(r.Raw, &values); err != nil {
			t.Fatal(err)
		}
		values["LastSuccessfulDate"] = time.Date(2020, 10, 10, 14, 14, 38, 0, time.UTC)
		raw, err := plist.Marshal(values, plist.BinaryFormat)
		if err != nil {
			t.Fatal(err)
		}
		if err := macplist.Read(bytes.NewReader(raw), &p); err != nil {
			t.Fatal(err)
		}
		if c := p.cache(); c.updates == nil || len(c.updates) > 0 || c.scanned.Year() != 2020 {
			t.Errorf("%s: %+v", r.Name, c)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, t := range broken() {
		f.Add(t.stdout)
	}
	f.Add("   * a- \n    a ( ), 1K [recommended] [restart]")
	f.Fuzz(func(t *testing.T, printed string) {
		list, err := parseList(printed)
		if err != nil && list != nil {
			t.Error("a list and an error")
		}
		for _, e := range list {
			if e.label == "" {
				t.Errorf("no label: %+v", e)
			}
		}
	})
}

func FuzzPreferences(f *testing.F) {
	f.Add([]byte("<plist><dict><key>RecommendedUpdates</key><array><string/><dict/></array></dict></plist>"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var p preferenceFile
		if err := macplist.Read(bytes.NewReader(raw), &p); err != nil {
			return
		}
		for _, e := range p.cache().updates {
			if e.title == "" {
				t.Error("an update without a name")
			}
		}
	})
}
