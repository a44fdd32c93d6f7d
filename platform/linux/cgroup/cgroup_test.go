// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
)

func TestLimitsOfFixtureMachines(t *testing.T) {
	for host, want := range map[string]health.Limits{
		"container":    {Version: 2, MemoryMax: 512 << 20, MemoryUsed: 489684992 - 62914560, CPUs: 1.5},
		"container-v1": {Version: 1, MemoryMax: 256 << 20, MemoryUsed: 220200960 - 62914560, CPUs: 0.5},
		"laptop":       {Version: 1},
		"raspberrypi":  {Version: 1},
	} {
		got, err := Limits("../../../testdata/hosts/" + host)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", host, err, diff)
		}
	}
}

var unifiedFiles = map[string]string{
	"cgroup.controllers": "cpu memory\n", "memory.max": "1000000\n", "memory.current": "800000\n",
	"memory.stat": "anon 5\ninactive_file 300000\nactive_file 7\n", "cpu.max": "50000 100000\n",
}

var legacyFiles = map[string]string{
	"memory/memory.limit_in_bytes": "1000000\n", "memory/memory.usage_in_bytes": "800000\n",
	"memory/memory.stat": "inactive_file 1\ntotal_inactive_file 300000\n", "cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n",
}

// limits reads a tree of files with some changed; "" removes one.
func limits(t *testing.T, files, changes map[string]string) (health.Limits, error) {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		if changed, ok := changes[name]; ok {
			content = changed
		}
		path := filepath.Join(root, "sys", "fs", "cgroup", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if content == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Limits(root)
}

type change struct {
	file, content string
	want          health.Limits
	err           error
}

func TestUnifiedLimits(t *testing.T) {
	whole := health.Limits{Version: 2, MemoryMax: 1000000, MemoryUsed: 500000, CPUs: 0.5}
	noMemory := health.Limits{Version: 2, CPUs: 0.5}
	noCPU := health.Limits{Version: 2, MemoryMax: 1000000, MemoryUsed: 500000}
	check(t, unifiedFiles, []change{
		{"", "", whole, nil},
		{"memory.max", "max\n", noMemory, nil},
		{"memory.max", "", noMemory, nil},
		{"memory.max", "lots\n", health.Limits{}, ErrFormat},
		{"memory.max", "\n", health.Limits{}, ErrFormat},
		{"memory.max", "-1\n", health.Limits{}, ErrFormat},
		{"memory.current", "", health.Limits{}, os.ErrNotExist},
		{"memory.current", "x\n", health.Limits{}, ErrFormat},
		{"memory.stat", "", health.Limits{}, os.ErrNotExist},
		{"memory.stat", "anon 5\n", health.Limits{}, ErrFormat},
		{"memory.stat", "inactive_file x\n", health.Limits{}, ErrFormat},
		{"memory.stat", "inactive_file 3000", health.Limits{}, ErrFormat},
		{"memory.stat", "inactive_file 900000\n", health.Limits{Version: 2, MemoryMax: 1000000, CPUs: 0.5}, nil},
		{"cpu.max", "max 100000\n", noCPU, nil},
		{"cpu.max", "", noCPU, nil},
		{"cpu.max", "50000\n", health.Limits{}, ErrFormat},
		{"cpu.max", "50000 0\n", health.Limits{}, ErrFormat},
		{"cpu.max", "-5 100000\n", health.Limits{}, ErrFormat},
		{"cpu.max", "half 100000\n", health.Limits{}, ErrFormat},
	})
}

func TestLegacyLimits(t *testing.T) {
	whole := health.Limits{Version: 1, MemoryMax: 1000000, MemoryUsed: 500000, CPUs: 0.5}
	noMemory := health.Limits{Version: 1, CPUs: 0.5}
	noCPU := health.Limits{Version: 1, MemoryMax: 1000000, MemoryUsed: 500000}
	check(t, legacyFiles, []change{
		{"", "", whole, nil},
		{"memory/memory.limit_in_bytes", "9223372036854771712\n", noMemory, nil},
		{"memory/memory.limit_in_bytes", "", noMemory, nil},
		{"memory/memory.limit_in_bytes", "x\n", health.Limits{}, ErrFormat},
		{"memory/memory.usage_in_bytes", "x\n", health.Limits{}, ErrFormat},
		{"memory/memory.stat", "inactive_file 300000\n", health.Limits{}, ErrFormat},
		{"cpu/cpu.cfs_quota_us", "-1\n", noCPU, nil},
		{"cpu/cpu.cfs_quota_us", "", noCPU, nil},
		{"cpu/cpu.cfs_period_us", "", noCPU, nil},
		{"cpu/cpu.cfs_period_us", "0\n", noCPU, nil},
		{"cpu/cpu.cfs_quota_us", "none\n", health.Limits{}, ErrFormat},
	})
}

func check(t *testing.T, files map[string]string, changes []change) {
	t.Helper()
	for _, c := range changes {
		got, err := limits(t, files, map[string]string{c.file: c.content})
		if !errors.Is(err, c.err) || c.err == nil && !cmp.Equal(got, c.want) {
			t.Errorf("%s %q: got %+v, %v; want %+v, %v", c.file, c.content, got, err, c.want, c.err)
		}
	}
}

// A truncated limit may read as a smaller one, but not as unlimited.
func TestCutLimitIsNotNoLimit(t *testing.T) {
	for _, file := range []string{"memory.max", "cpu.max", "memory.stat"} {
		for cut := 1; cut < len(unifiedFiles[file]); cut++ {
			got, err := limits(t, unifiedFiles, map[string]string{file: unifiedFiles[file][:cut]})
			if err == nil && (got.MemoryMax == 0 || got.CPUs == 0 || got.MemoryUsed != 500000) {
				t.Errorf("%s, the first %d bytes: %+v", file, cut, got)
			}
		}
	}
}

func FuzzCgroupFiles(f *testing.F) {
	for _, s := range []string{"max\n", "536870912\n", "9223372036854771712\n", "150000 100000\n", "max 100000\n", "-1\n", unifiedFiles["memory.stat"]} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var bytes uint64
		if err := parseMax(b, &bytes); err == nil && bytes >= unlimited {
			t.Errorf("limit %d", bytes)
		}
		var cpus float64
		if err := parseCPUMax(b, &cpus); err == nil && !(cpus >= 0 && cpus < 1e19) {
			t.Errorf("%v cores", cpus)
		}
		var n int64
		if err := parseSigned(b, &n); err != nil && n != 0 {
			t.Errorf("%d and %v", n, err)
		}
		if _, err := parseStat(b, "inactive_file"); err == nil && !strings.Contains(string(b), "inactive_file ") {
			t.Errorf("a value without its key in %q", b)
		}
	})
}

// Those of v1 may be the groups of the host.
func TestProcessorTimeIsThatOfTheContainer(t *testing.T) {
	for name, want := range map[string]time.Duration{"container": 88120110 * time.Microsecond, "container-v1": 0, "laptop": 0} {
		if got, err := UnifiedCPUTime(filepath.Join("../../../testdata/hosts", name)); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
