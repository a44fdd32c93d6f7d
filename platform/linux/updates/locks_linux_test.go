// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/lockfile"
	"sentinel/internal/privilege"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

// onMachine is a machine with a lock of dpkg, which root alone can open, and with the locks of this kernel.
func onMachine(t *testing.T) (m machine, lock string) {
	t.Helper()
	m = machine{root: testenv.MemDir(t)} // an overlay shows other file numbers in /proc/locks than stat does
	lock = m.path("var/lib/dpkg/lock")
	must(t, os.Chmod(m.root, 0o755))
	write(t, lock, "")
	must(t, os.Chmod(lock, 0o600))
	must(t, os.Mkdir(m.path("proc"), 0o755))
	must(t, os.Symlink("/proc/locks", m.path("proc/locks")))
	return m, lock
}

// lockedFor asks as root, and as an ordinary user where this is root.
func lockedFor(t *testing.T, m machine) (asRoot, asUser bool) {
	t.Helper()
	ask := func() bool {
		held, err := m.locked("var/lib/dpkg/none", "var/lib/dpkg/lock")
		if err != nil {
			t.Error(err)
		}
		return held
	}
	asRoot = ask()
	must(t, privilege.Look(privilege.Identity{UID: testenv.Nobody, GID: testenv.Nobody}, func() { asUser = ask() }))
	return asRoot, asUser
}

// Any user can hold thousands of locks, behind which that of dpkg stands.
func TestManyLocksDoNotHideOneOfDpkg(t *testing.T) {
	hold := testenv.ManyLocks(t, func(path string) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	})
	m, lock := onMachine(t)
	if asRoot, asUser := lockedFor(t, m); asRoot || asUser {
		t.Errorf("without a lock: %t, for others %t", asRoot, asUser)
	}
	hold(lock)
	if asRoot, _ := lockedFor(t, m); !asRoot {
		t.Error("free")
	}
	testenv.WaitFor(t, "the lock in the list", func() bool { // while others unlock, what is behind them is passed over
		_, asUser := lockedFor(t, m)
		return asUser
	})
}

// What cannot be seen is not free.
func TestALockThatCannotBeSeenIsUnknown(t *testing.T) {
	m, lock := onMachine(t)
	must(t, os.Remove(lock))
	must(t, unix.Mkfifo(lock, 0o600))
	testenv.HangGuard(t)
	if held, err := m.locked("var/lib/dpkg/lock"); held || err == nil {
		t.Errorf("a FIFO: %t, %v", held, err)
	}
	must(t, os.Remove(lock))
	write(t, lock, "")
	must(t, os.Remove(m.path("proc/locks")))
	write(t, m.path("proc/locks"), strings.Repeat("1: POSIX  ADVISORY  WRITE 812 00:00:1 0 EOF\n", 100_000))
	if held, err := m.listed([]string{lock}); held || !errors.Is(err, lockfile.ErrTooManyLocks) {
		t.Errorf("a part of the list: %t, %v", held, err)
	}
	if held, err := m.listed([]string{filepath.Join(lock, "below")}); held || err == nil {
		t.Errorf("a file without a number: %t, %v", held, err)
	}
}

// Without package lists, whether rpm is at work is known all the same.
func TestRPMIsSeenAtWorkWithoutLists(t *testing.T) {
	m := machine{root: testenv.MemDir(t), runner: &replay.Sequence{Results: []sysexec.Result{{}}}}
	lock := m.path("var/lib/rpm/.rpm.lock")
	write(t, lock, "")
	fd, err := unix.Open(lock, unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
	for name, manager := range map[string]manager{"dnf": dnf{}, "zypper": zypper{}} {
		if p, err := manager.pending(t.Context(), m); err != nil || p.Unknown == nil || !p.Busy {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
