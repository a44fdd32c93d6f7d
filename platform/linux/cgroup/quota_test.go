// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

func group(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, "sys", "fs", "cgroup", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestQuotasAreThoseOfGroupsThatWereHeldBack(t *testing.T) {
	root := t.TempDir()
	if _, err := Quotas(root); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	group(t, root, map[string]string{
		"cgroup.controllers":                   "cpu memory\n",
		"system.slice/a.service/cpu.max":       "50000 100000\n",
		"system.slice/a.service/cpu.stat":      "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 1500000\n",
		"system.slice/b.service/cpu.max":       "max 100000\n",
		"system.slice/b.service/cpu.stat":      "usage_usec 9\nnr_throttled 3\nthrottled_usec 1500000\n",
		"system.slice/c.service/cpu.max":       "50000 100000\n",
		"system.slice/c.service/cpu.stat":      "usage_usec 9\nthrottled_usec 0\n",
		"system.slice/d.service/cpu.max":       "rubbish\n",
		"system.slice/d.service/cpu.stat":      "throttled_usec 7\n",
		"system.slice/a.service/cgroup.events": "populated 1\n",
	})
	got, err := Quotas(root)
	want := []Quota{{Group: "/system.slice/a.service", Cores: 0.5, Throttled: 1500 * time.Millisecond}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestQuotasOfControlGroupsV1(t *testing.T) {
	root := t.TempDir()
	group(t, root, map[string]string{
		"cpu/docker/x/cpu.cfs_quota_us":  "150000\n",
		"cpu/docker/x/cpu.cfs_period_us": "100000\n",
		"cpu/docker/x/cpu.stat":          "nr_periods 9\nnr_throttled 2\nthrottled_time 2500000000\n",
		"cpu/docker/y/cpu.cfs_quota_us":  "-1\n",
		"cpu/docker/y/cpu.cfs_period_us": "100000\n",
		"cpu/docker/y/cpu.stat":          "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
	})
	// As systemd has it: two controllers in one hierarchy, each with a name of its own.
	top := filepath.Join(root, "sys", "fs", "cgroup")
	if err := errors.Join(os.Rename(filepath.Join(top, "cpu"), filepath.Join(top, "cpu,cpuacct")), os.Symlink("cpu,cpuacct", filepath.Join(top, "cpu"))); err != nil {
		t.Fatal(err)
	}
	got, err := Quotas(root)
	if diff := cmp.Diff([]Quota{{Group: "/docker/x", Cores: 1.5, Throttled: 2500 * time.Millisecond}}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestQuotasOfMoreGroupsThanAreLookedAt(t *testing.T) {
	root := t.TempDir()
	group(t, root, map[string]string{"cgroup.controllers": "cpu\n", "a/cpu.max": "1 2\n", "a/cpu.stat": "throttled_usec 7\n"})
	for i := range maxQuotaGroups {
		if err := os.Mkdir(filepath.Join(root, "sys", "fs", "cgroup", fmt.Sprintf("g%d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Quotas(root); !errors.Is(err, ErrTooManyGroups) || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Who makes any number of groups hides none of the system's, whatever they are called, and none of others.
func TestNobodyHidesTheQuotasOfOthers(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("/d", n) }
	for name, own := range map[string]func(i int) string{
		"a user's":                 func(i int) string { return fmt.Sprintf("user.slice/user-1500.slice/user@1500.service/g%d", i) },
		"a container's":            func(i int) string { return fmt.Sprintf("lxc.payload.web/g%d", i) },
		"a container's, in others": func(i int) string { return fmt.Sprintf("lxc.payload.web/g%d%s", i/50, deep(i%50)) },
		"a service's":              func(i int) string { return fmt.Sprintf("system.slice/docker-1.scope/g%d", i) },
		"a service's, in others":   func(i int) string { return fmt.Sprintf("system.slice/docker-1.scope/g%d%s", i/50, deep(i%50)) },
	} {
		t.Run(name, func(t *testing.T) {
			root, want := testenv.MemDir(t), []string{"/lxc.payload.x/y", "/system.slice/nginx.service", "/user.slice", "/user.slice/user-1501.slice/b.scope", "/zabbix.slice/z.service"}
			files := map[string]string{"cgroup.controllers": "cpu\n"}
			for _, g := range want {
				files[g+"/cpu.max"], files[g+"/cpu.stat"] = "1 2\n", "throttled_usec 7\n"
			}
			group(t, root, files)
			for i := range maxQuotaGroups + 10 {
				if err := os.MkdirAll(filepath.Join(root, "sys", "fs", "cgroup", own(i)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			list, err := Quotas(root)
			var got []string
			for _, q := range list {
				got = append(got, q.Group)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, ErrTooManyGroups) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}
