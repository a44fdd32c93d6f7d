// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// crowd starts processes of a user that share so many open files, besides file.
func crowd(t *testing.T, uid uint32, processes, files int, file *os.File) []int {
	t.Helper()
	raise(t, 2*uint64(files)+100) // each file is copied twice on its way into the child
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	var pids []int
	for range processes {
		c := exec.Command("/bin/sleep", "600")
		c.ExtraFiles = append(slices.Repeat([]*os.File{nothing}, files), file)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
		pids = append(pids, c.Process.Pid)
	}
	return pids
}

// raise allows this process and its children so many open files.
func raise(t *testing.T, files uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur, limit.Max = max(files, limit.Cur), max(files, limit.Max)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

const busyUser, quietUser = 4_001, 4_000

// One user's processes have more files open than are read for a user; another's have few.
func TestUserWithTooManyFilesIsSkippedAndNobodyElse(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Need(t, tellsFiles(t), "Linux before 6.2 does not tell how many files a process has open")
	live := New("/")
	live.filesTime = time.Minute // a busy machine takes longer than the bound
	busyFile, busyInode := socketFile(t)
	quietFile, quietInode := socketFile(t)
	busy := crowd(t, busyUser, 12, 5_000, busyFile)
	quiet := crowd(t, quietUser, 1, 10, quietFile)
	busyFile.Close()
	quietFile.Close()

	seen := map[int]int{}
	skipped, err := live.OpenFiles(t.Context(), nil, func(f OpenFile) bool {
		seen[f.PID]++
		return true
	})
	if err != nil || seen[quiet[0]] < 11 || seen[os.Getpid()] == 0 {
		t.Errorf("%v; read %d files of the other user's and %d of this process", err, seen[quiet[0]], seen[os.Getpid()])
	}
	if len(skipped) != 3 {
		t.Errorf("%d processes were skipped, want 3: %v", len(skipped), skipped)
	}
	for _, s := range skipped {
		if !slices.Contains(busy, s.PID) || s.UID != busyUser || !errors.Is(s.Err, ErrManyFiles) {
			t.Errorf("skipped %+v", s)
		}
	}

	holders, skipped, err := live.SocketHolders(t.Context(), map[uint64]bool{busyInode: true, quietInode: true})
	if want := []Holder{{quiet[0], "sleep"}}; !slices.Equal(holders[quietInode], want) || len(holders[busyInode]) < 9 || len(skipped) != 3 || err != nil {
		t.Errorf("%d holders of the shared socket, %v of the other; %d skipped, %v", len(holders[busyInode]), holders[quietInode], len(skipped), err)
	}

	reader, err := live.FileReader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cut := 0
	for _, pid := range busy {
		if err := reader.Files(pid, func(OpenFile) bool { return true }); errors.Is(err, ErrManyFiles) {
			cut++
		}
	}
	if err := reader.Files(quiet[0], func(OpenFile) bool { return true }); cut != 3 || err != nil {
		t.Errorf("one after the other, %d processes were cut, and the other user's %v", cut, err)
	}

	owners, err := live.SocketOwners(t.Context(), map[uint64]int{quietInode: 0, 1 << 40: 0})
	if owners.ByInode[quietInode].PID != quiet[0] || len(owners.Skipped) != 3 || owners.Denied || err != nil {
		t.Errorf("%+v, %v", owners, err)
	}
	if owners, err := live.SocketOwners(t.Context(), map[uint64]int{quietInode: 0}); len(owners.Skipped) != 0 || err != nil {
		t.Errorf("all are found, and yet %+v, %v", owners, err)
	}
}

// A user who runs processes under subordinate IDs has no more read of them, and nobody waits for them.
func TestSubordinateUsersShareTheBoundOfTheirOwner(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Need(t, tellsFiles(t), "Linux before 6.2 does not tell how many files a process has open")
	live := New(rootWith(t, map[string]string{
		"subuid": fmt.Sprintf("busy:100000:65536\n%d:400000:65536\n", quietUser),
		"passwd": fmt.Sprintf("busy:x:%d:%d::/:/bin/sh\nquiet:x:%d:%d::/:/bin/sh\n", busyUser, busyUser, quietUser, quietUser),
	}))
	live.filesTime = time.Minute
	file, _ := socketFile(t)
	var busy []int
	for i := range uint32(4) {
		busy = append(busy, crowd(t, 100_000+i, 3, 5_000, file)...)
	}
	quiet := crowd(t, quietUser, 1, 1_000, file)
	quiet = append(quiet, crowd(t, 400_001, 1, 1_000, file)...)

	at, read := map[int]int{}, 0
	skipped, err := live.OpenFiles(t.Context(), append(slices.Clone(busy), quiet...), func(f OpenFile) bool {
		at[f.PID] = read
		read++
		return true
	})
	if err != nil || len(skipped) != 3 {
		t.Errorf("%d processes were skipped, want 3: %v, %v", len(skipped), skipped, err)
	}
	for _, s := range skipped {
		if !slices.Contains(busy, s.PID) || s.UID != busyUser || !errors.Is(s.Err, ErrManyFiles) {
			t.Errorf("skipped %+v", s)
		}
	}
	for _, pid := range quiet {
		if last, seen := at[pid]; !seen || last > 2_100 {
			t.Errorf("the process %d of the other user was read up to file %d, %t", pid, last, seen)
		}
	}
}

// rootWith makes a root whose processes are the machine's, and whose accounts are made up.
func rootWith(t *testing.T, etc map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.Symlink("/proc", root+"/proc"), os.Mkdir(root+"/etc", 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, content := range etc {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A program that its user may not read makes a process that may not be traced, and /proc says
// that the files of such a process are root's.
func TestProcessThatMayNotBeTracedStaysItsUsers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	const program = "/mnt/sleep"
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, raw, 0o711); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "600")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: quietUser, Gid: quietUser}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	var stat unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/fd", c.Process.Pid), &stat); err != nil || stat.Uid != 0 {
		t.Fatalf("the files are said to be of user %d, %v", stat.Uid, err)
	}
	r := reader(t, New("/"))
	if got := r.candidate(c.Process.Pid); got.uid != quietUser {
		t.Errorf("got %+v", got)
	}
	testenv.Need(t, tellsFiles(t), "Linux before 6.2 does not tell how many files a process has open")
	r.unasked = 1
	if got := r.candidate(c.Process.Pid); got.uid != 0 {
		t.Errorf("the user of one with few files was asked for: %+v", got)
	}
	if got := r.candidate(c.Process.Pid); got.uid != quietUser {
		t.Errorf("more users than are allowed for were not asked for: %+v", got)
	}
}

func TestFilesOfOneProcess(t *testing.T) {
	file, inode := socketFile(t)
	pid := sleeper(t, file, 3)
	var sockets []uint64
	skipped, err := New("/").OpenFiles(t.Context(), []int{pid, 1<<31 - 1}, func(f OpenFile) bool {
		if inode, ok := f.Socket(); ok {
			sockets = append(sockets, inode)
		}
		return true
	})
	if !slices.Equal(sockets, []uint64{inode}) || len(skipped) != 0 || err != nil {
		t.Errorf("sockets %v, skipped %v, %v", sockets, skipped, err)
	}
	visits := 0
	if _, err := New("/").OpenFiles(t.Context(), []int{pid, os.Getpid()}, func(OpenFile) bool { visits++; return false }); visits != 1 || err != nil {
		t.Errorf("%d visits after the first said that it is enough, %v", visits, err)
	}
}
