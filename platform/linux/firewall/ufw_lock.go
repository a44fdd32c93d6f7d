// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/atomicfile"
	"sentinel/internal/fault"
	"sentinel/internal/privilege"
)

const (
	// ufwLock is what a ufw of root's locks while it works, for writing and as a whole (fcntl_locking(2)). It waits
	// for that without end, and creates the file for everybody to read (create_lock in util.py of ufw 0.36.2).
	ufwLock = "run/ufw.lock"
	// ufwLockLimit is how long another run of ufw is waited for. A rollback of ten seconds has to have time left.
	ufwLockLimit = 5 * time.Second
	// ufwLockPoll is how often the lock is looked at meanwhile: a wait of the kernel's does not end with a context.
	ufwLockPoll = 50 * time.Millisecond
)

// runUFW runs ufw once no other run has its lock, and nobody but root can take it.
func (m *Manager) runUFW(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	if err := awaitUFWLock(ctx, filepath.Join(m.root, ufwLock), ufwLockLimit); err != nil {
		return nil, err
	}
	return m.run(ctx, limit, ufwProgram, args...)
}

// awaitUFWLock waits until no run of ufw has the lock at path. What others hold is replaced. The error is
// UNAVAILABLE if a run still has it after limit, or that of ctx.
func awaitUFWLock(ctx context.Context, path string, limit time.Duration) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	look := time.NewTicker(ufwLockPoll)
	defer look.Stop()
	for {
		holder, err := clearUFWLock(path)
		if err != nil || holder == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return ufwBusy(int(holder.Pid))
		case <-look.C:
		}
	}
}

// clearUFWLock returns the lock of another run of ufw, or nil once the file at path is free and for root alone to
// open. Whoever could open a file can lock it at any later moment, so it is replaced, not changed.
func clearUFWLock(path string) (*unix.Flock_t, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createUFWLock(path)
	case errors.Is(err, unix.ELOOP):
		return nil, replaceUFWLock(path)
	case err != nil:
		return nil, unguarded(path, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	run, private, err := inspectUFWLock(f)
	switch {
	case err != nil:
		return nil, unguarded(path, err)
	case run == nil && !private:
		return nil, replaceUFWLock(path)
	}
	return run, nil
}

// inspectUFWLock returns the lock of a run of ufw, if there is one: it is for writing, which takes a file that is
// open for writing, so where others may not write it is root's. private says that nobody else can have any lock.
func inspectUFWLock(f *os.File) (run *unix.Flock_t, private bool, err error) {
	others, err := openToOthers(f)
	if err != nil {
		return nil, false, err
	}
	held := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &held); err != nil {
		return nil, false, err
	}
	if held.Type == unix.F_WRLCK && others&0o222 == 0 {
		return &held, false, nil
	}
	return nil, held.Type == unix.F_UNLCK && others == 0, nil
}

// openToOthers returns which rights anybody but this user has to a file; all of them where it is another
// user's, or is no regular file.
func openToOthers(f *os.File) (fs.FileMode, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != privilege.EffectiveUID() || !info.Mode().IsRegular() {
		return 0o077, nil
	}
	return info.Mode().Perm() & 0o077, nil
}

// createUFWLock looks again where a ufw has created the file meanwhile. Where its directory is not there, ufw
// says what it lacks.
func createUFWLock(path string) (*unix.Flock_t, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return clearUFWLock(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, unguarded(path, err)
	}
	return nil, f.Close()
}

// replaceUFWLock leaves the old file to those who have it open. ufw opens the new one by its name, and keeps
// its mode.
func replaceUFWLock(path string) error { return unguarded(path, atomicfile.Write(path, nil, 0o600)) }

func unguarded(path string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, "The lock of ufw, "+path+", cannot be kept for root alone, and others could hold it", err).
		WithFix("Run it as root, and see that /run is writable.")
}

func ufwBusy(holder int) error {
	who, fix := "another process", "Find it with: sudo lslocks. Wait until it ends, then try again."
	if holder > 0 {
		who = fmt.Sprintf("process %d", holder)
		fix = fmt.Sprintf("It may wait for an answer at a terminal: see what it is with: ps -fp %d. Wait until it ends, or end it: sudo kill %d. Then try again.", holder, holder)
	}
	return fault.New(fault.Unavailable, "ufw is in use: "+who+" of root's holds its lock, /"+ufwLock+".").WithFix(fix)
}
