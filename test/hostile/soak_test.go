// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package hostile

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// Hundreds of processes, called like the server of sessions, that share thousands of connections.
func TestCrowdWithManyConnectionsHangsNothing(t *testing.T) {
	if !isolated(t) {
		return
	}
	prepare(t)
	crowd(t, 600, connections(t, 4090))
	blocksWork(t)
	succeed(t, "--network-stats")
	succeed(t, "--fix-firewall", "--dry-run")
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

// crowd starts so many processes of eve that hold the files, called sshd.
func crowd(t *testing.T, n int, files []*os.File) {
	t.Helper()
	const program = "/mnt/sshd"
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	for range n {
		c := exec.Command(program, "600")
		c.ExtraFiles = slices.Clone(files)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}, Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
	}
}
