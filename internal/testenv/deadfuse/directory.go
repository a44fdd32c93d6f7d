// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deadfuse

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// heldEnv names the directory that the process of [Hold] keeps from being read.
const heldEnv = "SENTINEL_TEST_DEAD_DIRECTORY"

// Hold has a user keep a directory that they may list from being read and searched, by whoever it is, until release is
// called or the test ends: one thread of theirs lists it into a page that never comes, under the lock of its inode,
// and another waits to have that lock alone. It runs the calling test again, which must call this, or [Become], first.
// The directory must be of a file system of the test's own.
func Hold(t testing.TB, uid int, dir string) (release func()) {
	t.Helper()
	Become()
	m := New(t, uid)
	c, self := again(t, mountEnv+"="+m.Dir, heldEnv+"="+dir)
	defer self.Close()
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	release = func() { unix.Unmount(m.Dir, unix.MNT_FORCE|unix.MNT_DETACH) }
	t.Cleanup(func() {
		release()
		c.Process.Kill()
		c.Wait()
	})
	m.awaitRead(t)
	testenv.WaitFor(t, "a thread that waits for the directory", func() bool { return waits(t, c.Process.Pid, unix.SYS_UNLINKAT) })
	return release
}

// waits reports whether a thread of a process is stopped within a system call.
func waits(t testing.TB, pid, call int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(threads, func(file string) bool {
		raw, _ := os.ReadFile(file) // of a thread that has ended there is none
		return strings.HasPrefix(string(raw), strconv.Itoa(call)+" ")
	})
}

// hold never returns.
func hold(mount, dir string) {
	debug.SetGCPercent(-1) // the collector would wait for the lock of this process's memory
	time.AfterFunc(childLimit, func() { os.Exit(1) })
	page := unservedPage(mount)
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	go func() {
		unix.Getdents(fd, page)
		os.Exit(0) // it was let go of
	}()
	for {
		unix.Unlinkat(fd, "none", 0)
	}
}
