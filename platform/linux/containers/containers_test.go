// SPDX-License-Identifier: Apache-2.0

//go:build linux

package containers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/engine"
)

// A machine with a container of systemd-nspawn, one of LXC that runs and one that does not.
func machineRoot(t *testing.T) string {
	t.Helper()
	return testenv.Plant(t, map[string]string{
		"run/systemd/machines/build":                                              "# This is private data. Do not parse.\nNAME=build\nSERVICE=systemd-nspawn\nLEADER=812\nCLASS=container\nREALTIME=1795161325000000\n",
		"run/systemd/machines/.host":                                              "NAME=.host\nCLASS=host\nLEADER=1\n",
		"run/systemd/machines/guest":                                              "NAME=guest\nSERVICE=libvirt-qemu\nLEADER=900\nCLASS=vm\n",
		"run/systemd/machines/broken":                                             "NAME=broken\nCLASS=container\nLEADER=-4\n",
		"proc/812/cgroup":                                                         "0::/machine.slice/systemd-nspawn@build.service/payload\n",
		"proc/640/cgroup":                                                         "0::/lxc.payload.db/init.scope\n",
		"sys/fs/cgroup/cgroup.controllers":                                        "cpu memory pids\n",
		"var/lib/lxc/db/config":                                                   "lxc.uts.name = db\n",
		"var/lib/lxc/old/config":                                                  "",
		"var/lib/lxc/notes.txt":                                                   "",
		"sys/fs/cgroup/lxc.payload.db/cgroup.procs":                               "",
		"sys/fs/cgroup/lxc.payload.db/memory.current":                             "1000000\n",
		"sys/fs/cgroup/lxc.payload.db/memory.stat":                                "inactive_file 0\n",
		"sys/fs/cgroup/lxc.payload.db/memory.max":                                 "max\n",
		"sys/fs/cgroup/lxc.payload.db/cpu.max":                                    "max 100000\n",
		"sys/fs/cgroup/lxc.payload.db/cpu.stat":                                   "usage_usec 5\nthrottled_usec 0\n",
		"sys/fs/cgroup/lxc.payload.db/pids.current":                               "9\n",
		"sys/fs/cgroup/lxc.payload.db/pids.max":                                   "max\n",
		"sys/fs/cgroup/lxc.payload.db/init.scope/cgroup.procs":                    "640\n641\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/cgroup.procs":   "",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/memory.current": "50000000\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/memory.stat":    "inactive_file 1000000\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/memory.max":     "64000000\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/cpu.max":        "50000 100000\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/cpu.stat":       "usage_usec 5\nthrottled_usec 3000000\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/pids.current":   "12\n",
		"sys/fs/cgroup/machine.slice/systemd-nspawn@build.service/pids.max":       "100\n",
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/home/ana:/bin/sh\n",
	})
}

func TestContainersWithoutAnEngine(t *testing.T) {
	gaps := answer.Gaps{}
	engines, list, err := Source(machineRoot(t)).Containers(t.Context(), &gaps)
	if err != nil || len(engines) != 0 || len(gaps) != 0 {
		t.Fatal(engines, gaps, err)
	}
	want := []containers.Facts{
		{
			Engine: "nspawn", Name: "build", State: containers.Running, PID: 812, Started: time.UnixMicro(1795161325000000),
			Use: containers.Use{
				MemoryBytes: new(uint64(49000000)), MemoryLimitBytes: new(uint64(64000000)), CPULimit: 0.5, CPUThrottledSeconds: new(3.0), Tasks: new(12), TaskLimit: new(100),
			},
		},
		{Engine: "lxc", Name: "db", State: containers.Running, PID: 640, Use: containers.Use{MemoryBytes: new(uint64(1000000)), Tasks: new(9)}},
		{Engine: "lxc", Name: "old", State: containers.Exited},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
}

// Where each resource has a hierarchy of its own, the limits and the use are in those.
func TestContainersInControlGroupsV1(t *testing.T) {
	const group = "/machine.slice/systemd-nspawn@build.service"
	root := testenv.Plant(t, map[string]string{
		"run/systemd/machines/build":                              "NAME=build\nSERVICE=systemd-nspawn\nLEADER=812\nCLASS=container\n",
		"proc/812/cgroup":                                         "9:memory:" + group + "/payload\n2:cpu,cpuacct:/\n1:name=systemd:" + group + "/payload\n0::/\n",
		"proc/640/cgroup":                                         "9:memory:/lxc/db\n1:name=openrc:/lxc\n",
		"var/lib/lxc/db/config":                                   "",
		"sys/fs/cgroup/systemd" + group + "/cgroup.procs":         "812\n",
		"sys/fs/cgroup/memory" + group + "/memory.limit_in_bytes": "64000000\n",
		"sys/fs/cgroup/memory" + group + "/memory.usage_in_bytes": "50000000\n",
		"sys/fs/cgroup/memory" + group + "/memory.stat":           "inactive_file 7\ntotal_inactive_file 1000000\n",
		"sys/fs/cgroup/memory/lxc/db/cgroup.procs":                "640\n",
		"sys/fs/cgroup/memory/lxc/db/memory.limit_in_bytes":       "9223372036854771712\n",
		"sys/fs/cgroup/memory/lxc/db/memory.usage_in_bytes":       "2000000\n",
		"sys/fs/cgroup/memory/lxc/db/memory.stat":                 "total_inactive_file 0\n",
	})
	gaps := answer.Gaps{}
	_, list, err := Source(root).Containers(t.Context(), &gaps)
	want := []containers.Facts{
		{Engine: "nspawn", Name: "build", State: containers.Running, PID: 812, Use: containers.Use{MemoryBytes: new(uint64(49000000)), MemoryLimitBytes: new(uint64(64000000))}},
		{Engine: "lxc", Name: "db", State: containers.Running, PID: 640, Use: containers.Use{MemoryBytes: new(uint64(2000000))}},
	}
	if diff := cmp.Diff(want, list); diff != "" || err != nil || len(gaps) > 0 {
		t.Errorf("%v, %v %s", err, gaps, diff)
	}
}

func TestEnginesOfUsersAreTheirs(t *testing.T) {
	root := machineRoot(t)
	for _, name := range []string{"1000", "0", "x", "4711"} {
		if err := os.MkdirAll(filepath.Join(root, "run", "user", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, s := range Source(root).sockets(&answer.Gaps{}) {
		path, err := filepath.Rel(root, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		got[path] = s.User
	}
	want := map[string]string{
		"run/docker.sock": "", "run/podman/podman.sock": "", "run/user/1000/docker.sock": "ana", "run/user/1000/podman/podman.sock": "ana",
		"run/user/4711/docker.sock": "4711", "run/user/4711/podman/podman.sock": "4711",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What engines of users do not tell has a bound, whoever names it and however many there are.
func TestWhatEnginesOfUsersDoNotTellHasABound(t *testing.T) {
	files := map[string]string{}
	for n := range 60 {
		files[fmt.Sprintf("run/user/%d/docker.sock", 1000+n)], files[fmt.Sprintf("run/user/%d/podman/podman.sock", 1000+n)] = "", ""
	}
	gaps := answer.Gaps{{Field: "containers.lxc", Reason: "x"}}
	root := testenv.Plant(t, files)
	if _, _, err := Source(root).Containers(t.Context(), &gaps); err != nil {
		t.Fatal(err)
	}
	named, rest := 0, gaps[len(gaps)-1]
	for _, g := range gaps[1 : len(gaps)-1] {
		named += len(g.Fields())
	}
	if want := fmt.Sprint("more that those of users did not tell: ", 120-named); answer.Size(gaps) > 700 || named == 0 || rest.Reason != want {
		t.Errorf("%d bytes, %d named: %+v", answer.Size(gaps), named, gaps)
	}
	p := part{err: errors.New("late"), gaps: answer.Gaps{{Field: "containers.x", Reason: "y"}}}
	want := []answer.Place{{Field: "engines./s", Reason: "late", Owner: "eve"}, {Field: "containers.x", Reason: "y", Owner: "eve"}}
	if diff := cmp.Diff(want, p.places(engine.Socket{Path: "/s", Owner: 1000, User: "eve"})); diff != "" {
		t.Error(diff)
	}
}

func TestMoreThanCanBeLookedAtIsAGap(t *testing.T) {
	files := map[string]string{}
	for i := range maxMachines + 1 {
		files[fmt.Sprintf("var/lib/lxc/c%d/config", i)] = ""
	}
	gaps := answer.Gaps{}
	if _, list, err := Source(testenv.Plant(t, files)).Containers(t.Context(), &gaps); err != nil || len(list) != maxMachines || len(gaps) != 1 || gaps[0].Field != "containers.lxc" {
		t.Errorf("%d, %v, %v", len(list), gaps, err)
	}
}

func FuzzMachine(f *testing.F) {
	f.Add("NAME=build\nSERVICE=systemd-nspawn\nLEADER=812\nCLASS=container\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := machine([]byte(text)); ok && (m.PID <= 0 || m.Name == "") {
			t.Errorf("%+v", m)
		}
		groupOf([]byte(text))
	})
}

// However many engines users have, few of them are asked at a time, and that of the system waits for none.
func TestFewEnginesOfUsersAreAskedAtATime(t *testing.T) {
	testenv.HangGuard(t)
	var sockets []engine.Socket
	for uid := range 20 {
		sockets = append(sockets, engine.Socket{Path: strconv.Itoa(1000 + uid), Owner: 1000 + uid})
	}
	sockets = append(sockets, engine.Socket{Path: "system"})
	var now, most atomic.Int32
	asked := make(chan struct{})
	found := askAll(t.Context(), sockets, func(_ context.Context, s engine.Socket) part {
		if s.Owner == 0 {
			testenv.WaitFor(t, "engines of users are asked", func() bool { return now.Load() >= usersAtOnce })
			close(asked)
		} else {
			most.Store(max(most.Load(), now.Add(1)))
			<-asked
			defer now.Add(-1)
		}
		return part{engines: []containers.Engine{{Name: s.Path}}}
	})
	if most.Load() != usersAtOnce {
		t.Errorf("%d at a time", most.Load())
	}
	for i, p := range found {
		if p.err != nil || p.engines[0].Name != sockets[i].Path {
			t.Errorf("%s: %+v", sockets[i].Path, p)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range askAll(ended, sockets[:20], func(ctx context.Context, _ engine.Socket) part { return part{err: ctx.Err()} }) {
		if !errors.Is(p.err, context.Canceled) {
			t.Error(p.err)
		}
	}
}
