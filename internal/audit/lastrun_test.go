// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/statefile"
)

func verdicts(of map[string]Finding) list {
	var l list
	for _, id := range []string{"a.a", "a.b", "a.c", "a.d", "a.e"} {
		if f, there := of[id]; there {
			l = append(l, finding(id, Medium, 1, f))
		}
	}
	return append(l, finding("a.zz", Low, 1, Passed("on")))
}

func TestChangesAreThoseSinceTheLastRunThatSaw(t *testing.T) {
	state := filepath.Join(t.TempDir(), "sub", "audit.json")
	pass, warn, fail := Passed("on"), Warned("so", "repair"), Failed("off", "repair")
	first := run(t, verdicts(map[string]Finding{"a.a": pass, "a.b": fail, "a.c": warn, "a.d": warn}), Options{State: state})
	if first.Changed != nil || len(first.Unavailable) != 1 || first.Unavailable[0].Field != "changed" || !strings.Contains(first.Unavailable[0].Reason, "first run") {
		t.Errorf("the first run: %+v, %+v", first.Changed, first.Unavailable)
	}
	kept := aged(t, state)
	second := run(t, verdicts(map[string]Finding{"a.a": warn, "a.b": pass, "a.c": fail, "a.d": Unseen("hidden"), "a.e": fail}), Options{State: state})
	want := &Changed{New: []string{"a.a", "a.c", "a.e"}, Fixed: []string{"a.b"}, Since: kept.Last.At.Format(time.RFC3339)}
	if diff := cmp.Diff(want, second.Changed); diff != "" || second.Unavailable != nil {
		t.Errorf("the second run: %s %+v", diff, second.Unavailable)
	}
	aged(t, state)
	third := run(t, verdicts(map[string]Finding{"a.a": warn, "a.b": pass, "a.c": NotApplicable("gone"), "a.d": pass, "a.e": warn}), Options{State: state})
	if diff := cmp.Diff([]string{"a.d"}, third.Changed.Fixed) + cmp.Diff([]string{}, third.Changed.New); diff != "" {
		t.Errorf("the third run: %s", diff)
	}
	kept = aged(t, state)
	if diff := cmp.Diff(map[string]Status{"a.a": Warn, "a.b": Pass, "a.d": Pass, "a.e": Warn, "a.zz": Pass}, kept.Last.Verdicts); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// aged makes what is kept an hour older.
func aged(t *testing.T, state string) statefile.File[State] {
	t.Helper()
	kept, err := statefile.Read[statefile.File[State]](state, maxState)
	if err != nil {
		t.Fatal(err)
	}
	kept.Last.At = kept.Last.At.Add(-time.Hour)
	if err := statefile.Write(state, kept, maxState); err != nil {
		t.Fatal(err)
	}
	return kept
}

func TestRunsOfOneConversationAreComparedWithTheSameRun(t *testing.T) {
	state := filepath.Join(t.TempDir(), "audit.json")
	off := verdicts(map[string]Finding{"a.a": Failed("off", "repair")})
	run(t, verdicts(map[string]Finding{"a.a": Passed("on")}), Options{State: state})
	aged(t, state)
	for range 2 {
		if r := run(t, off, Options{State: state}); !cmp.Equal([]string{"a.a"}, r.Changed.New) {
			t.Errorf("%+v", r.Changed)
		}
	}
	aged(t, state)
	if r := run(t, off, Options{State: state}); len(r.Changed.New) != 0 {
		t.Errorf("%+v", r.Changed)
	}
}

func TestStateThatIsDamagedOrOthersCouldHaveWrittenIsNotUsed(t *testing.T) {
	const good = `{"version":1,"last":{"at":"2026-01-02T03:04:05Z","verdicts":{"a.b":"PASS"}}}`
	for _, c := range []struct {
		content, words string
		mode           os.FileMode
	}{
		{good, "", 0o600},
		{good, "written by others", 0o666},
		{"", "damaged", 0o600},
		{good[:40], "damaged", 0o600},
		{`{"version":2,"last":{"at":"2026-01-02T03:04:05Z","verdicts":{}}}`, "form", 0o600},
		{`{"version":1,"last":{"verdicts":{}}}`, "form", 0o600},
		{good + good, "form", 0o600},
		{`{"version":1,"last":{"at":"2026-01-02T03:04:05Z","verdicts":{"a":"GOOD"}}}`, "unknown verdict", 0o600},
		{`{"version":1,"last":{"at":"2026-01-02T03:04:05Z","verdicts":{}},"x":1}`, "damaged", 0o600},
		{strings.Repeat(" ", 129<<10) + good, "larger", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "audit.json")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := statefile.Read[statefile.File[State]](path, maxState)
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%.50q: %v, want %q", c.content, err, c.words)
		}
		if c.words == "" {
			continue
		}
		got := run(t, verdicts(nil), Options{State: path})
		if got.Changed != nil || len(got.Unavailable) != 1 || !strings.Contains(got.Unavailable[0].Reason, c.words) {
			t.Errorf("%.50q: %+v, %+v", c.content, got.Changed, got.Unavailable)
		}
		if _, err := statefile.Read[statefile.File[State]](path, maxState); err != nil {
			t.Errorf("%.50q: not replaced by a good one: %v", c.content, err)
		}
	}
	if _, err := statefile.Read[statefile.File[State]](filepath.Join(t.TempDir(), "none"), maxState); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestAuditGoesOnWhenNothingCanBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := run(t, verdicts(nil), Options{State: filepath.Join(file, "audit.json")})
	if got.Score != 100 || len(got.Unavailable) == 0 {
		t.Errorf("%+v", got)
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"last":{"at":"2026-01-02T03:04:05Z","verdicts":{"a.b":"PASS"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := statefile.Parse[statefile.File[State]](raw); err == nil && (s.None() || len(s.Last.Verdicts) > maxVerdicts) {
			t.Errorf("%q: %+v", raw, s)
		}
	})
}
