// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

func isLocked(t *testing.T, path string) bool {
	t.Helper()
	held, err := Locked(path)
	if err != nil {
		t.Error(err)
	}
	return held
}

func flocksIn(text string, inode uint64) (found []int) {
	eachFlock(strings.NewReader(text), inode, func(pid int) bool {
		found = append(found, pid)
		return true
	})
	return found
}

func TestHolderOfALockIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if isLocked(t, path) || holderOf(path) != 0 {
		t.Error("a file that is not there is locked")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if isLocked(t, path) || holderOf(path) != 0 {
		t.Error("a file that nobody locked is locked")
	}
	other := exec.Command("/usr/bin/flock", path, "/bin/sleep", "60")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-other.Process.Pid, syscall.SIGKILL) // sleep has the lock too
		other.Wait()
	})
	testenv.WaitFor(t, "the lock", func() bool { return isLocked(t, path) })
	if got := holderOf(path); got != other.Process.Pid {
		t.Errorf("process %d holds it, want %d", got, other.Process.Pid)
	}
}

// A process that has the number of one which signed, and only names the file in a descriptor with O_PATH, for which
// nobody needs a right on it, has no lock.
func TestWhoOnlyNamesAFileHoldsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sign(t.Context(), path)
	for flags, want := range map[int]bool{unix.O_PATH: false, unix.O_RDONLY: true, unix.O_WRONLY: true} {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := isLocked(t, path); got != want {
			t.Errorf("opened with %#o: locked %t", flags, got)
		}
		unix.Close(fd)
	}
}

// Any user can hold thousands of locks, behind which that of sentinel stands.
func TestManyLocksDoNotHideAHolder(t *testing.T) {
	var release func() // kept, so that the file is not closed
	hold := testenv.ManyLocks(t, func(path string) (err error) {
		release, err = Exclude(context.Background(), path, long)
		return err
	})
	defer runtime.KeepAlive(&release)
	path := filepath.Join(t.TempDir(), "a.lock")
	hold(path)
	if !isLocked(t, path) || holderOf(path) == 0 {
		t.Errorf("not locked, or by process %d", holderOf(path))
	}
}

// What is not read may hold the lock.
func TestAPartOfTheLocksShowsNoFreeFile(t *testing.T) {
	const one = "1: POSIX  ADVISORY  WRITE 812 fe:01:131 0 EOF\n"
	n := 0
	count := func([]string) bool {
		n++
		return true
	}
	if err := EachLock(strings.NewReader(strings.Repeat(one, maxLocks/len(one)+9)), count); !errors.Is(err, ErrTooManyLocks) || n < maxLocks/len(one) {
		t.Errorf("%d locks: %v", n, err)
	}
	n = 0
	if err := EachLock(strings.NewReader(strings.Repeat(one, 40_000)), count); err != nil || n != 40_000 {
		t.Errorf("%d locks: %v", n, err)
	}
	n = 0
	if err := EachLock(strings.NewReader(strings.Repeat(one, 9)), func([]string) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d locks: %v", n, err)
	}
}

// Files of different file systems have the same inode numbers, and a user may hold many locks.
func TestLocksOfOthersDoNotHideAHolder(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	var inodes []uint64
	files := []string{filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "lock")}
	for _, file := range files {
		dir := filepath.Dir(file)
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		inodes = append(inodes, info.Sys().(*syscall.Stat_t).Ino)
	}
	testenv.Need(t, inodes[0] == inodes[1], "a kernel that counts the inodes of each tmpfs")
	if err := os.Chmod(files[1], 0o644); err != nil {
		t.Fatal(err)
	}
	hold := func(file string, uid uint32) int {
		cmd := exec.Command("/usr/bin/flock", "--shared", "--no-fork", file, "/bin/sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		testenv.WaitFor(t, "a lock", func() bool {
			all, err := os.ReadFile("/proc/locks")
			return err == nil && slices.Contains(flocksIn(string(all), inodes[0]), cmd.Process.Pid)
		})
		return cmd.Process.Pid
	}
	for range 20 {
		hold(files[1], testenv.Nobody)
	}
	if isLocked(t, files[0]) {
		t.Error("locks on another file count")
	}
	holder := hold(files[0], 0)
	for range 20 {
		hold(files[1], testenv.Nobody)
	}
	if got := holderOf(files[0]); got != holder {
		t.Errorf("process %d holds it, want %d", got, holder)
	}
}

// Anybody can lock files of the same number in any number of processes whose status files are expensive to read.
func TestTheStatusOfOthersIsNotRead(t *testing.T) {
	testenv.HangGuard(t)
	dir, owner := t.TempDir(), uint32(os.Getuid())
	if err := unix.Mkfifo(filepath.Join(dir, "status"), 0o644); err != nil { // whoever opens it waits
		t.Fatal(err)
	}
	if owner == 0 {
		if err := os.Chown(dir, 4000, 4000); err != nil {
			t.Fatal(err)
		}
	}
	if !isOthers(dir, owner+1) {
		t.Error("another user's process may hold the lock")
	}
	if isOthers(filepath.Join(dir, "gone"), owner) {
		t.Error("a process that hides is taken for another user's")
	}
}

// Whose rights a process has is not who started it.
func TestASetUserIDProgramIsItsRealUsers(t *testing.T) {
	for uid, want := range map[uint32]bool{uint32(os.Getuid()): false, 4001: true} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "status"), fmt.Appendf(nil, "Name:\tsu\nUid:\t%d\t0\t0\t0\n", uid), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := isOthers(dir, uint32(os.Getuid())); got != want {
			t.Errorf("of user %d: %t", uid, got)
		}
	}
}

func TestLocksAreParsed(t *testing.T) {
	const text = `1: FLOCK  ADVISORY  WRITE 812 fe:01:131 0 EOF
1: -> FLOCK  ADVISORY  WRITE 900 fe:01:131 0 EOF
2: POSIX  ADVISORY  READ 7 fe:01:131 0 0
3: FLOCK  ADVISORY  READ 813 00:2a:131 0 EOF
4: FLOCK  ADVISORY  WRITE 814 fe:01:1131 0 EOF
5: FLOCK  ADVISORY  WRITE -1 fe:01:131 0 EOF
6: FLOCK  ADVISORY  WRITE 0 fe:01:131 0 EOF
7: FLOCK  ADVISORY
`
	if got := flocksIn(text, 131); !slices.Equal(got, []int{812, 813}) {
		t.Errorf("got %v", got)
	}
	if got := flocksIn("", 131); got != nil {
		t.Errorf("got %v", got)
	}
}

func FuzzParseLocks(f *testing.F) {
	f.Add("1: FLOCK  ADVISORY  WRITE 812 fe:01:131 0 EOF\n", uint64(131))
	f.Fuzz(func(t *testing.T, text string, inode uint64) {
		found := flocksIn(text, inode)
		if slices.ContainsFunc(found, func(pid int) bool { return pid < 1 }) {
			t.Errorf("%v", found)
		}
	})
}

// What a process has open may be on a file system of its user's that never answers.
func TestWhatAProcessHasOpenIsNotWaitedFor(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid, hang, release := deadfuse.Overlaid(t, 4000, "x")
	file, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hang()
	found := make(chan bool, 1)
	go func() { found <- hasOpen(pid, file) }()
	select {
	case has := <-found:
		if has {
			t.Error("it has another file open")
		}
	case <-time.After(testenv.HangLimit):
		release()
		t.Error("the server is asked")
	}
}

// statx(2) came with Linux 4.11, and filters of system calls may refuse it.
func TestAHolderIsFoundWithoutStatx(t *testing.T) {
	dir := t.TempDir()
	open, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := os.WriteFile(filepath.Join(dir, "closed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM} {
		for name, want := range map[string]bool{"open": true, "closed": false} {
			file, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			testenv.Intercept(t, unix.SYS_STATX, func(int) unix.Errno { return errno }, func() {
				if has := hasOpen(os.Getpid(), file); has != want {
					t.Errorf("%v: %s: %t", errno, name, has)
				}
			})
		}
	}
}
