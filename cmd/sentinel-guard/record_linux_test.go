// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// A disk of 64 KiB is full soon. Calls are refused then, and pass where the rules say that the
// record is kept as far as it can be.
func TestAFullDiskRefusesCalls(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	state := t.TempDir()
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(state, syscall.MNT_DETACH) })
	t.Setenv(stateVariable, state)
	p := start(t, "--", "sh", "-c", answering)
	var got string
	for range 1000 {
		p.send(toolCall("1"))
		if got = p.line(); strings.Contains(got, "GUARD_FAILED") {
			break
		}
	}
	if !strings.Contains(got, "could not record") {
		t.Fatal(got)
	}
	p.in.Close()
	if p.status(); strings.Count(p.said(), "no space left on device") < 1 {
		t.Error(p.said())
	}
	if out, status := ran(t, "verify"); status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	rules := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(rules, []byte("record: best_effort"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_POLICY_FILE", rules)
	p = start(t, "--", "sh", "-c", answering)
	for range 20 {
		p.send(toolCall("1"))
		if got := p.line(); !strings.Contains(got, `"content":[]`) {
			t.Fatal(got)
		}
	}
	p.in.Close()
	p.status()
}
