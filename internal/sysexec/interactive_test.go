// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAnInteractiveProgramHasItsInputItsEnvironmentAndTheOutput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$1 $NAME $HOME.\"\ncat\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	i := Interactive{Path: path, Args: []string{"a b"}, Env: []string{"NAME=value"}, Stdin: []byte("page\n")}
	if err := i.Run(&out, io.Discard); err != nil || out.String() != "a b value .\npage\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	for _, path := range []string{"/nowhere/program", "program"} {
		if err := (Interactive{Path: path}).Run(io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

// stopped is the variable that makes the test below the process that it looks at.
const stopped = "SENTINEL_TEST_STOPPED"

// Without this the terminal would belong to nobody: the program is stopped, and the
// shell waits for the one that started it.
func TestAnInteractiveProgramAndItsParentAreStoppedTogether(t *testing.T) {
	if os.Getenv(stopped) != "" {
		signal.Ignore(syscall.SIGTSTP)
		if err := (Interactive{Path: "/bin/sh", Args: []string{"-c", "echo started; exec sleep 600"}}).Run(os.Stdout, os.Stderr); err != nil {
			t.Fatal(err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), stopped+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}()
	if _, err := io.ReadFull(out, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(cmd.Process.Pid, syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Errorf("%v, stopped: %v", err, status.Stopped())
	}
}
