// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deadfuse

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// Settings of the process that [Process] starts.
const (
	mountEnv = "SENTINEL_TEST_DEAD_MOUNT"
	nameEnv  = "SENTINEL_TEST_DEAD_NAME"
)

// pageFile is the size of the file that cannot be read, in bytes.
const pageFile = 1 << 20

// childLimit ends a process that its test has forgotten.
const childLimit = 2 * time.Minute

// Process starts a process of a user, with a name of its choice and the files given, from whose memory
// nobody can read: one of its threads waits for a page under the lock of the address space, and
// another for that lock. It runs the calling test again, which must call this, or [Become], first.
func Process(t testing.TB, uid int, name string, files ...*os.File) (pid int) {
	t.Helper()
	Become()
	m := New(t, uid)
	c, self := again(t, mountEnv+"="+m.Dir, nameEnv+"="+name)
	defer self.Close()
	c.ExtraFiles = append(c.ExtraFiles, files...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		unix.Unmount(m.Dir, unix.MNT_FORCE|unix.MNT_DETACH)
		c.Wait()
	})
	m.awaitRead(t)
	testenv.WaitFor(t, "lock its memory", func() bool { return !readsArguments(t, c.Process.Pid) })
	return c.Process.Pid
}

// awaitRead waits until the content of the file was asked for.
func (m Mount) awaitRead(t testing.TB) {
	t.Helper()
	select {
	case <-m.reads:
	case <-time.After(testenv.HangLimit):
		t.Fatal("the process did not ask for its page")
	}
}

// unservedPage is memory that never comes.
func unservedPage(mount string) []byte {
	fd, err := unix.Open(filepath.Join(mount, readable), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	page, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return page
}

// again is the calling test once more, behind other programs if there are any. Its program may lie where
// a user cannot go, so it is passed on open, to be closed once the command was started.
func again(t testing.TB, env ...string) (c *exec.Cmd, self *os.File) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if self, err = os.Open(program); err != nil {
		t.Fatal(err)
	}
	c = exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$", "-test.count=1")
	c.Env, c.ExtraFiles, c.Dir = append(os.Environ(), env...), []*os.File{self}, "/"
	return c, self
}

// Become is where the processes that [Process], [Hold] and [Overlaid] start begin to be what they are. Elsewhere
// it does nothing.
func Become() {
	if dir := os.Getenv(overlayEnv); dir != "" {
		serveOverlay(dir, os.Getenv(nameEnv))
	}
	if dir := os.Getenv(heldEnv); dir != "" {
		hold(os.Getenv(mountEnv), dir)
	}
	if dir := os.Getenv(mountEnv); dir != "" {
		beStuck(dir, os.Getenv(nameEnv))
	}
}

// readsArguments reports whether another process can read the arguments.
func readsArguments(t testing.TB, pid int) bool {
	t.Helper()
	c := exec.Command(testenv.Program(t, "cat", "coreutils"), fmt.Sprintf("/proc/%d/cmdline", pid))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(200*time.Millisecond, func() { c.Process.Kill() })
	defer patience.Stop()
	return c.Wait() == nil
}

// beStuck never returns. Reading one's own memory through /proc takes the lock until the page
// comes; the kernel lets no reader in any more once somebody waits to change the mappings.
func beStuck(dir, name string) {
	debug.SetGCPercent(-1) // the collector would wait for the lock, before all is set up
	time.AfterFunc(childLimit, func() { os.Exit(1) })
	if err := os.WriteFile("/proc/self/comm", []byte(name), 0); err != nil {
		panic(err)
	}
	page := unservedPage(dir)
	memory, err := unix.Open("/proc/self/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	go unix.Pread(memory, make([]byte, 1), int64(uintptr(unsafe.Pointer(&page[0]))))
	for {
		if more, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON); err == nil {
			unix.Munmap(more)
		}
	}
}
