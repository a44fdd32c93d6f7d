// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// insideVar marks the second run of a test; its value is the test's name.
const insideVar = "SENTINEL_TRUTH_INSIDE"

// inside runs the calling test once more as the first process of new mount,
// network and PID namespaces and reports its outcome as that of this one. It returns
// true in that second run, which is where the test does its work:
//
//	if !inside(t) {
//		return
//	}
//
// Ending the second run ends every process that it started.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVar) == t.Name() {
		return true
	}
	testenv.Need(t, os.Geteuid() == 0, "making namespaces takes root")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), insideVar+"="+t.Name(), builtVar+"="+filepath.Dir(sentinelBinary(t)))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID,
		Pdeathsig:  unix.SIGKILL,
	}
	// The death signal follows the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	report(t, string(out), err)
	return false
}

func report(t *testing.T, out string, err error) {
	t.Helper()
	switch {
	case errors.Is(err, unix.EPERM):
		testenv.Need(t, false, "making namespaces is not allowed here")
	case err != nil:
		t.Fatalf("inside the namespaces: %v\n%s", err, out)
	case strings.Contains(out, "--- SKIP: "+t.Name()):
		testenv.Need(t, false, "skipped inside the namespaces:\n"+out)
	case !strings.Contains(out, "--- PASS: "+t.Name()):
		t.Fatalf("the test did not run inside the namespaces:\n%s", out)
	}
}

// settleNamespaces gives the new namespaces what belongs to them: a /proc of
// their processes, loopback, and an empty /var/lib, where sentinel keeps the id that it
// makes when root runs it. The cgroup tree is hidden: a limit on the process that runs the
// tests would otherwise stand for the memory of the machine.
func settleNamespaces() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range []string{"/var/lib", "/sys/fs/cgroup"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount over %s: %w", dir, err)
		}
	}
	return raise("lo")
}

// raise brings an interface of this network namespace up, as ip link set up.
func raise(name string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s) // nothing was written that could be lost
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}
