// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"

	"sentinel/internal/answer"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/processes"
)

const hosts = "../../../testdata/hosts/"

// secret is in the command lines of every fixture machine.
const secret = "hunter2"

// documents returns every document of the domains about the machine below root, with complete
// lists.
func documents(t *testing.T, root string) map[string]any {
	t.Helper()
	h, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]any{}
	synctest.Test(t, func(t *testing.T) {
		ranking, err := processes.Top(t.Context(), h.Processes, processes.Options{Sort: "memory"})
		if err != nil {
			t.Fatal(err)
		}
		stats, err := network.Measure(t.Context(), h.Network, 0)
		if err != nil {
			t.Fatal(err)
		}
		gaps := answer.Gaps{}
		connections, err := network.Collect(t.Context(), h.Network, 0, &gaps)
		if err != nil {
			t.Fatal(err)
		}
		report := health.Build(health.Collect(t.Context(), h.Health, &gaps), health.Options{Rows: 0}, &gaps)
		before, err := h.Health.CPU(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		report.UseCPU(before, before, 500, &gaps)
		wall := firewall.Assess(h.Firewall.Firewall(t.Context()))
		report.FirewallStatus, report.FirewallEvidence = wall.State, wall.Evidence
		report.Judge(health.DefaultThresholds())
		report.Unavailable = gaps
		maps.Copy(made, map[string]any{"processes": ranking, "stats": stats, "connections": connections, "health": report})
	})
	return made
}

// texts calls visit for every string of a document, names of members included.
func texts(t *testing.T, document any, visit func(string)) {
	t.Helper()
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	walk(value, visit)
}

func walk(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case map[string]any:
		for name, e := range v {
			visit(name)
			walk(e, visit)
		}
	}
}

// tame fails for a text that could move a cursor, reorder or hide what a person reads, or that
// contains a secret.
func tame(t *testing.T, host, document, text string) {
	t.Helper()
	for _, r := range text {
		if !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			t.Errorf("%s, %s: %q holds %U", host, document, text, r)
		}
	}
	if strings.Contains(text, secret) {
		t.Errorf("%s, %s: %q tells a secret", host, document, text)
	}
}

func TestDocumentsOfHostileMachinesAreTame(t *testing.T) {
	for host, commands := range map[string]int{"laptop": 15, "vm": 15, "container": 12, "raspberrypi": 14} {
		redacted := 0
		for name, document := range documents(t, hosts+host) {
			texts(t, document, func(text string) {
				tame(t, host, name, text)
				redacted += strings.Count(text, "[redacted]")
			})
			if r, ok := document.(processes.Ranking); ok && (r.ProcessesTotal != commands || len(r.Processes) != commands) {
				t.Errorf("%s: %d of %d processes, want %d", host, len(r.Processes), r.ProcessesTotal, commands)
			}
		}
		if redacted < 2 {
			t.Errorf("%s: %d secrets were hidden; the fixture has more", host, redacted)
		}
	}
}

// Names that only root can choose are not trusted either.
func TestDocumentsOfAMachineWithHostileNamesAreTame(t *testing.T) {
	const evil = "\x1b[2J\u202e\u200b%s%n\U000e0041"
	escaped := strings.NewReplacer(" ", `\040`, "\x1b", `\033`).Replace(evil)
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/1/stat":         "1 (" + evil + ") S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2 0 100 0\n",
		"proc/1/status":       "Uid:\t0\t0\t0\t0\n",
		"proc/1/cmdline":      "/sbin/" + evil + "\x00--password\x00" + secret + "\x00",
		"etc/passwd":          evil + ":x:0:0::/:/bin/sh\n",
		"proc/stat":           "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 1\n",
		"proc/loadavg":        "0.10 0.20 0.30 1/2 3\n",
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /" + escaped + " rw - ext4 /dev/" + escaped + " rw\n",
		"proc/net/dev":        "Inter-|\n face |\n" + evil + ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
		"proc/net/tcp":        "titles\n", "proc/net/udp": "titles\n",
		"sys/class/hwmon/hwmon0/name":        "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_label": "Package id " + evil + "\n",
		"sys/class/hwmon/hwmon0/temp1_input": "50000\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	for name, document := range documents(t, root) {
		texts(t, document, func(text string) {
			tame(t, "hostile names", name, text)
			seen[name] += strings.Count(text, "�[2J")
		})
	}
	// The name, user and command of the process; the interface; sensor and disk.
	for name, least := range map[string]int{"processes": 3, "stats": 1, "health": 2} {
		if seen[name] < least {
			t.Errorf("%s shows %d hostile names, want at least %d: they were not read", name, seen[name], least)
		}
	}
}

func TestFixtureMachinesAreNotAnsweredForByThisOne(t *testing.T) {
	for name, document := range documents(t, hosts+"laptop") {
		if report, ok := document.(health.Report); ok && (len(report.Disks) != 0 || report.FailedUnitsTotal != nil || report.FirewallStatus != firewall.Unknown) {
			t.Errorf("%s: disks %v, failed units %v, firewall %s", name, report.Disks, report.FailedUnitsTotal, report.FirewallStatus)
		}
	}
}
