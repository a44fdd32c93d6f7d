// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// Who called is told by sudo, and by what the kernel keeps of a login.
func TestWhoCalledIsTold(t *testing.T) {
	r := New(testenv.Plant(t, map[string]string{"proc/5/loginuid": "33", "etc/passwd": "ann:x:4711:1::/:/bin/sh\nwww:x:33:1::/:/bin/sh\n"}))
	r.self = 5
	t.Setenv("SUDO_UID", "4711")
	want := []sessions.User{{UID: 4711, Name: "ann"}, {UID: 33, Name: "www", System: true}}
	if diff := cmp.Diff(want, (&reading{Reader: r}).users()); diff != "" {
		t.Error(diff)
	}
}

// The file tells which program of root's lends its rights, and which is one of the system.
func TestProgramsOfRootAreTold(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	sleep, err := exec.LookPath("sleep")
	if err == nil {
		sleep, err = filepath.EvalSymlinks(sleep)
	}
	raw, unread := os.ReadFile(sleep)
	lending := filepath.Join(t.TempDir(), "login")
	if err != nil || unread != nil || os.WriteFile(lending, raw, 0o755) != nil || os.Chmod(lending, 0o755|os.ModeSetuid) != nil {
		t.Fatal(err, unread)
	}
	for path, want := range map[string]sessions.Description{sleep: {Program: filepath.Base(sleep)}, lending: {Lent: true}} {
		cmd := exec.Command(path, "600")
		cmd.Args[0] = "sleep"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		got, err := (&reading{Reader: New("/")}).Describe(t.Context(), cmd.Process.Pid)
		if err != nil || got.Program != want.Program || got.Lent != want.Lent {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}

// Of an account of the system, too, what lends rights is told: at(1) and exim take one for their real user.
func TestProgramsThatLendAnAccountAreTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"at": "", "plain": "",
		"proc/5/status": "Uid:\t1\t0\t0\t0\n", "proc/5/stat": stat(5, "at"),
		"proc/6/status": "Uid:\t1\t1\t1\t1\n", "proc/6/stat": stat(6, "at"),
		"proc/7/status": "Uid:\t4711\t0\t0\t0\n", "proc/7/stat": stat(7, "at"),
		"proc/8/status": "Uid:\t0\t0\t0\t0\n", "proc/8/stat": stat(8, "sshd"),
		"proc/9/status": "Uid:\t1\t1\t1\t1\n", "proc/9/stat": stat(9, "at"),
	})
	if err := os.Chmod(filepath.Join(root, "at"), 0o755|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	for pid, program := range map[int]string{5: "/at", 6: "/plain", 7: "/at", 8: "/at"} { // 9 has ended
		if err := os.Symlink(program, filepath.Join(root, "proc", strconv.Itoa(pid), "exe")); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]bool{5: true, 6: false, 7: false, 8: true, 9: false} {
		if got, err := (&reading{Reader: New(root)}).Describe(t.Context(), pid); err != nil || got.Lent != want {
			t.Errorf("%d: %+v, %v", pid, got, err)
		}
	}
}

// What has ended is told, also where nobody has asked for it yet, and is nobody's.
func TestProcessesThatHaveEndedAreTold(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r, pid := &reading{Reader: New("/")}, cmd.Process.Pid
	testenv.WaitFor(t, "a zombie", func() bool { p, err := r.proc.Process(pid); return err == nil && p.Zombie() })
	zombie, err := r.Describe(t.Context(), pid)
	if end := cmd.Wait(); err != nil || end != nil {
		t.Fatal(err, end)
	}
	gone, err := r.Describe(t.Context(), pid)
	for _, got := range []sessions.Description{zombie, gone} {
		if diff := cmp.Diff(sessions.Description{Ended: true}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	if got, err := r.Describe(t.Context(), os.Getpid()); err != nil || got.Ended || got.UID != os.Getuid() {
		t.Errorf("this process: %+v, %v", got, err)
	}
}

// What cannot be read of a process that goes on is an error.
func TestWhatCannotBeReadIsNoEnd(t *testing.T) {
	r := New(testenv.Plant(t, map[string]string{"proc/5/status": "Uid:\t\n", "proc/5/stat": stat(5, "sh"), "proc/6/status": "Uid:\t1\t1\t1\t1\n", "proc/6/stat": "6 (sh"}))
	for pid := 5; pid < 7; pid++ {
		if got, err := (&reading{Reader: r}).Describe(t.Context(), pid); got.Ended || (err != nil) != (pid == 5) {
			t.Errorf("%d: %+v, %v", pid, got, err)
		}
	}
}

// A run of this program as root is told by its file, also where an update has replaced that.
func TestRunsOfThisProgramAreTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"proc/4/status": "Uid:\t0\t0\t0\t0\n", "proc/4/stat": stat(4, "sentinel"),
		"proc/5/status": "Uid:\t0\t0\t0\t0\n", "proc/5/stat": stat(5, "sentinel"),
		"proc/6/status": "Uid:\t0\t0\t0\t0\n", "proc/6/stat": stat(6, "sentinel"),
		"proc/7/status": "Uid:\t4711\t0\t0\t0\n", "proc/7/stat": stat(7, "sentinel"),
		"proc/8/status": "Uid:\t0\t0\t0\t0\n", "proc/8/stat": stat(8, "kthreadd"),
	})
	for pid, program := range map[int]string{4: "/opt/sentinel", 5: "/opt/sentinel (deleted)", 6: "/tmp/sentinel", 7: "/opt/sentinel"} {
		if err := os.Symlink(program, filepath.Join(root, "proc", strconv.Itoa(pid), "exe")); err != nil {
			t.Fatal(err)
		}
	}
	for self, want := range map[int][]bool{4: {true, true, false, false, false}, 8: make([]bool, 5)} {
		r := New(root)
		r.self = self
		for i, want := range want {
			if got, err := (&reading{Reader: r}).Describe(t.Context(), 4+i); err != nil || got.OwnRun != want {
				t.Errorf("%d, of %d: %+v, %v", 4+i, self, got, err)
			}
		}
	}
}

// stat is /proc/PID/stat of a process, proc_pid_stat(5).
func stat(pid int, name string) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0", pid, name) + strings.Repeat(" 0", 43) + "\n"
}

// Whoever reached a bound of their own is told from those who were not reached any more.
func TestWhoReachedABound(t *testing.T) {
	const many, late = 33, 109
	list := []procfs.Skipped{{UID: many, Err: procfs.ErrManyFiles}, {UID: many, Err: procfs.ErrManyFiles}, {UID: late, Err: procfs.ErrFilesTime}, {UID: 7, Err: fs.ErrPermission}}
	why := errors.New("not all was looked at")
	if e, ok := errors.AsType[*sessions.SkippedError](skippedError(why, list)); !ok || !errors.Is(e.Err, why) || !slices.Equal(e.Users, []int{many}) {
		t.Errorf("%+v", e)
	}
	if e, ok := errors.AsType[*sessions.SkippedError](skippedError(why, list[2:])); !ok || len(e.Users) > 0 {
		t.Errorf("%+v", e)
	}
	if err := skippedError(why, list[3:]); !errors.Is(err, why) {
		t.Errorf("%#v, though no bound was reached", err)
	}
}
