// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// A child is a process that ends when its input does, so that stopping it needs no permission to
// signal it.
type child struct {
	pid int
	end func()
}

// held starts children that all hold one listening socket, which this process
// does not hold itself, and returns the socket's inode and the children.
func held(t *testing.T, children int) (uint64, []child) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	var list []child
	for range children {
		list = append(list, start(t, file))
	}
	return st.Ino, list
}

func start(t *testing.T, holds *os.File) child {
	t.Helper()
	c := exec.Command("cat")
	c.ExtraFiles = []*os.File{holds}
	input, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ready(t, input, output)
	end := sync.OnceFunc(func() {
		input.Close()
		c.Wait()
	})
	t.Cleanup(end)
	return child{c.Process.Pid, end}
}

// ready waits until a child echoes: by then it has closed the files that were open during its
// start.
func ready(t *testing.T, input io.Writer, output io.Reader) {
	t.Helper()
	if _, err := io.WriteString(input, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func owners(t *testing.T, inodes ...uint64) map[uint64]int {
	t.Helper()
	wanted := map[uint64]int{}
	for _, i := range inodes {
		wanted[i] = os.Getuid()
	}
	got, err := New("/").SocketOwners(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	pids := map[uint64]int{}
	for inode, holder := range got.ByInode {
		pids[inode] = holder.PID
	}
	return pids
}

func TestSharedSocketBelongsToTheOldestProcess(t *testing.T) {
	inode, children := held(t, 3)
	other, alone := held(t, 1)
	lowest := min(children[0].pid, children[1].pid, children[2].pid)
	if diff := cmp.Diff(map[uint64]int{inode: lowest, other: alone[0].pid}, owners(t, inode, other, 1<<40)); diff != "" {
		t.Error(diff)
	}
	for _, c := range children {
		c.end()
	}
	if got := owners(t, inode); len(got) != 0 {
		t.Errorf("a socket that is gone belongs to %v", got)
	}
}

func TestOwnersOfNothingReadNothing(t *testing.T) {
	got, err := New("/nonexistent").SocketOwners(t.Context(), nil)
	if len(got.ByInode) != 0 || got.Denied || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := New("/nonexistent").SocketOwners(t.Context(), map[uint64]int{1: 0}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no /proc: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New("/").SocketOwners(ctx, map[uint64]int{1: 0}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
}

func TestOthersSocketsAreDeniedAndNotUnowned(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount") {
		return
	}
	inode, _ := held(t, 1) // of root
	testenv.Become(t, testenv.Nobody)
	got, err := New("/").SocketOwners(t.Context(), map[uint64]int{inode: 0})
	if len(got.ByInode) != 0 || !got.Denied || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// With hidepid=2 the processes of other users are not even listed.
func TestHiddenProcessesAreDeniedAndNotAbsent(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount") {
		return
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid=2"); err != nil {
		t.Fatal(err)
	}
	inode, children := held(t, 1)
	testenv.Become(t, testenv.Nobody)
	got, err := New("/").SocketOwners(t.Context(), map[uint64]int{inode: 0})
	if len(got.ByInode) != 0 || !got.Denied || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	list, _, err := New("/").Processes(t.Context())
	if !slices.ContainsFunc(list, func(p Process) bool { return p.PID == os.Getpid() }) || err != nil {
		t.Errorf("got %+v, %v; want this process among them", list, err)
	}
	for _, p := range list {
		if info, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); err == nil && info.Sys().(*syscall.Stat_t).Uid != testenv.Nobody {
			t.Errorf("a process of another user: %+v", p)
		}
	}
	if _, err := New("/").Process(children[0].pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a hidden process: %v", err)
	}
}

// A thread may leave the files of its process, and any that it opens then is in no list of /proc/PID/fd.
func TestFilesOfAThreadAreThoseOfItsProcess(t *testing.T) {
	inodes, end, task := make(chan uint64), make(chan struct{}), 0
	defer close(end)
	onLaterThread(end, func() {
		defer close(inodes)
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			t.Error(err)
			return
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Error(err)
		}
		task = unix.Gettid()
		inodes <- st.Ino
		<-end
	})
	inode, ok := <-inodes
	if !ok {
		return
	}
	testenv.Need(t, compares(), "kcmp(2)")
	if diff := cmp.Diff(map[uint64]int{inode: os.Getpid()}, owners(t, inode)); diff != "" {
		t.Error(diff)
	}
	holders, _, err := New("/").SocketHolders(t.Context(), map[uint64]bool{inode: true})
	if err != nil || len(holders[inode]) != 1 || holders[inode][0].PID != os.Getpid() {
		t.Errorf("%+v, %v", holders, err)
	}
	found := 0
	_, err = New("/").OpenFiles(t.Context(), []int{os.Getpid()}, func(f OpenFile) bool {
		if n, _ := f.Socket(); n == inode && f.PID == os.Getpid() && f.Task == task && len(f.About()) > 0 && f.Name() == "task/"+strconv.Itoa(task)+"/fd/"+strconv.Itoa(f.FD) {
			found++
		}
		return true
	})
	if err != nil || found != 1 {
		t.Errorf("found %d times, %v", found, err)
	}
}

// onLaterThread runs f on a thread that ends with it, and is not the first one of the process.
func onLaterThread(end <-chan struct{}, f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		onLaterThread(end, f)
		<-end
		runtime.UnlockOSThread()
	}()
}

// compares says that the kernel lets this process compare threads: a filter of system calls may not.
func compares() bool {
	_, _, failed := unix.Syscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 2, 0, 0, 0)
	return failed == 0
}
