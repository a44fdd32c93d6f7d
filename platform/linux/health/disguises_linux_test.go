// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/health"
	domain "sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/processes"
)

// counted returns what a figure says of one process.
func counted(t *testing.T, key string, pid int) string {
	t.Helper()
	r, err := sourcesOf("/").Figures[key](t.Context())
	if err != nil && len(r.PIDs) > 0 {
		t.Fatal(err)
	}
	if at := slices.Index(r.PIDs, pid); at >= 0 {
		return r.Names[at]
	}
	return ""
}

// started runs a program until the test ends.
func started(t *testing.T, path, title string) int {
	t.Helper()
	cmd := exec.Command(path, "600")
	cmd.Args[0] = title
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestFalseDaemonsAreNamed(t *testing.T) {
	pid := started(t, "/bin/sleep", "[kworker/1:3]")
	testenv.WaitFor(t, "the false thread to be named", func() bool { return counted(t, health.FalseDaemons, pid) != "" })
	if got := counted(t, health.FalseDaemons, pid); !strings.Contains(got, `calls itself a thread of the kernel and runs "/`) {
		t.Errorf("%q", got)
	}
	honest := started(t, "/bin/sleep", "sleep")
	if got := counted(t, health.FalseDaemons, honest) + counted(t, health.HiddenPrograms, honest); got != "" {
		t.Errorf("an honest process: %q", got)
	}
}

// A test runs below the folder for temporary files, as sentinel does where somebody tries it there.
func TestSentinelIsNoHiddenProgram(t *testing.T) {
	if got := counted(t, health.HiddenPrograms, os.Getpid()); got != "" {
		t.Errorf("%q", got)
	}
}

func TestHiddenProgramsAreNamed(t *testing.T) {
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "hidden")
	testenv.Need(t, err == nil, "no /dev/shm")
	t.Cleanup(func() { os.RemoveAll(dir) })
	planted := filepath.Join(dir, "x")
	if err := os.WriteFile(planted, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(planted, "0").CombinedOutput(); err != nil {
		testenv.Need(t, false, "nothing runs from /dev/shm here: "+string(out))
	}
	pid := started(t, planted, planted)
	testenv.WaitFor(t, "the planted program to be named", func() bool { return counted(t, health.HiddenPrograms, pid) != "" })
	if got := counted(t, health.HiddenPrograms, pid); !strings.Contains(got, strconv.Quote(planted)) || !strings.HasPrefix(got, `"x" (PID `) {
		t.Errorf("%q", got)
	}
}

// One process that is found does not hide that others were not looked at.
func TestProcessesThatWereNotLookedAtAreToldBesideThoseFound(t *testing.T) {
	unseen := errors.New("others cannot be seen")
	s := source{looked: &look{at: time.Now().Add(time.Hour), err: unseen, found: []processes.Disguised{{PID: 7, Name: "x", Disguise: domain.Hides}}}}
	found, err := s.disguised(domain.Hides)(t.Context())
	if found.Value != 1 || !errors.Is(found.More, unseen) || err != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if none, err := s.disguised(domain.Pretends)(t.Context()); none.Value != 0 || !errors.Is(err, unseen) {
		t.Errorf("%+v, %v", none, err)
	}
}
