// SPDX-License-Identifier: Apache-2.0

package local

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// standing is what a run inherits.
type standing struct {
	session, nice, umask int
	memory               int32 // how pages are placed on the nodes of a machine (set_mempolicy(2))
	groups               string
}

func stand(t *testing.T) standing {
	t.Helper()
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	umask := unix.Umask(0)
	unix.Umask(umask)
	var memory int32 // 0 as in a kernel without nodes
	unix.Syscall6(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&memory)), 0, 0, 0, 0, 0)
	return standing{session, 20 - raw, umask, memory, groupsOfThreads(t)}
}

// groupsOfThreads are the supplementary groups of each thread, once.
func groupsOfThreads(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		_, rest, _ := strings.Cut(string(status), "\nGroups:")
		groups, _, _ := strings.Cut(rest, "\n")
		all = append(all, strings.TrimSpace(groups))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ";")
}

// preferred is MPOL_PREFERRED of set_mempolicy(2), which without nodes means the one of the processor.
const preferred = 1

// Root's own run keeps what root gave it, and what a person typed stays where Ctrl-C reaches it.
func TestWhatIsLeftDependsOnWhoCalls(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "tmpfs", "/sys/fs/cgroup").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	unix.Umask(0o777)
	runtime.LockOSThread() // each has a niceness of its own
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 15); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setgroups([]int{4242, 4243}); err != nil { // of all threads, as after sudo -P
		t.Fatal(err)
	}
	unix.Syscall(unix.SYS_SET_MEMPOLICY, preferred, 0, 0)
	before := stand(t)
	for _, c := range []struct {
		uid     string
		request bool
		want    standing
	}{
		{"", true, standing{before.session, before.nice, 0o022, before.memory, before.groups}},
		{"0", true, standing{before.session, before.nice, 0o022, before.memory, before.groups}},
		{"1000", false, standing{before.session, 0, 0o022, 0, "0"}},
		{"1000", true, standing{os.Getpid(), 0, 0o022, 0, "0"}},
	} {
		args := []string{"--list-blocked"}
		if c.request {
			args = []string{"--request", "list_blocked_ips"}
		}
		LeaveCaller(args, func(name string) string {
			if name == "SUDO_UID" {
				return c.uid
			}
			return ""
		})
		if got := stand(t); got != c.want {
			t.Errorf("user %q, request %v: %+v, want %+v", c.uid, c.request, got, c.want)
		}
	}
}

// What is refused may wait for its caller to read why, in a number that nothing else bounds.
func TestWhoIsRefusedStaysInTheCallersGroup(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/run", "/sys/fs/cgroup"} {
		must(unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
	}
	membership := t.TempDir() + "/cgroup"
	must(os.WriteFile(membership, []byte("0::/user.slice/user-1000.slice/session-3.scope\n"), 0o644))
	must(unix.Mount(membership, "/proc/self/cgroup", "", unix.MS_BIND, ""))
	must(os.WriteFile("/sys/fs/cgroup/cgroup.controllers", nil, 0o644))
	const own = "/sys/fs/cgroup/sentinel"
	must(os.Mkdir(own, 0o755))
	must(os.WriteFile(own+"/cgroup.procs", nil, 0o644))
	notRelayed = ErrNotRelayed
	_, _, err := Admit(1000)
	notRelayed = nil
	if moved, failed := os.ReadFile(own + "/cgroup.procs"); !errors.Is(err, ErrNotRelayed) || failed != nil || len(moved) > 0 {
		t.Errorf("%v, moved %q, %v", err, moved, failed)
	}
	for number := range placesOfUser + 1 {
		must(os.WriteFile(own+"/cgroup.procs", nil, 0o644))
		place, flush, err := Admit(1000)
		must(flush()) // the place is kept: a thread may wait for the caller's standard input even so
		moved, failed := os.ReadFile(own + "/cgroup.procs")
		must(failed)
		if number < placesOfUser && (place != number || err != nil || string(moved) != strconv.Itoa(os.Getpid())) {
			t.Errorf("place %d, %v, moved %q, want place %d", place, err, moved, number)
		}
		if number == placesOfUser && (!errors.Is(err, ErrFull) || len(moved) > 0) {
			t.Errorf("%v, moved %q", err, moved)
		}
	}
}
