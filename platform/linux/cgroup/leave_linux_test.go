// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// stayMark makes the test binary a process that leaves its group on command and keeps printing its
// state.
const stayMark = "SENTINEL_TEST_LEAVE"

func TestMain(m *testing.M) {
	if os.Getenv(stayMark) == "" {
		os.Exit(m.Run())
	}
	line := make([]byte, 1)
	os.Stdin.Read(line)
	if os.Getenv(stayMark) == "leave" {
		if err := Leave("/"); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
	}
	for range 1000 {
		os.Stdout.WriteString("x")
		<-time.After(10 * time.Millisecond)
	}
}

// The owner of a group can freeze its processes, but not one that has left.
func TestFrozenGroupHoldsNobodyWhoLeft(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	const group = "/sys/fs/cgroup/of-somebody"
	must(t, os.Mkdir(group, 0o755))
	must(t, os.Chown(group, testenv.Nobody, testenv.Nobody))
	for _, what := range []string{"stay", "leave"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), stayMark+"="+what)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := os.CreateTemp(t.TempDir(), "")
		must(t, err)
		cmd.Stdout, cmd.Stderr = out, out
		must(t, cmd.Start())
		pid := []byte(strconv.Itoa(cmd.Process.Pid))
		must(t, os.WriteFile(group+"/cgroup.procs", pid, 0))
		in.Write([]byte("\n"))
		size := func() int64 { info, err := out.Stat(); must(t, err); return info.Size() }
		testenv.WaitFor(t, "output", func() bool { return size() > 3 })
		must(t, os.WriteFile(group+"/cgroup.freeze", []byte("1"), 0))
		if what == "stay" {
			testenv.WaitFor(t, "a frozen group", func() bool {
				events, err := os.ReadFile(group + "/cgroup.events")
				return err == nil && strings.Contains(string(events), "frozen 1")
			})
			before := size()
			<-time.After(100 * time.Millisecond) // in which ten more would come
			if size() != before {
				t.Error("what stays goes on")
			}
		} else {
			before := size()
			testenv.WaitFor(t, "more output", func() bool { return size() > before+5 })
		}
		cmd.Process.Kill()
		must(t, os.WriteFile(group+"/cgroup.freeze", []byte("0"), 0))
		cmd.Wait()
	}
	if raw, err := os.ReadFile("/proc/self/cgroup"); err != nil || strings.Contains(string(raw), ownGroup+"\n") {
		t.Errorf("this process is in %q, %v", raw, err)
	}
	// This test runs in a service of root's, which nobody else can freeze.
	before, _ := os.ReadFile("/proc/self/cgroup")
	must(t, Leave("/"))
	if after, _ := os.ReadFile("/proc/self/cgroup"); string(after) != string(before) {
		t.Errorf("moved from %q to %q", before, after)
	}
}

func TestLeaveWithoutTheUnifiedHierarchy(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"sys/fs/cgroup/freezer/": ""})
	if err := Leave(root); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestPathOfTheUnifiedHierarchyIsFound(t *testing.T) {
	for text, want := range map[string]string{
		"0::/user.slice/user-1000.slice\n": "/user.slice/user-1000.slice", "12:freezer:/x\n0::/\n": "/", "0::/../x\n": "", "1:name=systemd:/x\n": "", "": "", "0::\n": "",
	} {
		if got, ok := unifiedPath(text); ok && got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
}

func FuzzUnifiedPath(f *testing.F) {
	f.Add("0::/a/b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if path, ok := unifiedPath(text); ok && (!filepath.IsAbs(path) || strings.HasPrefix(path, "/..")) {
			t.Errorf("%q", path)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
