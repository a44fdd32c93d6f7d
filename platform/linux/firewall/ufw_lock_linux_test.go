// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// ufwLockFile plants a lock of ufw with a mode, whatever the umask is.
func ufwLockFile(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ufw.lock")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

// lockedOpen locks a file as another process does: a lock of an open file conflicts with those of its own
// process (F_OFD_SETLK of fcntl_locking(2)).
func lockedOpen(t *testing.T, path string, kind int16) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil && kind != unix.F_UNLCK {
		err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// isPrivate asserts that a file is for its owner alone.
func isPrivate(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	return info
}

func TestLockOfUFWIsReplacedUnlessARunOfRootsHasIt(t *testing.T) {
	for name, c := range map[string]struct {
		mode        fs.FileMode
		kind        int16
		waits, same bool
	}{
		"private":                       {0o600, unix.F_UNLCK, false, true},
		"private, a run":                {0o600, unix.F_WRLCK, true, true},
		"private, opened by others":     {0o600, unix.F_RDLCK, false, false},
		"readable":                      {0o644, unix.F_UNLCK, false, false},
		"readable, a run":               {0o644, unix.F_WRLCK, true, true},
		"readable, others":              {0o644, unix.F_RDLCK, false, false},
		"readable by the group":         {0o640, unix.F_UNLCK, false, false},
		"writable, maybe others":        {0o666, unix.F_WRLCK, false, false},
		"writable by the group, others": {0o620, unix.F_WRLCK, false, false},
	} {
		path := ufwLockFile(t, c.mode)
		before, err := lockedOpen(t, path, c.kind).Stat()
		if err != nil {
			t.Fatal(err)
		}
		holder, err := clearUFWLock(path)
		if err != nil || (holder != nil) != c.waits {
			t.Errorf("%s: holder %v, %v", name, holder, err)
		}
		after, err := os.Lstat(path)
		if err != nil || os.SameFile(before, after) != c.same || !c.waits && after.Mode() != 0o600 {
			t.Errorf("%s: the same file %v with %v, %v", name, os.SameFile(before, after), after.Mode(), err)
		}
	}
}

func TestMissingLockOfUFWIsMadeForRootAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ufw.lock")
	if err := awaitUFWLock(t.Context(), path, testenv.HangLimit); err != nil {
		t.Fatal(err)
	}
	made := isPrivate(t, path)
	if err := awaitUFWLock(t.Context(), path, testenv.HangLimit); err != nil || !os.SameFile(made, isPrivate(t, path)) {
		t.Errorf("again: %v, another file", err)
	}
	if err := awaitUFWLock(t.Context(), filepath.Join(t.TempDir(), "run", "ufw.lock"), testenv.HangLimit); err != nil {
		t.Errorf("no directory: %v", err)
	}
}

func TestWhatIsNoLockOfUFWIsReplaced(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := errors.Join(os.WriteFile(target, []byte("x"), 0o644), os.Symlink(target, link), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe} {
		if err := awaitUFWLock(t.Context(), path, testenv.HangLimit); err != nil {
			t.Error(err)
		}
		isPrivate(t, path)
	}
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "x" {
		t.Errorf("what the link leads to: %q, %v", raw, err)
	}
}

func TestRunOfUFWIsWaitedForAndWhoLocksAfterItIsNot(t *testing.T) {
	testenv.HangGuard(t)
	path := ufwLockFile(t, 0o644)
	run := lockedOpen(t, path, unix.F_WRLCK)
	done := make(chan error, 1)
	go func() { done <- awaitUFWLock(t.Context(), path, testenv.HangLimit) }()
	next := lockedOpen(t, path, unix.F_UNLCK)
	run.Close()
	if err := unix.FcntlFlock(next.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	isPrivate(t, path)
}

// TestHoldsLockOfUFW is the other process of the next test.
func TestHoldsLockOfUFW(t *testing.T) {
	path := os.Getenv("SENTINEL_TEST_UFW_LOCK")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, "held")
	os.Stdin.Read(make([]byte, 1)) // until the other end is closed
}

func TestRunThatKeepsTheLockOfUFWIsNamed(t *testing.T) {
	testenv.HangGuard(t)
	path := ufwLockFile(t, 0o600)
	other := exec.Command(os.Args[0], "-test.run=^TestHoldsLockOfUFW$")
	other.Env = append(os.Environ(), "SENTINEL_TEST_UFW_LOCK="+path)
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pid := startHolder(t, other)
	defer other.Wait()
	defer stdin.Close()
	err = awaitUFWLock(t.Context(), path, time.Millisecond)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.Unavailable || !strings.Contains(known.Message, fmt.Sprintf("process %d of root's holds its lock, /run/ufw.lock", pid)) ||
		!strings.Contains(known.Fix, fmt.Sprintf("sudo kill %d.", pid)) {
		t.Errorf("got %v, %+v", err, known)
	}
}

// startHolder starts a program that says when it has its lock, and returns its PID.
func startHolder(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "held\n" {
		t.Fatalf("said %q, %v", said, err)
	}
	return c.Process.Pid
}

func TestHolderOfTheLockOfUFWThatHidesIsLookedFor(t *testing.T) {
	path := ufwLockFile(t, 0o600)
	lockedOpen(t, path, unix.F_WRLCK) // the kernel gives no PID for a lock of an open file
	err := awaitUFWLock(t.Context(), path, time.Millisecond)
	if known, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(known.Message, "another process of root's") || !strings.Contains(known.Fix, "sudo lslocks") {
		t.Errorf("got %v", err)
	}
}
