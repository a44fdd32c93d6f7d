// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/health"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/procfs"
)

// containerTree is a container whose control group may use one processor and a half of the four of its host.
func containerTree(t *testing.T, more map[string]string) source {
	t.Helper()
	files := map[string]string{
		".dockerenv": "", "proc/stat": "cpu 9000 0 0 1 0 0 0 0 0 0\n" + strings.Repeat("cpu0 9000 0 0 1 0 0 0 0 0 0\n", 4),
		"proc/loadavg": "64.00 64.00 64.00 9/900 1234\n", "proc/pressure/cpu": full, "proc/pressure/memory": full, "proc/pressure/io": full,
		"sys/fs/cgroup/cgroup.controllers": "cpu memory\n", "sys/fs/cgroup/cgroup.events": "populated 1\n", "sys/fs/cgroup/cpu.max": "150000 100000\n",
		"sys/fs/cgroup/cpu.stat": "usage_usec 1000000\n", "proc/self/mountinfo": "1 0 0:1 / / rw - overlay overlay rw\n",
	}
	for name, content := range more {
		files[name] = content
		if content == "" {
			delete(files, name)
		}
	}
	root := testenv.Plant(t, files)
	return newSource(root, processes.New(root))
}

const (
	full = "some avg10=99.00 avg60=98.00 avg300=97.00 total=8812011\nfull avg10=90.00 avg60=91.00 avg300=92.00 total=8011220\n"
	none = "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=11\n"
)

// What its host does is no trouble of a container.
func TestAContainerIsNotToldTheFiguresOfItsHost(t *testing.T) {
	own := map[string]string{"sys/fs/cgroup/cpu.pressure": none, "sys/fs/cgroup/memory.pressure": none, "sys/fs/cgroup/io.pressure": none}
	s := containerTree(t, own)
	if _, err := s.load(t.Context()); !errors.Is(err, errHostLoad) {
		t.Errorf("load: %v", err)
	}
	if p, err := s.pressure(t.Context()); err != nil || p["cpu"].Some.Avg60 != 0 {
		t.Errorf("pressure: %+v, %v", p, err)
	}
	if _, err := containerTree(t, nil).pressure(t.Context()); !errors.Is(err, errHostPressure) {
		t.Errorf("without pressure of its own: %v", err)
	}
	for name, without := range map[string]string{"group of the host": "sys/fs/cgroup/cgroup.events", "no controller": "sys/fs/cgroup/cpu.stat"} {
		if _, err := containerTree(t, map[string]string{without: ""}).cpu(t.Context()); !errors.Is(err, errHostCPU) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// LXCFS mounts files that tell of the container over those of the kernel.
func TestFilesOfLXCFSAreTheContainersOwn(t *testing.T) {
	table := "1 0 0:1 / / rw - overlay overlay rw\n"
	for _, file := range []string{"/proc/stat", "/proc/loadavg", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"} {
		table += "2 1 0:50 " + file + " " + file + " rw - fuse.lxcfs lxcfs rw\n"
	}
	s := containerTree(t, map[string]string{"proc/self/mountinfo": table, "sys/fs/cgroup/cpu.stat": ""})
	load, err := s.load(t.Context())
	if err != nil || load.One != 64 {
		t.Errorf("load: %+v, %v", load, err)
	}
	if p, err := s.pressure(t.Context()); err != nil || p["cpu"].Some.Avg60 != 98 {
		t.Errorf("pressure: %+v, %v", p, err)
	}
	if c, err := s.cpu(t.Context()); err != nil || len(c.Cores) != 4 || c.Container {
		t.Errorf("processor: %+v, %v", c, err)
	}
}

// The use is that of the group, as a share of the processors that it may use.
func TestTheProcessorOfAContainerIsThatOfItsGroup(t *testing.T) {
	for _, mode := range []string{"v2", "v1"} {
		file, after := "sys/fs/cgroup/cpu.stat", "usage_usec 9000000000\n"
		var more map[string]string
		if mode == "v1" {
			const before = "1000000000\n"
			file, after = "sys/fs/cgroup/cpuacct/cpuacct.usage", "9000000000000\n"
			more = map[string]string{"sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/cpu.stat": "", file: before}
		}
		s := containerTree(t, more)
		first, err := s.cpu(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
		idle, err := s.cpu(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.root+"/"+file, []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
		busy, err := s.cpu(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for sample, want := range map[*health.CPUSample]float64{&idle: 0, &busy: 100} {
			sample.Own = first.Own // what this test uses does not count
			r := health.Build(health.Facts{}, health.Options{}, &answer.Gaps{})
			r.UseCPU(first, *sample, 20, &answer.Gaps{})
			if r.CPU.Percent == nil || *r.CPU.Percent != want || r.CPU.Cores != 4 || r.CPU.Scope != "container" || r.CPU.PerCore != nil {
				t.Errorf("%s: %v %%, %+v, want %v %%", mode, *r.CPU.Percent, r.CPU, want)
			}
		}
	}
}

// The use that a real container is told is that of the process in it, however busy its host is.
func TestTheProcessorOfARealContainer(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	burner := exec.Command("sh", "-c", "while :; do :; done")
	if err := burner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { burner.Process.Kill(); burner.Wait() })
	s := sourcesOf("/")
	used := func() time.Duration {
		stat, err := procfs.New("/").Process(burner.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(stat.Ticks) * tick
	}
	testenv.WaitFor(t, "the use of the group is that of its process", func() bool {
		before, err := s.CPU(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		own := used()
		<-time.After(2 * time.Second)
		own = used() - own
		after, err := s.CPU(t.Context())
		if err != nil || !after.Container {
			t.Fatalf("%+v, %v", after, err)
		}
		group := time.Duration(after.All.Total-before.All.Total) - time.Duration(after.All.Idle-before.All.Idle)
		t.Logf("the process used %v, its group %v", own, group)
		return own > 100*time.Millisecond && group > own*9/10 && group < own*12/10
	})
	if _, err := s.Load(t.Context()); !errors.Is(err, errHostLoad) {
		t.Errorf("load: %v", err)
	}
}
