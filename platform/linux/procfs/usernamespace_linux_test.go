// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// foreign is the user namespace of nobody.
const foreign = "user:[1]"

// asked makes a /proc of processes below a root, and the user in the status file of each; without one it is a pipe that nobody
// writes to, so that whoever opens it waits for ever. The processes are ordinary users', their files the system's,
// as far as this run may make them so.
func asked(t *testing.T, root string, namespaces map[int]string, status map[int]int) (owner int) {
	t.Helper()
	testenv.HangGuard(t)
	owner = os.Getuid()
	for pid, namespace := range namespaces {
		dir := filepath.Join(root, "proc", fmt.Sprint(pid))
		err := errors.Join(os.MkdirAll(dir+"/fd", 0o755), os.Mkdir(dir+"/ns", 0o755), os.Symlink("socket:[7]", dir+"/fd/3"))
		if namespace != "" {
			err = errors.Join(err, os.Symlink(namespace, dir+"/ns/user"))
		}
		if uid, told := status[pid]; told {
			err = errors.Join(err, os.WriteFile(dir+"/status", fmt.Appendf(nil, "Uid:\t%d\t0\t0\t0\nGid:\t5\t5\t5\t5\nGroups:\t6\n", uid), 0o644))
		} else {
			err = errors.Join(err, unix.Mkfifo(dir+"/status", 0o644))
		}
		if owner == 0 {
			err = errors.Join(err, os.Chown(dir, busyUser, busyUser))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if owner == 0 {
		owner = busyUser
	}
	return owner
}

func ownUsers(t *testing.T) string {
	t.Helper()
	link, err := os.Readlink("/proc/self/ns/user")
	testenv.Need(t, err == nil, "user namespaces")
	return link
}

// The status file of a process in a user namespace costs as much as its user likes, and is not opened.
func TestTheStatusOfAnotherUserNamespaceIsNotRead(t *testing.T) {
	root := t.TempDir()
	owner := asked(t, root, map[int]string{7: foreign, 8: ownUsers(t), 9: ""}, map[int]int{8: 1000, 9: 1001})
	fs := New(root)
	for pid, want := range map[int]int{7: owner, 8: 1000, 9: 1001} {
		uid, err := fs.UID(pid)
		user, _ := fs.User(pid)
		if uid != want || user != want || err != nil {
			t.Errorf("process %d is of %d, and belongs to %d, want %d: %v", pid, uid, user, want, err)
		}
	}
	if groups, err := fs.Groups(7); !errors.Is(err, ErrOtherUsers) || groups != nil {
		t.Errorf("groups %v, %v", groups, err)
	}
	if groups, err := fs.Groups(8); !slices.Contains(groups, 6) || err != nil {
		t.Errorf("groups of this namespace %v, %v", groups, err)
	}
	if _, err := fs.UID(10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that has ended: %v", err)
	}
	r := reader(t, fs)
	if got := r.candidate(7); got.uid != owner {
		t.Errorf("before its files are read: %+v, want user %d", got, owner)
	}
	if fd := fs.FilesOf(8); SystemAccount(fd) {
		if got := r.candidate(8); got.uid != 1000 {
			t.Errorf("of this namespace: %+v", got)
		}
	}
}

// Who may not look where a process is takes an ordinary user's rights for whose it is.
func TestOneThatMayNotBeTracedIsItsEffectiveUsers(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount") {
		return
	}
	const root = "/mnt"
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	owner := asked(t, root, map[int]string{7: foreign, 8: foreign}, map[int]int{8: 1000})
	for _, err := range []error{os.Chmod(root+"/proc/7/ns", 0), os.Chmod(root+"/proc/8/ns", 0), os.Chown(root+"/proc/8", 0, 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	testenv.Become(t, quietUser)
	fs := New(root)
	for pid, want := range map[int]int{7: owner, 8: 1000} {
		if uid, err := fs.UID(pid); uid != want || err != nil {
			t.Errorf("process %d is of %d, want %d: %v", pid, uid, want, err)
		}
	}
}

// What is read before the files are takes of the same time, and ends with the caller.
func TestAskingForUsersIsBounded(t *testing.T) {
	root := t.TempDir()
	owner := asked(t, root, map[int]string{7: ownUsers(t)}, nil)
	fs := New(root)
	fs.filesTime = 0
	if got := reader(t, fs).candidate(7); got.uid != owner {
		t.Errorf("without time left: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	visits := 0
	skipped, err := New(root).OpenFiles(ctx, nil, func(OpenFile) bool { visits++; return true })
	if !errors.Is(err, context.Canceled) || visits != 0 || skipped != nil {
		t.Errorf("for a caller that left: %d files, %v, %v", visits, skipped, err)
	}
}

// With newuidmap and a range in /etc/subgid any user has processes like these: each is in 65,536 groups, may not be
// traced, and the kernel takes 20 ms for any part of its status file.
func TestProcessesOfManyGroupsAreTheirUsers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(testenv.Program(t, "sleep", "coreutils"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/mnt/sleep", program, 0o711); err != nil { // root's own: its user may not trace it
		t.Fatal(err)
	}
	live, pids := New("/"), []int{}
	for range 20 {
		pids = append(pids, inManyGroups(t, "/mnt/sleep"))
	}
	if fd := live.FilesOf(pids[0]); fd != 0 {
		t.Fatalf("the files are said to be of user %d", fd)
	}
	if status, err := live.read(fmt.Sprint(pids[0]), "status"); err != nil || len(status) < 300_000 {
		t.Fatalf("the status file has %d bytes, %v", len(status), err)
	}
	seen := map[int]bool{}
	skipped, err := live.OpenFiles(t.Context(), pids, func(f OpenFile) bool { seen[f.PID] = true; return true })
	if len(seen) != len(pids) || len(skipped) != 0 || err != nil {
		t.Errorf("read the files of %d, skipped %v, %v", len(seen), skipped, err)
	}
	r, opened := reader(t, live), 0
	r.candidate(pids[0]) // which reads the files of the accounts
	testenv.Intercept(t, unix.SYS_OPENAT, func(int) unix.Errno { opened++; return 0 }, func() {
		for _, pid := range pids {
			if got := r.candidate(pid); got.uid != busyUser || r.asking != 0 {
				t.Errorf("%+v, and took %v to ask", got, r.asking)
			}
		}
	})
	if opened != 0 {
		t.Errorf("%d files were opened to find the users of %d processes", opened, len(pids))
	}
}

// inManyGroups starts a process of a user in a user namespace.
func inManyGroups(t *testing.T, program string) int {
	t.Helper()
	groups := make([]uint32, 65_536)
	for i := range groups {
		groups[i] = 1 + uint32(i)%60_000
	}
	c := exec.Command(program, "600")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: busyUser, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: busyUser, Size: 1}, {ContainerID: 1, HostID: 1_000_000, Size: 65_536}},
		GidMappingsEnableSetgroups: true,
		Credential:                 &syscall.Credential{Groups: groups},
	}
	err := c.Start()
	testenv.Need(t, err == nil, fmt.Sprintf("user namespaces (%v)", err))
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c.Process.Pid
}
