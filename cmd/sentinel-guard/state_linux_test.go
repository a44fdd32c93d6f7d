// SPDX-License-Identifier: Apache-2.0

package main

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
	"unsafe"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

func init() { programs["without-locks"] = withoutLocks }

// withoutLocks becomes the program of its arguments, on a system whose file systems have no locks:
// flock(2) fails with ENOLCK.
func withoutLocks() {
	runtime.LockOSThread()       // a filter belongs to the thread
	filter := []unix.SockFilter{ // over struct seccomp_data, which begins with the number of the call
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FLOCK, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOLCK)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := errors.Join(
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0),
	)
	if err == nil {
		err = syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Without locks two guards that sign at the same moment may lose a mark, and nothing else.
func TestWithoutLocksCallsAreRecorded(t *testing.T) {
	t.Setenv(stateVariable, t.TempDir())
	guard, err := exec.LookPath("sentinel-guard")
	if err != nil {
		t.Fatal(err)
	}
	p := startCommand(t, nil, exec.Command("without-locks", guard, "--", "sh", "-c", answering))
	for _, id := range []string{"1", "2", "3"} {
		p.send(toolCall(id))
		if got := p.line(); got != `{"jsonrpc":"2.0","id":`+id+`,"result":{"content":[]}}` {
			t.Error(got)
		}
	}
	p.in.Close()
	if got := p.status(); got != 0 || strings.Contains(p.said(), "record") {
		t.Errorf("status %d\n%s", got, p.said())
	}
	if out, status := ran(t, "verify"); status != 0 || !strings.Contains(out, "is what was written") {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, _ := ran(t, "calls"); strings.Count(out, "read_file") != 3 {
		t.Error(out)
	}
}

// Where nothing can be recorded calls are refused, unless the rules say that the record is kept as
// far as it can be. All else passes, and nothing is written.
func TestAStateFolderThatCannotBeUsedRefusesCalls(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for name, spoil := range map[string]func(dir string) error{
		"read-only": func(dir string) error {
			return errors.Join(syscall.Mount(dir, dir, "", syscall.MS_BIND, ""), syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
		},
		"of another user":    func(dir string) error { return os.Chown(dir, testenv.Nobody, testenv.Nobody) },
		"writable by others": func(dir string) error { return os.Chmod(dir, 0o777) },
		"a file":             func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			dir := state + "/sentinel"
			if err := errors.Join(os.Mkdir(dir, 0o700), spoil(dir)); err != nil {
				t.Fatal(err)
			}
			defer syscall.Unmount(dir, syscall.MNT_DETACH)
			t.Setenv(stateVariable, state)
			for _, rules := range []string{"", "record: best_effort"} {
				withRules(t, rules)
				p := start(t, "--", "sh", "-c", ready+answering+"; exit 5")
				pid := p.pid()
				for range 2 {
					p.send(toolCall("7"))
					if got := p.line(); strings.Contains(got, `"code":"GUARD_FAILED","rule":"record"`) != (rules == "") || !strings.Contains(got, `"id":7,`) {
						t.Errorf("%q: %s", rules, got)
					}
					p.send(request)
					if got := p.line(); got != `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` {
						t.Errorf("%q: %s", rules, got)
					}
				}
				p.in.Close()
				if got := p.status(); got != 5 || strings.Count(p.said(), "The record cannot be written") != 1 {
					t.Errorf("%q: status %d\n%s", rules, got, p.said())
				}
				gone(t, pid)
			}
			if written, _ := filepath.Glob(dir + "/guard/log/*"); len(written) > 0 {
				t.Errorf("%v was written", written)
			}
		})
	}
}
