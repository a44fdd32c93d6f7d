// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

func TestProcessWhoseMemoryIsLockedIsGivenUp(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	pid := deadfuse.Process(t, quietUser, "sshd")
	fs := New("/")
	if line, err := fs.CommandLine(pid); !errors.Is(err, ErrStuck) || line != nil {
		t.Errorf("got %q, %v", line, err)
	}
	if p, err := fs.Process(pid); p.Name != "sshd" || err != nil {
		t.Errorf("what does not stand in its memory: %+v, %v", p, err)
	}
	if program, err := fs.Executable(pid); program == "" || err != nil {
		t.Errorf("its program: %q, %v", program, err)
	}
	if line, err := fs.CommandLine(os.Getpid()); len(line) == 0 || err != nil {
		t.Errorf("another process: %q, %v", line, err)
	}
	files := 0
	if skipped, err := fs.OpenFiles(t.Context(), []int{pid}, func(OpenFile) bool { files++; return true }); files == 0 || len(skipped) != 0 || err != nil {
		t.Errorf("%d files, skipped %v, %v", files, skipped, err)
	}
}

// A user who has many such processes costs no more than a bound, and only his own are given up.
func TestOneUsersStuckProcessesDoNotHideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		asked := 0
		stuck := func() ([]byte, error) { asked++; <-end; return nil, nil }
		for pid := range 500 {
			if _, err := m.read(pid, 1000+pid%2, stuck); !errors.Is(err, ErrStuck) {
				t.Errorf("process %d: %v", pid, err)
			}
		}
		if asked != 2*maxStuckUser || m.waited > totalPatience+2*maxStuckUser*leastPatience {
			t.Errorf("asked %d, waited %v", asked, m.waited)
		}
		if raw, err := m.read(7, 1002, func() ([]byte, error) { return []byte("x"), nil }); string(raw) != "x" || err != nil {
			t.Errorf("another user's process: %q, %v", raw, err)
		}
	})
}

// A user with user IDs of his own (subuid(5)) is held to the bound of all, which leaves out the system.
func TestManyUsersStuckProcessesDoNotHideTheSystems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		for pid := range 1000 {
			m.read(pid, 100_000+pid, func() ([]byte, error) { <-end; return nil, nil })
		}
		if most := totalPatience + maxStuck*leastPatience; len(m.pids) != maxStuck || m.waited > most {
			t.Errorf("%d are stuck, waited %v; want at most %v", len(m.pids), m.waited, most)
		}
		if raw, err := m.read(7000, 0, func() ([]byte, error) { return []byte("x"), nil }); string(raw) != "x" || err != nil {
			t.Errorf("root's process: %q, %v", raw, err)
		}
	})
}
