// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
	"sentinel/platform/linux/procfs"
)

func TestAClockBehindWhatTheSystemWrote(t *testing.T) {
	root := t.TempDir()
	if _, err := behind(root, time.Now()); !errors.Is(err, errNothingDated) {
		t.Error(err)
	}
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	date := func(name string, at time.Time) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	date("var/lib/dpkg/status", now.Add(-time.Hour))
	date("run/utmp", now.Add(time.Second))
	if got, err := behind(root, now); err != nil || got.Value != 0 || got.Names != nil {
		t.Errorf("%+v, %v", got, err)
	}
	date("var/lib/systemd/timesync/clock", now.Add(90*time.Minute))
	want := health.Reading{Value: 5400, Names: []string{"/var/lib/systemd/timesync/clock is of 2026-11-23T13:30:00Z"}}
	if got, err := behind(root, now); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheTimeServiceThatIsMissing(t *testing.T) {
	table := func(names ...string) (list []procfs.Process) {
		for i, name := range names {
			list = append(list, procfs.Process{ProcessStat: procfs.ProcessStat{PID: i + 1, Name: name}})
		}
		return list
	}
	for _, c := range []struct {
		table []procfs.Process
		want  float64
		err   error
	}{
		{table("systemd", "sshd"), 1, nil},
		{table("systemd", "systemd-timesyn"), 0, nil},
		{table("init", "chronyd"), 0, nil},
		{table("init", "chronyd-fake"), 1, nil},
		{[]procfs.Process{{ProcessStat: procfs.ProcessStat{PID: 7, Name: "bash"}}}, 0, errHidden},
		{[]procfs.Process{{ProcessStat: procfs.ProcessStat{PID: 7, Name: "ntpd"}}}, 0, nil},
	} {
		ofSystem := func(procfs.Process, []string) (bool, error) { return true, nil }
		if got, err := missingTimeService(c.table, ofSystem); got.Value != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: %+v, %v", c.table, got, err)
		}
	}
}

// What a process is called sets no clock, and what cannot be looked at may.
func TestANameIsNoTimeService(t *testing.T) {
	named := func(pid int, name string) procfs.Process {
		return procfs.Process{ProcessStat: procfs.ProcessStat{PID: pid, Name: name}}
	}
	table := []procfs.Process{named(1, "init"), named(7, "ptp4l"), named(8, "chronyd")}
	for what, c := range map[string]struct {
		eighth      bool
		unread, err error
		want        float64
	}{
		"both a user's":            {false, nil, nil, 1},
		"one of the system":        {true, nil, nil, 0},
		"one that is hidden":       {false, errHidden, errHidden, 0},
		"hidden, and the system's": {true, errHidden, nil, 0},
	} {
		got, err := missingTimeService(table, func(p procfs.Process, names []string) (bool, error) {
			if !slices.Contains(names, p.Name) {
				t.Errorf("%s: asked of %s for %v", what, p.Name, names)
			}
			if p.PID == 8 {
				return c.eighth, nil
			}
			return false, c.unread
		})
		if got.Value != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}
