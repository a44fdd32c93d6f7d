// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sentinel/internal/host"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/startup"
)

type startsByItself []string

func (list startsByItself) Startup(context.Context) (startup.Found, error) {
	var found startup.Found
	for _, name := range list {
		found.Entries = append(found.Entries, startup.Entry{Kind: "cron_job", Name: name, File: "/etc/cron.d/" + name, Identity: name, Content: name})
	}
	return found, nil
}

// Who plants something and then asks what is new hides it from nobody else.
func TestWhatIsNewForOneUserStaysNewForOthers(t *testing.T) {
	op, _ := ops.ByName("get_startup_items")
	stateDir, now := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := func(uid *int, names ...string) int {
		t.Helper()
		now = now.Add(time.Hour)
		h := &host.Host{Live: true, Now: func() time.Time { return now }, Startup: startsByItself(names)}
		s := session{root: true, stateDir: stateDir, host: h, who: journal.Who{SudoUID: uid}}
		doc, err := runStartupItems(t.Context(), s, invocation{op: op, rows: defaultRows})
		if err != nil {
			t.Fatal(err)
		}
		if total := doc.(startupDocument).NewTotal; total != nil {
			return *total
		}
		return -1
	}
	eve, mira, root := new(1000), new(1001), new(0)
	for _, step := range []struct {
		uid   *int
		names []string
		want  int
	}{
		{nil, []string{"a"}, -1}, {eve, []string{"a"}, -1}, {mira, []string{"a"}, -1},
		{eve, []string{"a", "planted"}, 1}, {eve, []string{"a", "planted"}, 0},
		{mira, []string{"a", "planted"}, 1}, {root, []string{"a", "planted"}, 1}, {nil, []string{"a", "planted"}, 0}, {mira, []string{"a", "planted"}, 0},
	} {
		if got := fresh(step.uid, step.names...); got != step.want {
			t.Errorf("%v sees %d new of %v, want %d", step.uid, got, step.names, step.want)
		}
	}
	files, err := filepath.Glob(stateDir + "/*")
	want := []string{stateDir + "/startup-1000.json", stateDir + "/startup-1001.json", stateDir + "/startup.json"}
	if slices.Sort(files); err != nil || !slices.Equal(files, want) {
		t.Errorf("%q, %v", files, err)
	}
}

func TestNothingIsKeptOfWhoIsNotRootOrOfAnotherSystem(t *testing.T) {
	for _, s := range []session{{root: false, host: &host.Host{Live: true}}, {root: true, host: &host.Host{}}} {
		if path := s.kept("x.json"); path != "" {
			t.Errorf("root %v, live %v: %s", s.root, s.host.Live, path)
		}
	}
}
