// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// holdMark makes the test binary a process that takes a lock and keeps it until its input ends: how,
// a blank, and the path.
const holdMark = "SENTINEL_TEST_HOLD"

func TestMain(m *testing.M) {
	how, path, uid := "", "", 0
	fmt.Sscan(os.Getenv(holdMark), &how, &uid, &path)
	take := map[string]lock{"x": Exclude, "s": Share}[how]
	if take == nil {
		os.Exit(m.Run())
	}
	if uid != os.Getuid() {
		if err := syscall.Setuid(uid); err != nil {
			panic(err)
		}
	}
	if _, err := take(WithTool(context.Background(), "block_ip_address"), path, long); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("held\n")
	io.Copy(io.Discard, os.Stdin)
}

// holder starts a process that holds the lock at path, exclusively (x) or not (s), as a user.
func holder(t *testing.T, how, path string, uid int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprint(holdMark, "=", how, " ", uid, " ", path))
	return started(t, cmd)
}

// A run of a copy of the program does not go on either.
func TestAStoppedCopyIsEnded(t *testing.T) {
	path, program := filepath.Join(t.TempDir(), "a.lock"), filepath.Join(t.TempDir(), filepath.Base(os.Args[0]))
	raw, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(program, raw, 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fmt.Sprint(holdMark, "=x ", os.Getuid(), " ", path))
	h := started(t, cmd)
	stop(t, h)
	release, err := Exclude(t.Context(), path, short)
	if err != nil {
		t.Fatal(err)
	}
	release()
	killed(t, h)
}

func started(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "a stopped process", func() bool {
		state, _, err := stateOf(cmd.Process.Pid)
		return err == nil && state == 'T'
	})
}

// killed reports whether a process that has ended was killed.
func killed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGKILL {
		t.Errorf("the holder ended with %v", cmd.ProcessState)
	}
}

func TestAStoppedHolderIsEnded(t *testing.T) {
	for _, how := range []string{"x", "s"} {
		path := filepath.Join(t.TempDir(), "a.lock")
		had(t, Exclude, path)()
		h := holder(t, how, path, os.Getuid())
		stop(t, h)
		release, err := Exclude(t.Context(), path, short)
		if err != nil {
			t.Errorf("%s: %v", how, err)
			continue
		}
		release()
		killed(t, h)
	}
}

// A holder that goes on is waited for, and named with what it does since when.
func TestAHolderThatGoesOnIsLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	h := holder(t, "x", path, os.Getuid())
	_, err := Exclude(t.Context(), path, short)
	e, ok := errors.AsType[BusyError](err)
	if !ok || e.Holder != h.Process.Pid || e.Tool != "block_ip_address" || e.Since.IsZero() || e.Since.After(time.Now()) {
		t.Errorf("%v, want process %d", err, h.Process.Pid)
	}
	if err := h.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the holder: %v", err)
	}
}

// resign replaces what the holder has written, as if it had taken the lock at another time.
func resign(t *testing.T, path string, pid int, uptime int64) {
	t.Helper()
	raw, err := json.Marshal(holding{PID: pid, Uptime: uptime})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAHolderWhoseLeaseIsOverIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	h := holder(t, "x", path, os.Getuid())
	over := uptime() - Lease.Milliseconds() - 1
	for what, give := range map[string]func(){
		"a lease that is not over": func() { resign(t, path, h.Process.Pid, over+60_000) },
		"that of another process":  func() { resign(t, path, os.Getpid(), over) },
		"one of the last boot":     func() { resign(t, path, h.Process.Pid, uptime()+1_000_000) },
	} {
		give()
		if _, err := Exclude(t.Context(), path, short); !errors.As(err, new(BusyError)) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	resign(t, path, h.Process.Pid, over)
	release, err := Exclude(t.Context(), path, short)
	if err != nil {
		t.Fatal(err)
	}
	release()
	killed(t, h)
}

// What else locks the file is nobody's run, and is left whatever it does.
func TestOnlyARunOfThisProgramAndUserIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	had(t, Exclude, path)()
	other := started(t, exec.Command("/usr/bin/flock", path, "/bin/sh", "-c", "echo held; exec cat"))
	stop(t, other)
	if _, err := Exclude(t.Context(), path, short); !errors.As(err, new(BusyError)) {
		t.Errorf("another program: %v", err)
	}
	other.Process.Kill()
	other.Wait()
	testenv.Need(t, os.Getuid() == 0, "root, to start a process as another user")
	public := filepath.Join(testenv.MemDir(t), "b.lock")
	if err := errors.Join(os.Chmod(filepath.Dir(public), 0o777), os.WriteFile(public, nil, 0o644), os.Chown(public, testenv.Nobody, 0)); err != nil {
		t.Fatal(err)
	}
	h := holder(t, "x", public, testenv.Nobody)
	stop(t, h)
	if _, err := Exclude(t.Context(), public, short); !errors.As(err, new(BusyError)) {
		t.Errorf("another user: %v", err)
	}
}

// A file that others could open is closed to them.
func TestALockFileIsClosedToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	had(t, Exclude, path)()
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestStatIsParsed(t *testing.T) {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if state, start, err := parseStat(raw); err != nil || state != 'R' && state != 'S' || start < 0 {
		t.Errorf("%c, %d, %v", state, start, err)
	}
	const text = "7 (a) R (b) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 812 20\n"
	if state, start, err := parseStat([]byte(text)); state != 'T' || start != 812 || err != nil {
		t.Errorf("%c, %d, %v", state, start, err)
	}
	for _, bad := range []string{"", "7 (a) T 1 2", "7 (a) T 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"} {
		if _, _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, age, err := stateOf(os.Getpid()); err != nil || age < 0 || age > time.Hour.Milliseconds() {
		t.Errorf("%d ms old, %v", age, err)
	}
	if _, _, err := stateOf(1 << 30); err == nil {
		t.Error(strconv.Itoa(1<<30) + " is there")
	}
}
