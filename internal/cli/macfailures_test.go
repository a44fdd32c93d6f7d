// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/host"
	"sentinel/internal/ops"
	"sentinel/internal/schema"
	"sentinel/internal/testenv"
)

// macLines are the operations of a Mac that are put to every failure, by their
// tools.
var macLines = map[string]string{
	"get_system_health": "", "get_top_processes": "--top", "get_network_stats": "--network-stats", "get_asset_info": "--asset-info",
	"security_audit": "--security-audit", "check_updates": "--check-updates", "scan_ports": "--scan-ports 127.0.0.1 --port-range 1-9",
	"get_startup_items": "--startup-items", "list_blocked_ips": "--list-blocked", "traceroute": "--traceroute 127.0.0.1", "get_logins": "--logins", "terminate_process": "--kill 812",
	"block_ip_address": "--block-ip 203.0.113.7", "unblock_ip_address": "--unblock-ip 203.0.113.7", "enable_firewall": "--fix-firewall",
	"restart_service": "--restart-service com.example.web", "get_service_status": "--service com.example.web", "restore_blocklist": "--restore-blocklist", "doctor": "--doctor", "get_disk_usage": "--disk-usage /",
	"get_logs": "--logs --since 2026-11-20T11:55:00Z --until 2026-11-20T12:00:00Z",
}

// macFailures are the ways in which a program of macOS fails. Noise alone is no
// failure: what is right stays right.
var macFailures = []string{"missing", "hang", "empty", "cut", "other", "refused", "noise"}

// A macRun is the document of one run, and the status.
type macRun struct {
	raw      []byte
	document map[string]any
	status   int
}

// runMac runs sentinel on a Mac.
func runMac(t *testing.T, m testMac, line string) macRun {
	t.Helper()
	if err := os.Chmod(m.work, 0o755); err != nil { // a directory that others can write is refused
		t.Error(err)
	}
	p := Program{
		Open:       func() (*host.Host, error) { return m.open() },
		ConfigPath: filepath.Join(m.work, "etc", "config.yaml"),
		StateDir:   filepath.Join(m.work, "state"),
		Journal:    quietJournal(m.work),
		Root:       m.root, UID: 501,
		Getenv: func(string) string { return "" },
		Own:    func() (string, error) { return macOwn, nil },
	}
	if m.root {
		p.UID = 0
	}
	var out, errs bytes.Buffer
	var r macRun
	r.status = p.Run(t.Context(), append(strings.Fields(line), "--json"), strings.NewReader(""), &out, &errs)
	r.raw = out.Bytes()
	if err := json.Unmarshal(r.raw, &r.document); err != nil {
		t.Errorf("%s: %v\n%s%s", line, err, r.raw, errs.Bytes())
	}
	return r
}

// runOnItsClock is runMac with a clock of its own, on which time passes only where all wait: no limit is met
// because the machine is busy, and none is waited for. A route has the names of Go's resolver, which all share, and
// who waits for a mutex of one that hangs keeps time from passing.
func runOnItsClock(t *testing.T, m testMac, line string) (r macRun) {
	t.Helper()
	if strings.HasPrefix(line, "--traceroute ") || slices.Contains(slices.Collect(maps.Values(m.fails)), "hang") {
		return runMac(t, m, line)
	}
	synctest.Test(t, func(t *testing.T) { r = runMac(t, m, line) })
	return r
}

// programsOf finds which programs an operation runs on a Mac.
func programsOf(t *testing.T, dirs []string, line string) []string {
	t.Helper()
	var programs []string
	var mu sync.Mutex
	m := testMac{dirs: dirs, work: testenv.MemDir(t), root: true, ran: func(argv string) {
		mu.Lock()
		defer mu.Unlock()
		program, _, _ := strings.Cut(argv, " ")
		programs = append(programs, program)
	}}
	runOnItsClock(t, m, line)
	slices.Sort(programs)
	return slices.Compact(programs)
}

// Whatever program fails in whatever way, each operation answers by its schemas,
// and says what is missing in place of making it up.
func TestMacsWithAProgramThatFails(t *testing.T) {
	slots := make(chan struct{}, 64) // most of the time a run waits to measure a second time
	var all sync.WaitGroup
	for _, name := range []string{"m4-26", "intel-12"} {
		dirs := []string{filepath.Join("..", "..", "testdata", "macs", name)}
		for tool, line := range macLines {
			all.Go(func() {
				whole := runOnItsClock(t, testMac{dirs: dirs, work: testenv.MemDir(t), root: true}, line)
				for _, program := range programsOf(t, dirs, line) {
					for i, how := range macFailures {
						if name != "m4-26" && i%2 == 1 {
							continue // half of it is enough for another Mac
						}
						m := testMac{dirs: dirs, work: testenv.MemDir(t), root: true, fails: map[string]string{program: how}}
						slots <- struct{}{}
						all.Go(func() {
							judgeFailure(t, tool, program, how, whole, runOnItsClock(t, m, line))
							<-slots
						})
					}
				}
			})
		}
	}
	all.Wait()
}

// silently lists what may fail without a gap of its own, as an operation and a
// program, or a program alone. An output that was cut may be whole in itself, and the doctor finds
// in place of noting gaps.
var silently = map[string]bool{
	macPF: true, macApplicationFirewall: true, // the sentence about the firewall tells it
	"terminate_process /bin/launchctl":    true, // whose job a process is, as far as anybody can say
	"/usr/bin/sw_vers":                    true, // a file tells the same
	"security_audit /usr/sbin/sshd":       true, // the files of its configuration tell
	"get_system_health /usr/sbin/netstat": true, // lsof tells all that a process holds
	"get_system_health /usr/sbin/lsof":    true, // netstat tells most processes
	"get_service_status /usr/sbin/lsof":   true, // its ports are told, without the names of their processes
	"security_audit /usr/sbin/lsof":       true,
	"security_audit /usr/bin/sqlite3":     true, // prints nothing about no rows
}

func judgeFailure(t *testing.T, tool, program, how string, whole, got macRun) {
	t.Helper()
	what := tool + ": " + program + " " + how
	op, known := ops.ByName(tool) // what is for the command line alone has no schema
	for _, d := range []schema.Form{schema.Brief, schema.Strict} {
		if !known {
			break
		}
		if err := conforms(schemaOf(op, d), got.raw); err != nil {
			t.Errorf("%s: %v\n%s", what, err, got.raw)
		}
	}
	if code := got.document["error_code"]; got.status != 0 {
		if code == "INTERNAL" || code == "" || got.document["fix"] == "" || code == whole.document["error_code"] && whole.status == 0 {
			t.Errorf("%s: %s", what, got.raw)
		}
		return
	}
	for _, path := range invented("", whole.document, got.document) {
		if how == "cut" && strings.Contains(path, "processes.") { // another row than before
			continue
		}
		t.Errorf("%s: %s is made up\n%s", what, path, got.raw)
	}
	if silently[tool+" "+program] || silently[program] || how == "cut" || tool == "doctor" {
		return
	}
	if diff := difference(whole, got); diff != "" && gaps(got.document) <= gaps(whole.document) {
		t.Errorf("%s: something is missing, and nothing says so\n%s", what, diff)
	}
}

// invented lists the numbers that are zero in one document, and the lists that are
// empty, and are more in the other.
func invented(path string, whole, got any) []string {
	var found []string
	switch g := got.(type) {
	case float64:
		if w, ok := whole.(float64); ok && g == 0 && w != 0 {
			return []string{path}
		}
	case map[string]any:
		w, _ := whole.(map[string]any)
		for name := range g {
			if !volatile[name] {
				found = append(found, invented(path+"."+name, w[name], g[name])...)
			}
		}
	case []any:
		w, _ := whole.([]any)
		for i := range min(len(w), len(g)) {
			found = append(found, invented(fmt.Sprintf("%s.%d", path, i), w[i], g[i])...)
		}
	}
	return found
}

// gaps counts what a document says is missing, at any depth. A service manager that did not say in
// its time, which is little beside many other runs, is in a sentence of its own.
func gaps(value any) int {
	n := 0
	object, _ := value.(map[string]any)
	if note, _ := object["restart_note"].(string); strings.Contains(note, "did not say") {
		n++
	}
	for name, v := range object {
		list, isList := v.([]any)
		if isList && slices.Contains([]string{"unavailable", "skipped", "warnings"}, name) {
			n += len(list)
		}
		n += gaps(v)
	}
	return n
}

// difference shows what one document has and the other has not.
func difference(whole, got macRun) string {
	var a, b any
	if json.Unmarshal(whole.raw, &a) != nil || json.Unmarshal(got.raw, &b) != nil {
		return "not JSON"
	}
	return cmp.Diff(withoutReasons(scrub(a)), withoutReasons(scrub(b)))
}

// withoutReasons takes away why something is missing: another reason for the same gap says so, too.
func withoutReasons(value any) any {
	object, _ := value.(map[string]any)
	for name, v := range object {
		list, _ := v.([]any)
		for _, one := range list {
			if gap, ok := one.(map[string]any); ok && (name == "unavailable" || name == "skipped") {
				delete(gap, "reason")
			}
		}
	}
	return value
}
