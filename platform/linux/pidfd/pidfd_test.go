// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pidfd

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

func TestHeldProcessIsWatchedFromItsEndToItsCollection(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fd, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if ended, err := fd.Wait(50 * time.Millisecond); ended || err != nil {
		t.Errorf("while it runs: %v, %v", ended, err)
	}
	if err := errors.Join(fd.Signal(0), fd.Signal(unix.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if ended, err := fd.Wait(10 * time.Second); !ended || err != nil {
		t.Errorf("killed: %v, %v", ended, err)
	}
	if fd.Collected(20*time.Millisecond) || fd.Signal(unix.SIGTERM) != nil {
		t.Error("a process that nobody has collected is gone")
	}
	cmd.Wait()
	ended, err := fd.Wait(0)
	if !ended || err != nil || !fd.Collected(0) || !errors.Is(fd.Signal(unix.SIGKILL), unix.ESRCH) {
		t.Errorf("collected: %v, %v", ended, err)
	}
	if err := fd.Close(); err != nil {
		t.Error(err)
	}
	if ended, err := fd.Wait(0); ended || !errors.Is(err, errNotWatched) {
		t.Errorf("let go: %v, %v", ended, err)
	}
}

func TestOpenTellsWhatIsNoProcess(t *testing.T) {
	if _, err := Open(4194304); !errors.Is(err, unix.ESRCH) {
		t.Errorf("no process: %v", err)
	}
	if _, err := Open(0); !errors.Is(err, unix.EINVAL) {
		t.Errorf("0: %v", err)
	}
}
