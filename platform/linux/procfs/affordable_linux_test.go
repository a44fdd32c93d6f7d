// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// sleeper starts a process that holds file and the given number of others, and returns its PID.
func sleeper(t *testing.T, file *os.File, others int) int {
	t.Helper()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	c := exec.Command("sleep", "600")
	c.ExtraFiles = append(slices.Repeat([]*os.File{nothing}, others), file)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c.Process.Pid
}

func socketFile(t *testing.T) (*os.File, uint64) {
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
	t.Cleanup(func() { file.Close() })
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return file, st.Ino
}

// order returns the PIDs in the order of a walk.
func order(t *testing.T, r *FileReader, pids ...int) []int {
	t.Helper()
	candidates, err := r.affordable(t.Context(), pids)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, c := range candidates {
		list = append(list, c.pid)
	}
	return list
}

func reader(t *testing.T, fs FS) *FileReader {
	t.Helper()
	r, err := fs.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// tellsFiles reports whether the kernel tells how many files a process has open.
func tellsFiles(t *testing.T) bool { return reader(t, New("/")).dir.size("self/fd") > 0 }

func TestProcessesWithManyFilesAreSearchedFirst(t *testing.T) {
	testenv.Need(t, tellsFiles(t), "Linux before 6.2 does not tell how many files a process has open")
	r := reader(t, New("/"))
	file, _ := socketFile(t)
	few, many := sleeper(t, file, 2), sleeper(t, file, 200)
	dead := exec.Command("true") // not waited for, so that it stays as a zombie without files
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dead.Wait() })
	for state := byte(0); state != 'Z'; {
		p, err := r.dir.process(dead.Process.Pid, make([]byte, 4096))
		if err != nil {
			t.Fatal("the zombie is gone:", err)
		}
		state = p.State
	}
	if diff := cmp.Diff([]int{many, few}, order(t, r, few, dead.Process.Pid, many)); diff != "" {
		t.Error(diff)
	}
	const gone = 1<<31 - 1
	want := []int{few, gone}
	if !SystemAccount(os.Geteuid()) { // what does not tell whose it is counts as the system's
		want = []int{gone, few}
	}
	if diff := cmp.Diff(want, order(t, r, gone, few)); diff != "" {
		t.Errorf("a process that does not tell was not kept for the end of its group:\n%s", diff)
	}
}

func TestSearchKeepsItsOrderWhereNobodyTells(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(root+"/proc", 0o755); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 1, 2}, order(t, reader(t, New(root)), 3, 1, 2)); diff != "" {
		t.Error(diff)
	}
}

// The child has more files open than this process and is found first.
func TestSharedSocketBelongsToTheServerNotItsBusiestWorker(t *testing.T) {
	file, inode := socketFile(t)
	worker := sleeper(t, file, 500)
	if diff := cmp.Diff(map[uint64]int{inode: min(os.Getpid(), worker)}, owners(t, inode)); diff != "" {
		t.Error(diff)
	}
}
