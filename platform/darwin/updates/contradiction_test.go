// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"howett.net/plist"

	"sentinel/internal/updates"
)

// A note is one member of RecommendedUpdates: name, version and identifier.
type note [3]string

// preferencesOf returns the preferences of a Mac whose last scan found these.
func preferencesOf(t *testing.T, more map[string]any, notes ...note) string {
	t.Helper()
	list := []any{}
	for _, n := range notes {
		list = append(list, map[string]any{"Display Name": n[0], "Display Version": n[1], "Identifier": n[2], "Product Key": n[2]})
	}
	values := map[string]any{"RecommendedUpdates": list}
	for key, value := range more {
		if values[key] = value; value == nil {
			delete(values, key)
		}
	}
	raw, err := plist.Marshal(values, plist.XMLFormat)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const nothingNew = "Software Update Tool\n\nNo new software available.\n"

var (
	newer   = note{"macOS Tahoe 26.7", "26.7", "MSU_UPDATE_25G229_patch_26.7_minor"}
	running = note{"macOS Tahoe 26.6", "26.6", "MSU_UPDATE_25G72_patch_26.6_minor"}
	older   = note{"macOS Tahoe 26.5", "26.5", "MSU_UPDATE_25F80_patch_26.5_minor"}
	rapid   = note{"Background Security Improvement 26.6 (a)", "26.6 (a)", "MSU_UPDATE_25G72a_patch_26.6_rsr"}
	patch   = note{"macOS Tahoe 26.6 Supplemental Update", "26.6", "macOS Tahoe 26.6 Supplemental Update"}
	safari  = note{"Safari", "27.0", "Safari27.0TahoeAuto"}
)

// What softwareupdate says without a scan is no reason to tell people that nothing waits when
// macOS itself noted otherwise.
func TestNothingNewIsHeldAgainstTheNotes(t *testing.T) {
	for name, c := range map[string]struct {
		notes   []note
		waits   string // names of the updates
		unknown string // part of why nobody knows
		gap     string // part of what is not known
	}{
		"agreed":                       {},
		"installed and superseded":     {notes: []note{running, older}},
		"newer than the running build": {notes: []note{newer}, waits: "macOS Tahoe 26.7", gap: "does not list macOS Tahoe 26.7"},
		"one newer, one unsure":        {notes: []note{safari, newer}, waits: "macOS Tahoe 26.7", gap: "whether it is installed by now is not known"},
		"other software":               {notes: []note{running, safari}, unknown: "Safari 27.0"},
		"the same version, rapid":      {notes: []note{rapid}, unknown: "26.6 (a)"},
		"the same version, supplement": {notes: []note{patch}, unknown: "Supplemental Update"},
		"many":                         {notes: []note{safari, safari, safari, safari}, unknown: "and 2 more"},
	} {
		p, err := New(withPreferences(t, preferencesOf(t, nil, c.notes...)), tool{stdout: nothingNew}).Pending(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		var waits []string
		for _, one := range p.Updates {
			waits = append(waits, one.Name)
		}
		why := ""
		if p.Unknown != nil {
			why = p.Unknown.Error()
		}
		if strings.Join(waits, "|") != c.waits || (why == "") != (c.unknown == "") || !strings.Contains(why, c.unknown) {
			t.Errorf("%s: waits %q, unknown %q", name, waits, why)
		}
		if told := reasons(p, "info.updates"); !strings.Contains(told, c.gap) || (told == "") != (c.gap == "") {
			t.Errorf("%s: %q", name, told)
		}
		if doubtful := c.waits != "" || c.unknown != ""; doubtful != (p.Security == nil) || doubtful != (p.Withheld == nil) {
			t.Errorf("%s: security %v, withheld %v", name, p.Security, p.Withheld)
		}
	}
}

func reasons(p updates.Pending, field string) string {
	var all []string
	for _, g := range p.Gaps {
		if g.Field == field {
			all = append(all, g.Reason)
		}
	}
	return strings.Join(all, "; ")
}

func TestAnUpdateOfMacOSThatIsNotListedWaitsAllTheSame(t *testing.T) {
	root := withPreferences(t, preferencesOf(t, nil, safari, newer))
	p, err := New(root, tool{stdout: head + "* Label: Tools-1\n\tTitle: Tools, Version: 1, Size: 1K,\n"}).Pending(t.Context())
	want := []updates.Package{
		{Name: "Tools", Candidate: "1", Label: "Tools-1", Origin: "Apple", Restart: new(false)},
		{Name: "macOS Tahoe 26.7", Current: "26.6", Candidate: "26.7", Label: newer[2], Origin: "Apple"},
	}
	if diff := cmp.Diff(want, p.Updates); err != nil || diff != "" {
		t.Error(err, diff)
	}
	p, err = New(root, tool{stdout: head + "* Label: macOS 27-26A428\n\tTitle: macOS 27, Version: 27, Size: 1K, Action: restart,\n"}).Pending(t.Context())
	if err != nil || len(p.Updates) != 1 || reasons(p, "info.updates") != "" {
		t.Errorf("a newer one replaces what was noted: %+v, %v", p, err)
	}
}

// A count without names is held against the build that was counted for.
func TestACountOfTheLastScanContradictsToo(t *testing.T) {
	for build, unknown := range map[string]bool{"26.6 (25G72)": true, "26.5 (25F80)": false, "": false} {
		values := map[string]any{"RecommendedUpdates": nil, "LastRecommendedUpdatesAvailable": 2, "LastAttemptBuildVersion": build}
		p, err := New(withPreferences(t, preferencesOf(t, values)), tool{stdout: nothingNew}).Pending(t.Context())
		if err != nil || (p.Unknown != nil) != unknown || unknown && !strings.Contains(p.Unknown.Error(), "counted 2 updates") {
			t.Errorf("%q: %+v, %v", build, p, err)
		}
	}
}

func TestAListCutByAnExitStatusIsNoList(t *testing.T) {
	for name, printed := range map[string]string{"an entry": head + "* Label: Safari-1\n\tTitle: Safari, Version: 1, Size: 1KiB, Recommended: YES, \n", "nothing new": nothingNew} {
		if p, err := New(t.TempDir(), tool{stdout: printed, exit: 1}).Pending(t.Context()); err == nil || !strings.Contains(err.Error(), "status 1") {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		p, err := New(withPreferences(t, preferencesOf(t, nil, newer)), tool{stdout: printed, exit: 1}).Pending(t.Context())
		if err != nil || len(p.Updates) != 1 || p.Updates[0].Name != newer[0] || !strings.Contains(reasons(p, "info.updates"), "status 1") {
			t.Errorf("%s, with notes: %+v, %v", name, p, err)
		}
	}
}

// The notes have no word about what a management profile defers.
func TestTheNotesDoNotTellWhatIsDeferred(t *testing.T) {
	p, err := New(withPreferences(t, preferencesOf(t, nil, newer)), tool{exit: 1}).Pending(t.Context())
	if err != nil || p.Withheld != nil || reasons(p, "withheld") == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAMemberThatCannotBeReadLeavesTheNotesUnknown(t *testing.T) {
	for name, member := range map[string]any{"no dictionary": "Safari", "no name": map[string]any{"Product Key": "1"}} {
		values := map[string]any{"RecommendedUpdates": []any{member}}
		if p, err := New(withPreferences(t, preferencesOf(t, values)), tool{exit: 1}).Pending(t.Context()); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
