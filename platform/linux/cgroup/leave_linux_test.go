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

func TestLeaveWithoutControlGroups(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/self/cgroup": "4:freezer:/x\n", "sys/fs/cgroup/freezer/": ""})
	if err := Leave(root); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestPathOfTheProcessIsFound(t *testing.T) {
	unified, systemd := hierarchies[0], hierarchies[1]
	for text, want := range map[string]string{
		"0::/user.slice/user-1000.slice\n": "/user.slice/user-1000.slice", "12:freezer:/x\n0::/\n": "/", "0::/../x\n": "/../x", "1:name=systemd:/x\n": "", "": "", "0::\n": "",
		"0::/a:b\n": "/a:b", "3::/x\n": "",
	} {
		if got, ok := unified.path(text); ok && got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", text, got, ok)
		}
	}
	if got, ok := systemd.path("2:cpu:/y\n1:name=systemd:/user.slice\n0::/z\n"); got != "/user.slice" || !ok {
		t.Errorf("%q %v", got, ok)
	}
}

func FuzzPath(f *testing.F) {
	f.Add("0::/a/b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range hierarchies {
			if path, ok := h.path(text); ok && (!filepath.IsAbs(path)) {
				t.Errorf("%q", path)
			}
		}
	})
}

// What logind or elogind may keep as a session is left, in the hierarchy that they use.
func TestTheGroupOfASessionIsLeft(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, who owns the groups")
	for membership, leaves := range map[string]string{
		"0::/user.slice/user-1000.slice/session-3.scope\n":                   "sys/fs/cgroup/unified/sentinel/cgroup.procs",
		"1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/\n": "sys/fs/cgroup/systemd/sentinel/cgroup.procs",
		"0::/../x\n": "sys/fs/cgroup/unified/sentinel/cgroup.procs",
		"1:name=elogind:/c2\n1:name=systemd:/\n0::/\n":                                                 "sys/fs/cgroup/elogind/sentinel/cgroup.procs",
		"1:name=elogind:/\n1:name=systemd:/system.slice/cron.service\n0::/system.slice/cron.service\n": "",
		"1:name=elogind:/sentinel\n1:name=systemd:/sentinel\n0::/sentinel\n":                           "",
		"1:name=elogind:/\n1:name=systemd:/\n0::/system.slice/given.service\n":                         "sys/fs/cgroup/unified/sentinel/cgroup.procs",
	} {
		root := testenv.Plant(t, map[string]string{"proc/self/cgroup": membership, "sys/fs/cgroup/unified/cgroup.controllers": ""})
		for _, top := range []string{"unified", "systemd", "elogind"} {
			for _, group := range []string{"", "sentinel", "system.slice", "system.slice/cron.service", "system.slice/given.service"} {
				dir := filepath.Join(root, "sys/fs/cgroup", top, group)
				must(t, os.MkdirAll(dir, 0o755))
				must(t, os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644))
			}
			must(t, os.Chown(filepath.Join(root, "sys/fs/cgroup", top, "system.slice/given.service"), testenv.Nobody, 0))
		}
		if err := Leave(root); err != nil {
			t.Errorf("%q: %v", membership, err)
		}
		for _, top := range []string{"unified", "systemd", "elogind"} {
			path := "sys/fs/cgroup/" + top + "/sentinel/cgroup.procs"
			raw, err := os.ReadFile(filepath.Join(root, path))
			must(t, err)
			if moved := string(raw) == strconv.Itoa(os.Getpid()); moved != (path == leaves) {
				t.Errorf("%q: moved at %s: %v", membership, top, moved)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
