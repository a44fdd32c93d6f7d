// SPDX-License-Identifier: Apache-2.0

package sysexec_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// nobody is the unprivileged user.
const nobody = 65534

// TestMain makes the test binary act as the two programs of
// TestProgramThatMayNotBeSignalledIsLeftAtOnce.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "raised":
		raised(os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "caller":
		caller(os.Args[2], os.Args[3])
	default:
		m.Run()
	}
}

// raised is a program with the set-user-ID bit that takes root's real user id as well. It writes
// its PID and keeps running.
func raised(up, held string) {
	if err := syscall.Setreuid(0, 0); err != nil {
		panic(err)
	}
	if _, err := os.OpenFile(held, os.O_WRONLY, 0); err != nil {
		panic(err)
	}
	if err := os.WriteFile(up, fmt.Append(nil, os.Getpid()), 0); err != nil {
		panic(err)
	}
	<-time.After(time.Minute)
}

// caller runs raised as an ordinary user, cancels it once it runs and prints the error of Run.
func caller(program, dir string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	up, held := filepath.Join(dir, "up"), filepath.Join(dir, "held")
	go func() {
		_, err := sysexec.Host{}.Run(ctx, sysexec.Command{Path: program, Args: []string{"raised", up, held}, WaitDelay: time.Hour})
		done <- err
	}()
	pid, err := os.ReadFile(up)
	if err != nil {
		panic(err)
	}
	number, err := strconv.Atoi(string(pid))
	if err != nil {
		panic(err)
	}
	if err := syscall.Kill(number, 0); !errors.Is(err, syscall.EPERM) {
		panic(fmt.Sprintf("the program can be signalled (%v): the test shows nothing", err))
	}
	cancel()
	err = <-done
	fmt.Printf("%d %v", number, err) //nolint:forbidigo // this is a program of its own
}

func TestProgramThatMayNotBeSignalledIsLeftAtOnce(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to make a program with the set-user-ID bit")
	// A temporary file system is often mounted without set-user-ID programs.
	dir, err := os.MkdirTemp("/var/lib", "sentinel-sysexec-")
	testenv.Need(t, err == nil, "a folder in /var/lib")
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	plain, raising := copyOfTest(t, dir, "plain", 0o755), copyOfTest(t, dir, "raising", 0o755|os.ModeSetuid)
	for _, name := range []string{"up", "held"} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(filepath.Join(dir, "held"))
		ended <- err
	}()
	cmd := exec.Command(plain, "caller", raising, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var pid int
	if _, err := fmt.Sscan(string(out), &pid); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if !strings.HasSuffix(string(out), "context canceled") {
		t.Errorf("%s; want Canceled", out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the program was gone already: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func copyOfTest(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}
