// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/unix/stuck"
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
	titles := New("/").Titles([]int{os.Getpid(), pid, os.Getpid()})
	if titles[0].Text == "" || !errors.Is(titles[1].Err, ErrStuck) || titles[1].Text != "" || titles[2].Text == "" {
		t.Errorf("titles around it: %+v", titles)
	}
	if faces, err := New("/").Faces([]int{pid}); err != nil || faces[0].Program == "" {
		t.Errorf("what it runs: %+v, %v", faces, err)
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

// of is the user of any process.
func of(uid int) func(int) int { return func(int) int { return uid } }

// One that is stuck among many costs its own patience, and neither it nor those around it take another's
// answer.
func TestTheProcessesAroundAStuckOneAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		pids := []int{10, 11, 12, 13, 14, 15}
		read := func(pid int) (int, error) {
			if pid == 12 || pid == 14 {
				<-end
			}
			return pid * pid, nil
		}
		for round := range 2 {
			for i, o := range readEach(m, pids, of(1000), read) {
				stuck := pids[i] == 12 || pids[i] == 14
				if stuck != errors.Is(o.err, ErrStuck) || !stuck && o.value != pids[i]*pids[i] {
					t.Errorf("round %d, process %d: %d, %v", round, pids[i], o.value, o.err)
				}
			}
		}
		if m.waited != 4*readPatience { // each is waited for from when it may have been begun to be read
			t.Errorf("waited %v", m.waited)
		}
		close(end) // what was given up ends without going on
	})
}

// A machine that gives little time is no reason to give a process up: only one that holds up is stuck.
func TestSlowReadsAreNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemoryReader()
		slow := func(pid int) (int, error) { <-time.After(readPatience / 2); return pid, nil }
		for i, o := range readEach(m, []int{1, 2, 3, 4, 5, 6, 7}, of(1000), slow) {
			if o.value != i+1 || o.err != nil {
				t.Errorf("%d: %d, %v", i+1, o.value, o.err)
			}
		}
	})
}

// Beside many busy processes one answers late, and is looked at again when all the others were.
func TestWhatAnswersLateIsAskedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		late := 0
		read := func(pid int) (int, error) {
			switch {
			case pid == 3:
				<-end
			case pid == 2 && late == 0:
				late++
				<-time.After(2*readPatience + leastPatience)
			}
			return pid, nil
		}
		for i, o := range readEach(m, []int{1, 2, 3, 4}, of(1000), read) {
			if pid := i + 1; (pid == 3) != errors.Is(o.err, ErrStuck) || pid != 3 && o.value != pid {
				t.Errorf("process %d: %d, %v", pid, o.value, o.err)
			}
		}
		if m.byUser[1000] != 1 || m.stuck() != 1 {
			t.Errorf("%d of the user are stuck, %d of all", m.byUser[1000], m.stuck())
		}
	})
}

// A user who has many such processes costs no more than a bound, and only his own are given up.
func TestOneUsersStuckProcessesDoNotHideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		var asked atomic.Int32
		stuck := func(int) ([]byte, error) { asked.Add(1); <-end; return nil, nil }
		for pid := range 500 {
			if _, err := m.readOne(pid, func(pid int) int { return 1000 + pid%2 }, stuck); !errors.Is(err, ErrStuck) {
				t.Errorf("process %d: %v", pid, err)
			}
		}
		if asked.Load() != 2*maxStuckUser || m.waited > totalPatience+2*maxStuckUser*leastPatience {
			t.Errorf("asked %d, waited %v", asked.Load(), m.waited)
		}
		if raw, err := m.readOne(7, of(1002), func(int) ([]byte, error) { return []byte("x"), nil }); string(raw) != "x" || err != nil {
			t.Errorf("another user's process: %q, %v", raw, err)
		}
	})
}

// What one run waits for, the next leaves alone, and counts it with what is its user's, until that can be read.
func TestWhatAnEarlierRunWaitsForIsNotAsked(t *testing.T) {
	files := map[string]string{"run/keep": ""}
	var pids []int
	for pid := range maxStuckUser + 1 {
		pids = append(pids, pid)
		files[fmt.Sprintf("proc/%d/keep", pid)] = ""
	}
	root := testenv.Plant(t, files)
	end := make(chan struct{})
	hang := func(int) ([]byte, error) { <-end; return nil, nil }
	readEach(New(root).stats, pids[:maxStuckUser], of(1000), hang)
	fs := New(root)
	read := func(int) ([]byte, error) { return []byte("x"), nil }
	for pid, o := range readEach(fs.stats, pids, of(1000), read) {
		if !errors.Is(o.err, ErrStuck) {
			t.Errorf("process %d: %v", pid, o.err)
		}
	}
	if raw, err := fs.stats.readOne(99, of(1001), read); string(raw) != "x" || err != nil {
		t.Errorf("another user's process: %q, %v", raw, err)
	}
	// Another process has the ID of one that ended, and so another directory.
	if err := errors.Join(os.Rename(filepath.Join(root, "proc/0"), filepath.Join(root, "gone")), os.Mkdir(filepath.Join(root, "proc/0"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if raw, err := New(root).stats.readOne(0, of(0), read); string(raw) != "x" || err != nil {
		t.Errorf("root's new process: %q, %v", raw, err)
	}
	close(end)
	testenv.WaitFor(t, "the earlier run has read them", func() bool { return !stuck.AnyProcess(root) })
	for pid, o := range readEach(fs.stats, pids, of(1000), read) {
		if string(o.value) != "x" || o.err != nil {
			t.Errorf("afterwards, process %d: %q, %v", pid, o.value, o.err)
		}
	}
}

// What has ended is nobody's: notes of it refuse nothing, nor does the churn of processes beside it.
func TestNotesOfEndedProcessesRefuseNothing(t *testing.T) {
	files := map[string]string{"run/keep": ""}
	for pid := range mostStuck + 1 {
		files[fmt.Sprintf("proc/%d/keep", pid)] = ""
	}
	root := testenv.Plant(t, files)
	fs := New(root)
	for pid := range mostStuck + 1 {
		thing, _ := fs.Thing(pid)
		defer stuck.Note(root, thing)()
		if err := os.RemoveAll(filepath.Join(root, "proc", strconv.Itoa(pid))); err != nil {
			t.Fatal(err)
		}
	}
	read := func(int) ([]byte, error) { return []byte("x"), nil }
	for _, uid := range []int{unknownUser, 0, 1000} {
		for i, o := range readEach(fs.stats, []int{0, 1, 2, 3, 999}, of(uid), read) {
			if string(o.value) != "x" || o.err != nil {
				t.Errorf("of %d, process %d: %q, %v", uid, i, o.value, o.err)
			}
		}
	}
}

// One that ends while it is waited for is counted for nobody.
func TestNobodyIsRefusedForWhatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		for pid := range maxStuckUser {
			m.readOne(pid, of(unknownUser), func(int) ([]byte, error) { <-end; return nil, nil })
		}
		if raw, err := m.readOne(99, of(unknownUser), func(int) ([]byte, error) { return []byte("x"), nil }); string(raw) != "x" || err != nil {
			t.Errorf("one that ended as well: %q, %v", raw, err)
		}
	})
}

// One that answers in the moment in which it is given up is not told for ever, nor another in its place.
func TestWhatAnswersAsItIsGivenUpIsNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newReader(leastPatience, maxStuck)
		late := func(pid int) (int, error) { <-time.After(leastPatience); return pid, nil }
		for round := range 20_000 {
			readOnce(m, []int{1, 2}, of(0), late)
			synctest.Wait()
			if m.stuck() != 0 {
				t.Fatalf("round %d: %v are left", round, m.pids)
			}
		}
	})
}

func TestSubordinateUsersStuckProcessesAreTheirOwners(t *testing.T) {
	const processes = 20
	root := t.TempDir()
	files := map[string]string{"etc/subuid": "eve:100000:65536\n", "etc/passwd": "eve:x:1001:1001::/:/bin/sh\n"}
	for pid := range processes {
		files[fmt.Sprintf("proc/%d/status", pid)] = fmt.Sprintf("Uid:\t%d\t0\t0\t0\n", 100_000+pid)
	}
	for name, content := range files {
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		fs, end := New(root), make(chan struct{})
		defer close(end)
		var asked atomic.Int32
		for pid := range processes {
			fs.memory.readOne(pid, fs.userOf, func(int) ([]byte, error) { asked.Add(1); <-end; return nil, nil })
		}
		if asked.Load() != maxStuckUser {
			t.Errorf("%d of them were waited for, want %d", asked.Load(), maxStuckUser)
		}
	})
}

// Many users, as those of a directory are, are held to the bound of all, which leaves out the system.
func TestManyUsersStuckProcessesDoNotHideTheSystems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, end := newMemoryReader(), make(chan struct{})
		defer close(end)
		for pid := range 1000 {
			m.readOne(pid, of(100_000+pid), func(int) ([]byte, error) { <-end; return nil, nil })
		}
		if most := totalPatience + maxStuck*leastPatience; len(m.pids) != maxStuck || m.waited > most {
			t.Errorf("%d are stuck, waited %v; want at most %v", len(m.pids), m.waited, most)
		}
		if raw, err := m.readOne(7000, of(0), func(int) ([]byte, error) { return []byte("x"), nil }); string(raw) != "x" || err != nil {
			t.Errorf("root's process: %q, %v", raw, err)
		}
	})
}
