// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/processes"
)

var update = flag.Bool("update", false, "rewrite golden files")

const hosts = "../../../testdata/hosts/"

// on returns the sources of a fixture machine with ask in place of statfs.
func on(root string, ask func(mountpoint string) (mounts.Usage, error)) health.Sources {
	s := newSource(root, processes.New(root))
	s.mounts = s.mounts.WithStatfs(ask)
	return s.sources()
}

// usage invents the usage of a file system from the length of its path, so that each differs.
func usage(mountpoint string) (mounts.Usage, error) {
	if strings.Contains(mountpoint, "Stick") {
		return mounts.Usage{}, fs.ErrPermission
	}
	const size = 500 << 30
	used := uint64(size / 100 * (10 + 4*len(mountpoint)))
	return mounts.Usage{Size: size, Used: used, Available: size - used, Inodes: 1 << 20, InodesUsed: 1 << 17}, nil
}

func TestHealthOfFixtureMachines(t *testing.T) {
	for _, host := range []string{"laptop", "vm", "container", "container-v1", "raspberrypi"} {
		gaps := answer.Gaps{}
		facts := health.Collect(t.Context(), on(hosts+host, usage), &gaps)
		report := health.Build(facts, health.Options{Rows: -1, Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, &gaps)
		report.Judge(health.DefaultThresholds())
		report.Unavailable = gaps
		golden(t, host, report)
	}
}

func golden(t *testing.T, name string, value any) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (run with -update when it is meant): %s", name, diff)
	}
}

func TestCPUSampleHasEveryCore(t *testing.T) {
	for host, cores := range map[string]int{"laptop": 8, "vm": 2, "raspberrypi": 4} {
		got, err := on(hosts+host, usage).CPU(t.Context())
		if err != nil || len(got.Cores) != cores || got.Tick != 10*time.Millisecond || got.Own <= 0 || got.All.Total == 0 {
			t.Errorf("%s: %d cores, tick %v, own %v, %v", host, len(got.Cores), got.Tick, got.Own, err)
		}
	}
	if got, err := on(hosts+"container", usage).CPU(t.Context()); err != nil || got.Count != 16 || !got.Container {
		t.Errorf("container: %+v, %v", got, err)
	}
}

func TestTreeThatIsNotLiveIsNotAnsweredForByThisMachine(t *testing.T) {
	s := sourcesOf(hosts + "laptop")
	disks, err := s.Disks(t.Context())
	if err != nil || len(disks) == 0 {
		t.Fatalf("%v, %v", disks, err)
	}
	for _, d := range disks {
		if !errors.Is(d.Err, errNotLive) || d.Size != 0 {
			t.Errorf("%s: size %d, %v", d.Mountpoint, d.Size, d.Err)
		}
	}
	if units, err := s.FailedUnits(t.Context()); err == nil {
		t.Errorf("units %v", units)
	}
}

func TestContainerReadsItsOwnPressureAndNotTheMachines(t *testing.T) {
	got, err := on(hosts+"container", usage).Pressure(t.Context())
	if err != nil || got["cpu"].Some.Avg60 != 18.11 || got["cpu"].Full.Avg10 != 20.11 {
		t.Errorf("got %+v, %v", got["cpu"], err)
	}
	if got, err := on(hosts+"raspberrypi", usage).Pressure(t.Context()); !errors.Is(err, fs.ErrNotExist) || got != nil {
		t.Errorf("a kernel without PSI: %v, %v", got, err)
	}
}

func TestFileSystemsInMemoryThatOthersNeedAreAsked(t *testing.T) {
	root := t.TempDir()
	const table = "1 0 0:2 / / rw - tmpfs tmpfs rw\n2 1 0:3 / /tmp rw - tmpfs tmpfs rw\n3 1 0:4 / /run rw - tmpfs tmpfs rw\n4 1 0:5 / /srv rw - tmpfs tmpfs rw\n" +
		"5 1 0:6 / /dev/shm rw - tmpfs tmpfs rw\n6 1 0:3 /x /var/tmp rw - tmpfs tmpfs rw\n7 5 8:1 / /dev/shm rw - ext4 /dev/sda1 rw\n"
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "proc", "self"), 0o700), os.WriteFile(filepath.Join(root, "proc", "self", "mountinfo"), []byte(table), 0o600)); err != nil {
		t.Fatal(err)
	}
	var asked []string
	disks, err := on(root, func(string) (mounts.Usage, error) { return mounts.Usage{Size: 100, Used: 100}, nil }).Disks(t.Context())
	for _, d := range disks {
		asked = append(asked, fmt.Sprintf("%s %s %d/%d in memory %v", d.Mountpoint, d.FileSystem, d.Used, d.Size, d.InMemory))
	}
	want := []string{"/ tmpfs 100/100 in memory false", "/run tmpfs 100/100 in memory true", "/tmp tmpfs 100/100 in memory true", "/dev/shm ext4 100/100 in memory false"}
	if diff := cmp.Diff(want, asked); diff != "" || err != nil {
		t.Errorf("%v: %s", err, diff)
	}
}

// Forty hanging disks take sixteen threads and two seconds, and hide no disk that has answered
// before.
func TestDeadDisksCostTheirOwnRowsOnly(t *testing.T) {
	root := t.TempDir()
	var table strings.Builder
	table.WriteString("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
	for i := range 40 {
		fmt.Fprintf(&table, "%d 1 9:%d / /dead/%d rw - ext4 /dev/x%d rw\n", 100+i, i, i, i)
	}
	if err := os.MkdirAll(filepath.Join(root, "proc", "self"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc", "self", "mountinfo"), []byte(table.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		repaired := make(chan struct{})
		defer close(repaired)
		s := on(root, func(mountpoint string) (mounts.Usage, error) {
			if strings.HasPrefix(mountpoint, "/dead/") {
				<-repaired
			}
			return mounts.Usage{Size: 100, Used: 50, Available: 50}, nil
		})
		began := time.Now()
		disks, err := s.Disks(t.Context())
		if took := time.Since(began); err != nil || took > disksLimit || len(disks) != 41 {
			t.Fatalf("%d disks after %v, %v", len(disks), took, err)
		}
		for _, d := range disks {
			if dead := d.Mountpoint != "/"; dead != errors.Is(d.Err, context.DeadlineExceeded) || dead == (d.Size == 100) {
				t.Errorf("%s: %+v", d.Mountpoint, d)
			}
		}
	})
}
