// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package hostile

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Hundreds of processes, called like the server of sessions, that share thousands of connections.
func TestCrowdWithManyConnectionsHangsNothing(t *testing.T) {
	if !isolated(t) {
		return
	}
	prepare(t)
	crowd(t, 600, connections(t, 4090), func(int) uint32 { return eve })
	blocksWork(t)
	succeed(t, "--network-stats")
	succeed(t, "--fix-firewall", "--dry-run")
}

// Hundreds of processes with nearly as many open files as a process may have, under one user ID and,
// as user namespaces allow, each under another.
func TestCrowdWithManyFilesHangsNothing(t *testing.T) {
	if !isolated(t) {
		return
	}
	prepare(t)
	nothing := highFile(t)
	for name, user := range map[string]func(int) uint32{
		"one user":         func(int) uint32 { return eve },
		"subordinate ones": func(i int) uint32 { return 100_000 + uint32(i) },
	} {
		t.Run(name, func(t *testing.T) {
			crowd(t, 300, slices.Repeat([]*os.File{nothing}, manyFiles), user)
			succeed(t)
			blocksWork(t)
			succeed(t, "--network-stats")
			succeed(t, "--fix-firewall", "--dry-run")
			succeed(t, "--unblock-ip", "203.0.113.7", "--reason", "test")
			succeed(t, "--unblock-ip", "203.0.113.8", "--reason", "test")
		})
	}
}

const manyFiles = 19_900

// highFile opens a file under a descriptor above those of the children: lower ones would be copied
// twice on their way into a child, and the limit is on both copies.
func highFile(t *testing.T) *os.File {
	t.Helper()
	low, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer low.Close()
	high, err := unix.FcntlInt(low.Fd(), unix.F_DUPFD_CLOEXEC, manyFiles+50)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(high), os.DevNull)
	t.Cleanup(func() { f.Close() })
	return f
}

// The audit of a machine takes as long as its files are many.
func TestAuditSaysThatItCannotBeKept(t *testing.T) {
	if !isolated(t) {
		return
	}
	prepare(t)
	fillState(t)
	succeedUnkept(t, "changed", "--security-audit")
}

// crowd starts so many processes that hold the files, called sshd, as the users that it is told.
func crowd(t *testing.T, n int, files []*os.File, user func(i int) uint32) {
	t.Helper()
	const program = "/mnt/sshd"
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c := exec.Command(program, "600")
		c.ExtraFiles = slices.Clone(files)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user(i), Gid: eve}, Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
	}
}
