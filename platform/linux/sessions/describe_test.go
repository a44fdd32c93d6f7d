// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
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
