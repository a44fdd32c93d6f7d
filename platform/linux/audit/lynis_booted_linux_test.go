// SPDX-License-Identifier: Apache-2.0

package audit

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/firewall"
	"sentinel/platform/linux/network"
)

// docs is where docs/audit.md names what is not found, and why.
//
//go:embed testdata/docs.md
var docs string

// A row of the table says which checks find what a test of Lynis warns of, or
// that none does, for a reason.
type row struct {
	checks  []string
	excused bool
}

// parseTable reads the rows of the page by the ids in their first column.
func parseTable(page string) map[string]row {
	rows := map[string]row{}
	for line := range strings.Lines(page) {
		f := strings.Split(line, "|")
		if len(f) != 4 {
			continue
		}
		var r row
		r.excused = strings.HasPrefix(strings.TrimSpace(f[2]), "no: ")
		for i, word := range strings.Split(f[2], "`") {
			if i%2 == 1 && !r.excused {
				r.checks = append(r.checks, word)
			}
		}
		for word := range strings.FieldsSeq(strings.ReplaceAll(f[1], ",", " ")) {
			if at := strings.IndexByte(word, '-'); at > 0 && strings.ToUpper(word[:at]) == word[:at] && strings.Trim(word[at+1:], "0123456789") == "" {
				rows[word] = r
			}
		}
	}
	return rows
}

// The page names a check for each warning, and no check that does not exist.
func TestLynisTableNamesChecksThatExist(t *testing.T) {
	rows := parseTable(docs)
	if len(rows) < 40 {
		t.Errorf("the table has %d tests of Lynis", len(rows))
	}
	checks := New(Parts{Root: t.TempDir()}).Checks()
	for test, r := range rows {
		if !r.excused && len(r.checks) == 0 {
			t.Errorf("%s has neither a check nor a reason", test)
		}
		for _, id := range r.checks {
			if !audit.KnownID(checks, id) {
				t.Errorf("%s: there is no check %s", test, id)
			}
		}
	}
}

// A lynisWarning is a line of its report.
type lynisWarning struct{ test, text string }

// parseLynis reads the warnings of lynis-report.dat: "warning[]=TEST|text|...".
func parseLynis(raw []byte) []lynisWarning {
	var list []lynisWarning
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "warning[]="); ok {
			f := strings.SplitN(value, "|", 3)
			if len(f) == 3 {
				list = append(list, lynisWarning{f[0], f[1]})
			}
		}
	}
	return list
}

// Every warning of Lynis about a system that was broken on purpose is a finding
// here too, or docs/audit.md says why not.
func TestWhatLynisWarnsOfIsFoundOrNamed(t *testing.T) {
	program := testenv.Program(t, "lynis", "lynis")
	share := filepath.Join(filepath.Dir(filepath.Dir(program)), "share", "lynis")
	if !testenv.BootedWith(t, nil, map[string]string{program: "/usr/sbin/lynis", share: "/usr/share/lynis"}) {
		return
	}
	breakForLynis(t)
	warnings, findings := runLynis(t), runOurs(t)
	t.Logf("lynis: %v; ours: %d checks", warnings, len(findings))
	rows := parseTable(docs)
	for _, w := range warnings {
		row, listed := rows[w.test]
		found := slices.ContainsFunc(row.checks, func(id string) bool {
			s := findings[id].Status
			return s == audit.Fail || s == audit.Warn
		})
		if !listed || !row.excused && !found {
			t.Errorf("Lynis warns: %s: %s; listed: %v; ours: %v", w.test, w.text, listed, verdictsOf(findings, row.checks))
		}
	}
	for _, want := range []string{"AUTH-9204", "AUTH-9208", "AUTH-9283", "BOOT-5184", "PKGS-7388", "SCHD-7704"} {
		if !slices.ContainsFunc(warnings, func(w lynisWarning) bool { return w.test == want }) {
			t.Errorf("Lynis does not warn of %s, which was broken for it: %v", want, warnings)
		}
	}
}

func verdictsOf(findings map[string]audit.Finding, ids []string) []string {
	var list []string
	for _, id := range ids {
		list = append(list, id+" "+audittest.Verdict(findings[id]))
	}
	return list
}

// breakForLynis makes what Lynis warns of. The container is gone afterwards.
func breakForLynis(t *testing.T) {
	t.Helper()
	testenv.RequireIsolated(t)
	appended := map[string]string{
		"/etc/passwd": "toor:x:0:0::/root:/bin/sh\nopen::1500:1500::/home/open:/bin/sh\ntwin:x:1500:1500::/home/open:/bin/sh\n",
		"/etc/shadow": "open::20000:0:99999:7:::\n",
	}
	for file, text := range appended {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(raw, text...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, mode := range map[string]os.FileMode{"/etc/init.d/app": 0o777, "/etc/cron.d/job": 0o666, "/etc/chrony.conf": 0o666, "/etc/redis/redis.conf": 0o644} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("/etc/apt/sources.list", []byte("deb http://127.0.0.1:9/debian bookworm main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runLynis(t *testing.T) []lynisWarning {
	t.Helper()
	const profile = "/etc/lynis/default.prf"
	if err := os.MkdirAll("/etc/lynis/plugins", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(profile, []byte("skip-plugins=yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: "/usr/sbin/lynis", Timeout: 10 * time.Minute,
		Args: []string{"audit", "system", "--quick", "--quiet", "--no-colors", "--profile", profile, "--report-file", "/tmp/report.dat", "--log-file", "/tmp/lynis.log"}})
	raw, rerr := os.ReadFile("/tmp/report.dat")
	if err != nil || rerr != nil {
		t.Fatalf("lynis: %v, %v, status %d\n%s%s", err, rerr, r.Exit, r.Stdout, r.Stderr)
	}
	return parseLynis(raw)
}

// liveParts is the running system with all that a check asks for, the
// package manager excepted.
func liveParts() Parts {
	parts := live()
	parts.Sockets, parts.Firewall = network.New("/"), firewall.NewSource("/", parts.Runner)
	return parts
}

func runOurs(t *testing.T) map[string]audit.Finding {
	t.Helper()
	findings := map[string]audit.Finding{}
	for _, c := range New(liveParts()).Checks() {
		findings[c.ID] = c.Run(t.Context())
	}
	for _, id := range slices.Sorted(maps.Keys(findings)) {
		line, err := json.Marshal(audittest.Verdict(findings[id]))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", id, line)
	}
	return findings
}
