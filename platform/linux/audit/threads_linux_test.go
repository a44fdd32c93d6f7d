// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

const threadsEnv = "SENTINEL_TEST_THREADS"

// init, on the first thread, ends that alone in the process that the test below starts.
func init() {
	if os.Getenv(threadsEnv) != "" {
		syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// A process whose first thread has ended names no program, and runs one all the same.
func TestAProgramIsSeenBehindItsFirstThread(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/proc/self/exe", "/mnt/program", 0o755)
	c := exec.Command("/mnt/program")
	c.Env = append(os.Environ(), threadsEnv+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "the first thread ends", func() bool {
		_, err := os.Readlink("/proc/" + strconv.Itoa(c.Process.Pid) + "/exe")
		return os.IsNotExist(err)
	})
	if err := os.Remove("/mnt/program"); err != nil {
		t.Fatal(err)
	}
	if f := here(t, "processes.program_gone"); f.Status != audit.Warn || !strings.Contains(strings.Join(f.Evidence, "\n"), "/mnt/program (deleted)") {
		t.Errorf("%+v", f)
	}
}

// A process whose threads each start the next one and end goes on, and its program was not seen.
func TestThreadsThatEndHideNoProgram(t *testing.T) {
	headless := "7 (x) Z 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 2 0 50 0 0\n"
	m := &machine{Parts: Parts{Root: testenv.Plant(t, map[string]string{"proc/7/stat": headless, "proc/7/task/8/stat": headless})}}
	if _, program, err := m.programOfThreads(7); program != "" || !errors.Is(err, procfs.ErrThreadsChange) {
		t.Errorf("%q, %v", program, err)
	}
}

// What cannot be named, as at a path of more than 4,096 bytes, has not ended.
func TestOnlyProcessesThatEndedAreLeftOut(t *testing.T) {
	for err, want := range map[error]int{nil: 0, syscall.ENOENT: 0, syscall.ESRCH: 0, syscall.EACCES: 1, syscall.ENAMETOOLONG: 1, procfs.ErrThreadsChange: 1} {
		all := processTable{sawInit: true, asRoot: true}
		all.unseen(err)
		if all.hidden != want {
			t.Errorf("%v: %d, want %d", err, all.hidden, want)
		}
	}
}
