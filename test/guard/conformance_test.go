// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sentinel/internal/testenv"
)

// suite is the official conformance suite, which speaks to servers over HTTP only.
const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// scenariosOf says how many scenarios the suite has for each revision.
var scenariosOf = map[string]int{"2025-11-25": 33, "2026-07-28": 50}

// TestTheConformanceSuiteSeesNoGuard runs the official suite against its server in the Go SDK, direct
// and behind the guard: each scenario makes the same checks with the same results.
func TestTheConformanceSuiteSeesNoGuard(t *testing.T) {
	t.Parallel()
	server := []string{program(t, "conformance")}
	behind := append([]string{program(t, "sentinel-guard"), "--"}, server...)
	for revision, want := range scenariosOf {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var direct, guarded map[string]string
			var both sync.WaitGroup
			both.Go(func() { direct = conformance(t, revision, server) })
			both.Go(func() { guarded = conformance(t, revision, behind) })
			both.Wait()
			if len(direct) < want {
				t.Errorf("%d scenarios ran, not %d: %v", len(direct), want, slices.Sorted(maps.Keys(direct)))
			}
			names := maps.Clone(direct)
			maps.Copy(names, guarded)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if direct[name] != guarded[name] {
					a, b := slices.Collect(strings.Lines(direct[name])), slices.Collect(strings.Lines(guarded[name]))
					t.Errorf("%s: %d checks direct, %d guarded\nonly direct: %.4000s\nonly guarded: %.4000s", name, len(a), len(b), without(a, b), without(b, a))
				}
			}
		})
	}
}

// conformance returns the checks of each scenario, one a line with all details.
func conformance(t *testing.T, revision string, server []string) map[string]string {
	t.Helper()
	carrier := &streamable{t: t, command: server, sessions: map[string]*session{}}
	defer carrier.close()
	listener := httptest.NewServer(carrier)
	defer listener.Close()
	into := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.HangLimit)
	defer cancel()
	args := nodeServer(t, suite, "server", "--url", listener.URL, "--requirements", revision, "-o", into)
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if ctx.Err() != nil || err != nil && !strings.Contains(string(out), "=== SUMMARY ===") { // its status says that a check failed
		t.Errorf("%v\n%s", err, tail(out))
	}
	files, err := filepath.Glob(filepath.Join(into, "*", "checks.json"))
	if err != nil {
		t.Error(err)
	}
	checks := map[string]string{}
	for _, file := range files {
		checks[scenario(file)] = strings.ReplaceAll(results(t, file), listener.Listener.Addr().String(), "ADDRESS")
	}
	return checks
}

// scenario is the name of the one that wrote a file: that of its folder without "server-" and the time.
func scenario(file string) string {
	name := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
	return name[:max(0, len(name)-len("-2026-11-23T11-32-51-755Z"))]
}

// fleeting are the times, and the ids that the suite makes of times.
var fleeting = regexp.MustCompile(`"(timestamp|date)":"[^"]*"|\b1[0-9]{12}\b`)

func results(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	var checks []json.RawMessage
	if err := json.Unmarshal(raw, &checks); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	var lines []string
	for _, check := range checks {
		line, err := json.Marshal(check)
		if err != nil {
			t.Error(err)
		}
		lines = append(lines, string(volatile.ReplaceAll(fleeting.ReplaceAll(line, []byte("VOLATILE")), []byte("VOLATILE"))))
	}
	return strings.Join(lines, "\n") + "\n"
}
