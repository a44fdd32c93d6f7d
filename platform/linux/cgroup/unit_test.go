// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"io/fs"
	"maps"
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
	if _, err := Use(t.TempDir(), "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without any hierarchy: %v", err)
	}
}

// Of control groups v1 each resource has a hierarchy of its own, and the processes are in that of systemd,
// which may be the unified one, without resources.
func TestUseOfALegacyGroup(t *testing.T) {
	const web = "/a.slice/web.service/"
	whole := map[string]string{
		"systemd" + web + "cgroup.procs": "7\n8\n", "systemd" + web + "sub/cgroup.procs": "9\n", "systemd/a.slice/other.service/cgroup.procs": "10\n",
		"memory" + web + "memory.usage_in_bytes": "5000\n", "memory" + web + "memory.stat": "inactive_file 1\ntotal_inactive_file 1000\n", "memory" + web + "memory.limit_in_bytes": "8192\n",
		"cpu" + web + "cpu.cfs_quota_us": "50000\n", "cpu" + web + "cpu.cfs_period_us": "100000\n", "cpu" + web + "cpu.stat": "nr_throttled 3\nthrottled_time 250000000\n",
		"cpuacct" + web + "cpuacct.usage": "1500000000\n", "pids" + web + "pids.current": "4\n", "pids" + web + "pids.max": "100\n",
	}
	used := Usage{
		PIDs: []int{7, 8, 9}, Memory: new(uint64(4000)), MemoryLimit: 8192, CPU: new(1500 * time.Millisecond), CPULimit: 0.5,
		Throttled: new(250 * time.Millisecond), Tasks: new(uint64(4)), TasksLimit: 100,
	}
	with := func(change func(*Usage)) Usage {
		u := used
		change(&u)
		return u
	}
	for name, c := range map[string]struct {
		changes map[string]string // "" removes a file
		want    Usage
		err     error
	}{
		"whole":                        {nil, used, nil},
		"no limits":                    {map[string]string{"memory" + web + "memory.limit_in_bytes": "9223372036854771712\n", "cpu" + web + "cpu.cfs_quota_us": "-1\n", "pids" + web + "pids.max": "max\n"}, with(func(u *Usage) { u.MemoryLimit, u.CPULimit, u.TasksLimit = 0, 0, 0 }), nil},
		"no limit, pages of 64 KiB":    {map[string]string{"memory" + web + "memory.limit_in_bytes": "9223372036854710272\n"}, with(func(u *Usage) { u.MemoryLimit = 0 }), nil},
		"no limit, 32 bits":            {map[string]string{"memory" + web + "memory.limit_in_bytes": "8796093018112\n"}, with(func(u *Usage) { u.MemoryLimit = 0 }), nil},
		"no limit, before 3.19":        {map[string]string{"memory" + web + "memory.limit_in_bytes": "9223372036854775807\n"}, with(func(u *Usage) { u.MemoryLimit = 0 }), nil},
		"processes in the unified one": {map[string]string{"unified" + web + "cgroup.procs": "11\n"}, with(func(u *Usage) { u.PIDs = []int{11} }), nil},
		"not accounted by memory":      {map[string]string{"memory" + web + "memory.usage_in_bytes": "", "memory" + web + "memory.stat": "", "memory" + web + "memory.limit_in_bytes": ""}, with(func(u *Usage) { u.Memory, u.MemoryLimit = nil, 0 }), nil},
		"a damaged limit":              {map[string]string{"memory" + web + "memory.limit_in_bytes": "much\n"}, with(func(u *Usage) { u.MemoryLimit = 0 }), ErrFormat},
	} {
		root, files := t.TempDir(), maps.Clone(whole)
		maps.Copy(files, c.changes)
		maps.DeleteFunc(files, func(_, content string) bool { return content == "" })
		plant(t, root, files)
		got, err := Use(root, "/a.slice/web.service")
		if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		plant(t, root, map[string]string{"memory/memory.usage_in_bytes": "9\n", "memory/memory.stat": "total_inactive_file 0\n"})
		if got, err := Use(root, "/"); err != nil || len(got.PIDs) == 0 || got.Memory != nil {
			t.Errorf("%s, the root: %+v, %v", name, got, err)
		}
	}
}
