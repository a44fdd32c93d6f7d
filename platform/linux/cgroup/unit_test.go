// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plant writes the files of a group below a root.
func plant(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, "sys/fs/cgroup", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUseOfAGroup(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"cgroup.controllers": "cpu memory pids\n", "a.slice/web.service/cgroup.procs": "7\n8\n", "a.slice/web.service/sub/cgroup.procs": "9\n", "a.slice/other.service/cgroup.procs": "10\n",
		"a.slice/web.service/memory.current": "5000\n", "a.slice/web.service/memory.stat": "anon 1\ninactive_file 1000\n", "a.slice/web.service/memory.max": "8192\n",
		"a.slice/web.service/cpu.max": "50000 100000\n", "a.slice/web.service/cpu.stat": "usage_usec 1500000\nnr_throttled 3\nthrottled_usec 250000\n",
		"a.slice/web.service/pids.current": "4\n", "a.slice/web.service/pids.max": "max\n",
	})
	memory, cpu, throttled, tasks := uint64(4000), 1500*time.Millisecond, 250*time.Millisecond, uint64(4)
	want := Usage{PIDs: []int{7, 8, 9}, Memory: &memory, MemoryLimit: 8192, CPU: &cpu, CPULimit: 0.5, Throttled: &throttled, Tasks: &tasks}
	got, err := Use(root, "/a.slice/web.service")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := Use(root, "/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a group that is gone: %v", err)
	}
	if got, err := Use(root, "/../../../a.slice/other.service"); err != nil || !cmp.Equal(got.PIDs, []int{10}) {
		t.Errorf("a group above the root: %+v, %v", got, err)
	}
	if _, err := Use(t.TempDir(), "/a"); !errors.Is(err, ErrLegacy) {
		t.Errorf("without the unified hierarchy: %v", err)
	}
}

// Beside control groups v1 systemd has the unified hierarchy for itself, without resources.
func TestUseOfAGroupBesideLegacyGroups(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"unified/cgroup.controllers": "", "unified/web.service/cgroup.procs": "7\n", "unified/web.service/memory.max": "damaged"})
	got, err := Use(root, "/web.service")
	if !errors.Is(err, ErrFormat) || !cmp.Equal(got.PIDs, []int{7}) || got.Memory != nil || got.CPU != nil || got.Tasks != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
