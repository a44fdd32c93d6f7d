// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// What a fetch that fails leaves behind makes no list younger, and no list is younger than now.
func TestOnlyAFetchThatSucceedsMakesTheListsYoung(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	old := now.Add(-90 * 24 * time.Hour)
	apt := map[string]string{"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "var/lib/apt/lists/a_Packages": "", "var/lib/apt/lists/partial/": ""}
	dnf := map[string]string{"usr/bin/dnf": "", "var/lib/rpm/x": "", "var/cache/dnf/base-1/repodata/repomd.xml": "", "var/cache/dnf/base.solv": "", "var/cache/dnf/expired_repos.json": "[]"}
	pacman := map[string]string{"usr/bin/pacman": "", "var/lib/pacman/local/x": "", "var/lib/pacman/sync/core.db": ""}
	for name, c := range map[string]struct {
		files  map[string]string
		fresh  string // what was touched today
		status audit.Status
		says   string
	}{
		"apt, fetched":             {apt, "var/lib/apt/lists", audit.Pass, "apt, fetched 0 days ago"},
		"apt, a failing fetch":     {apt, "var/lib/apt/lists/partial", audit.Fail, "apt, fetched 90 days ago"},
		"apt, a run of the timer":  {with(apt, "var/lib/apt/periodic/update-stamp", ""), "var/lib/apt/periodic/update-stamp", audit.Fail, "apt, fetched 90 days ago"},
		"apt, found current":       {with(apt, "var/lib/apt/periodic/update-success-stamp", ""), "var/lib/apt/periodic/update-success-stamp", audit.Pass, "apt, fetched 0 days ago"},
		"dnf, expired":             {dnf, "var/cache/dnf/expired_repos.json", audit.Fail, "dnf, fetched 90 days ago"},
		"dnf, fetched":             {dnf, "var/cache/dnf/base-1/repodata/repomd.xml", audit.Pass, "dnf, fetched 0 days ago"},
		"pacman, a failing fetch":  {pacman, "var/lib/pacman/sync", audit.Fail, "pacman, fetched 90 days ago"},
		"dnf beside an empty dpkg": {withAll(dnf, "usr/bin/apt-get", "", "var/lib/dpkg/status", ""), "var/cache/dnf/base-1/repodata/repomd.xml", audit.Pass, "dnf, fetched 0 days ago"},
	} {
		root := testenv.Plant(t, c.files)
		dated(t, root, old)
		at(t, filepath.Join(root, c.fresh), now)
		if got := one(t, "updates.list_age", Parts{Root: root, Now: now}); got.Status != c.status || got.Value != c.says {
			t.Errorf("%s: %+v, want %s %q", name, got, c.status, c.says)
		}
	}
	root := testenv.Plant(t, apt)
	dated(t, root, now.Add(48*time.Hour))
	if got := one(t, "updates.list_age", Parts{Root: root, Now: now}); got.Status != "" || !strings.Contains(got.Reason, "/var/lib/apt/lists is dated in the future") {
		t.Errorf("dated in the future: %+v", got)
	}
}

func withAll(files map[string]string, more ...string) map[string]string {
	files = maps.Clone(files)
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

func at(t *testing.T, path string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

// dated gives everything below root the same date.
func dated(t *testing.T, root string, when time.Time) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			at(t, path, when)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One timer fetches the lists, the other installs from them.
func TestUnattendedUpgradesNeedBothOfTheirTimers(t *testing.T) {
	files := map[string]string{
		"usr/bin/apt-get": "", "var/lib/dpkg/status": "x\n", "run/systemd/system/": "", "usr/bin/unattended-upgrade": "",
		"etc/apt/apt.conf.d/20auto-upgrades":                     "APT::Periodic::Update-Package-Lists \"1\";\nAPT::Periodic::Unattended-Upgrade \"1\";\n",
		"etc/systemd/system/timers.target.wants/apt-daily.timer": "", "etc/systemd/system/timers.target.wants/apt-daily-upgrade.timer": "",
	}
	for masked, want := range map[string]audit.Status{"": audit.Pass, "apt-daily.timer": audit.Warn, "apt-daily-upgrade.timer": audit.Warn} {
		root := testenv.Plant(t, files)
		if masked != "" {
			if err := os.Symlink("/dev/null", filepath.Join(root, "etc/systemd/system", masked)); err != nil {
				t.Fatal(err)
			}
		}
		got := one(t, "updates.automatic", Parts{Root: root})
		if got.Status != want || want == audit.Warn && !strings.HasPrefix(got.Evidence[0], masked) {
			t.Errorf("%q masked: %+v, want %s", masked, got, want)
		}
	}
}
