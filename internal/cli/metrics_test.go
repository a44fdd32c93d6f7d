// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/prometheus"
	"sentinel/internal/testenv"
	"sentinel/internal/updates"
	"sentinel/internal/webhook/spool"
)

// What a run changes of the page: the hour, the host's name, use over the window.
var fleeting = regexp.MustCompile(`(?m)^(sentinel_[a-z_]*timestamp_seconds|sentinel_cpu_used_ratio|sentinel_info)(\{.*\})? .*$`)

// Whether the packet filter can be read depends on who runs the test.
var privileged = regexp.MustCompile(`(?m)^.*(sentinel_blocklist_in_sync|field="in_(kernel|sync)").*\n`)

// pages are the operations with metrics, as a person asks for them, and the names of their golden files.
func pages() map[string]string {
	return map[string]string{"": "", "--check-updates": "-updates", "--security-audit": "-audit", "--verify-journal": "-journal"}
}

// pageOf is the page of an operation for a machine of testdata, which has no package manager.
func pageOf(t *testing.T, machine, action string) []byte {
	t.Helper()
	if action != "--check-updates" {
		return metricsOf(t, machine, t.TempDir(), action == "--verify-journal", action)
	}
	waiting, security, withheld, age := 12, 3, 2, int64(3600)
	var p prometheus.Page
	updatesDocument{answer.NewHeader("check_updates", true), updates.Report{UpdatesTotal: &waiting, SecurityTotal: &security, WithheldSecurity: &withheld, ListAgeSeconds: &age}}.metrics(&p)
	return p.Bytes()
}

func TestMetrics(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the fixture machines are of Linux")
	}
	for _, machine := range []string{"laptop", "container"} {
		on := map[string]string{} // the page, by metric
		for action, suffix := range pages() {
			if machine != "laptop" && action != "" {
				continue // the same as on the laptop
			}
			page := privileged.ReplaceAll(pageOf(t, machine, action), nil)
			golden(t, filepath.Join("testdata", "prometheus", machine+suffix+".txt"), fleeting.ReplaceAll(page, []byte("$1 (volatile)")))
			for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(string(page), -1) {
				if other, twice := on[m[1]]; twice {
					t.Errorf("%s is on the pages of %q and %q; an exporter of both would refuse them", m[1], other, action)
				}
				on[m[1]] = action
			}
		}
	}
}

func TestEveryOperationWithMetricsIsNamedWhereTheyAreRefused(t *testing.T) {
	raw, _ := run(t, t.TempDir(), "--top", "--output", "prometheus")
	for _, op := range ops.Actions() {
		_, tested := pages()[strings.TrimSuffix("--"+op.Flag, "--")]
		if named := strings.Contains(string(raw), "--"+op.Flag+","); hasMetrics(op) != tested || op.Flag != "" && hasMetrics(op) != named {
			t.Errorf("%s has metrics: %v; tested %v, named %v in %s", op.Name, hasMetrics(op), tested, named, raw)
		}
	}
}

func TestKeptMetrics(t *testing.T) {
	oldest, no := time.Unix(1_700_000_000, 0), false
	var p prometheus.Page
	kept{&blocklist.Listing{EntriesTotal: 3, IPsTotal: 2, InSync: &no}, &spool.Backlog{Documents: 2, Bytes: 7001, Oldest: oldest}}.metrics(&p)
	for _, want := range []string{"\nsentinel_blocked_addresses 3\n", "\nsentinel_blocklist_in_sync 0\n", "\nsentinel_spool_documents 2\n", "\nsentinel_spool_bytes 7001\n", "\nsentinel_spool_oldest_timestamp_seconds 1.7e+09\n"} {
		if !strings.Contains(string(p.Bytes()), want) {
			t.Errorf("no %q in\n%s", want, p.Bytes())
		}
	}
	var none prometheus.Page
	if (kept{}).metrics(&none); len(none.Bytes()) > 0 {
		t.Errorf("what is unknown has samples:\n%s", none.Bytes())
	}
}

// A page with 0 replaces the one with 1. A failure would leave that in its place.
func TestMetricsOfADamagedJournal(t *testing.T) {
	d := verifyDocument{answer.NewHeader("verify_journal", true), journal.Report{Records: 4, ProblemsTotal: 1, Problems: []journal.Problem{{Message: "changed"}}}}
	var p prometheus.Page
	if d.metrics(&p); !strings.Contains(string(p.Bytes()), "\nsentinel_journal_intact 0\n") {
		t.Errorf("%s", p.Bytes())
	}
}

// metricsOf runs an action on a machine of testdata and returns its page.
func metricsOf(t *testing.T, machine, state string, root bool, action string) []byte {
	t.Helper()
	p := Program{
		Open: func() (*host.Host, error) {
			h, err := local.Open(filepath.Join("..", "..", "testdata", "hosts", machine))
			if err == nil {
				h.Live = root
			}
			return h, err
		},
		ConfigPath: filepath.Join(t.TempDir(), "none.yaml"), StateDir: state, Journal: quietJournal(t.TempDir()), Root: root, UID: testenv.Nobody,
	}
	var out, errs bytes.Buffer
	if status := p.Run(t.Context(), append(strings.Fields(action), "--output", "prometheus"), strings.NewReader(""), &out, &errs); status != fault.ExitOK {
		t.Fatalf("%s %s: exit status %d: %s%s", machine, action, status, out.String(), errs.String())
	}
	return out.Bytes()
}

// The audit of a timer does not become what the next person compares with.
func TestAuditForMetricsKeepsNoVerdicts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the fixture machines are of Linux")
	}
	state := t.TempDir()
	metricsOf(t, "laptop", state, true, "--security-audit")
	if left, err := os.ReadDir(state); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are kept", left, err)
	}
}

func TestMetricsAreRefusedElsewhere(t *testing.T) {
	for args, want := range map[string]string{
		"--output xml": "INVALID_ARGUMENT", "--output": "USAGE", "--top --output prometheus": "USAGE", "--json --output prometheus": "USAGE",
		"--request get_system_health --output prometheus": "USAGE", "--output json --top --output prometheus": "USAGE",
	} {
		raw, status := run(t, filepath.Join("..", "..", "testdata", "hosts", "laptop"), strings.Fields(args)...)
		if status != fault.ExitUsage || !strings.Contains(string(raw), `"error_code":"`+want+`"`) {
			t.Errorf("%s: exit status %d: %s", args, status, raw)
		}
	}
}
