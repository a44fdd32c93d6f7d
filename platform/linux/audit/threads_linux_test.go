// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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

// headless runs a copy of this test as a user whose first thread has ended, until the test ends.
func headless(t *testing.T, program string, files ...*os.File) (pid int) {
	t.Helper()
	c := exec.Command(program)
	c.Env, c.ExtraFiles = append(os.Environ(), threadsEnv+"=1"), files
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "the first thread ends", func() bool {
		_, err := os.Readlink("/proc/" + strconv.Itoa(c.Process.Pid) + "/exe")
		return os.IsNotExist(err)
	})
	return c.Process.Pid
}

// A process whose first thread has ended names no program, and runs one all the same.
func TestAProgramIsSeenBehindItsFirstThread(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/proc/self/exe", "/mnt/program", 0o755)
	headless(t, "/mnt/program")
	if err := os.Remove("/mnt/program"); err != nil {
		t.Fatal(err)
	}
	if f := here(t, "processes.program_gone"); f.Status != audit.Warn || !strings.Contains(strings.Join(f.Evidence, "\n"), "/mnt/program (deleted)") {
		t.Errorf("%+v", f)
	}
}

// Behind the first thread that has ended, memory is what it is, whatever it is called.
func TestMemoryIsNotRuncForAThreadThatEnded(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("runc_cloned:/proc/self/exe", 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "memory")
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	pid := headless(t, "/proc/self/fd/3", file)
	f := here(t, "processes.program_gone")
	want := fmt.Sprintf("/proc/%d/exe: /memfd:runc_cloned:/proc/self/exe (deleted), called ", pid)
	if f.Status != audit.Fail || len(f.Evidence) != 1 || !strings.HasPrefix(f.Evidence[0], want) {
		t.Errorf("%+v", f)
	}
}

// A process has ended with its last thread, and not where one of them has or none can be found.
func TestAProcessHasEndedWithItsLastThread(t *testing.T) {
	const rest = " 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 %d 0 50 0 0\n"
	for state, want := range map[string]bool{"S" + fmt.Sprintf(rest, 1): true, "R" + fmt.Sprintf(rest, 2): false, "Z" + fmt.Sprintf(rest, 2): false, "Z" + fmt.Sprintf(rest, 1): true, "": true} {
		files := map[string]string{"proc/1/comm": "init\n"}
		if state != "" {
			files["proc/7/stat"] = "7 (x) " + state
		}
		if got := (&machine{Parts: Parts{Root: testenv.Plant(t, files)}}).hasEnded(7); got != want {
			t.Errorf("%q: %t", state, got)
		}
	}
	alive := "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 50 0 0\n"
	if (&machine{Parts: Parts{Root: testenv.Plant(t, map[string]string{"proc/7/stat": alive})}}).hasEnded(7) {
		t.Error("one that runs has ended")
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
