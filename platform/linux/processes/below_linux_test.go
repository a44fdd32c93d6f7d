// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// namesBelow returns the processes below one, by their names.
func namesBelow(t *testing.T, pid int) (pids []int, names string) {
	t.Helper()
	list, err := NewTerminator("/").Below(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		pids, names = append(pids, r.PID), names+" "+r.Name
	}
	return pids, names
}

// What has joined a PID namespace ends with its first process as well, and with no other.
func TestWhatIsBelowAProcess(t *testing.T) {
	nsenter := testenv.Program(t, "nsenter", "util-linux")
	if !testenv.Isolated(t) {
		return
	}
	outer := run(t, exec.Command("unshare", "--pid", "--fork", "sh", "-c", "sh -c 'sleep 600; true' & wait; true"))
	first := onlyChild(t, outer)
	middle := onlyChild(t, first)
	sleep := onlyChild(t, middle)
	joined := onlyChild(t, run(t, exec.Command(nsenter, "--target", strconv.Itoa(first), "--pid", "tail", "-f", "/dev/null")))
	testenv.WaitFor(t, "tail", func() bool { return New("/").nameOf(joined) == "tail" && New("/").nameOf(sleep) == "sleep" })
	for pid, want := range map[int]string{outer: " sh sh sleep", first: " sh sleep tail", middle: " sleep", sleep: ""} {
		if pids, names := namesBelow(t, pid); names != want || len(pids) > 0 && pids[0] == pid {
			t.Errorf("%d: %v%s, want%s", pid, pids, names, want)
		}
	}
}

// A shell that is the first of a PID namespace, and has started there what this machine asks for names: that of the
// network of this machine counts, in a container or not.
func TestTheFirstOfANamespaceWithANameServer(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	file, err := udp("127.0.0.1:53")()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.Mount("/dev/null", "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil { // so that loopback is asked
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "sh", "-c", "sleep 600 & exec 3<&-; wait; true")
	cmd.ExtraFiles = []*os.File{file}
	outer := run(t, cmd)
	first := onlyChild(t, outer)
	child := onlyChild(t, first)
	testenv.WaitFor(t, "sleep", func() bool { return New("/").nameOf(child) == "sleep" })
	why := "it answers this machine's own questions for names"
	refused(t, processes.Target{PID: child}, fault.ProtectedProcess, why)
	refused(t, processes.Target{PID: first}, fault.ProtectedProcess, fmt.Sprintf(`"sleep" (PID %d) ends with it, and %s`, child, why))
	for back, want := range map[bool]string{true: "", false: why} {
		if _, who, got, err := processes.Essential(t.Context(), NewTerminator("/"), []processes.Ending{{PID: child, ComesBack: back}}, nil, nil); err != nil || got != want {
			t.Errorf("comes back %v: %s %q, %v", back, who, got, err)
		}
	}
}

// A process that its user keeps from being read is waited for as long as the table waits for it.
func TestAProcessThatIsHeldUpIsGivenUp(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	if err := unix.Mount("none", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	const dir = "/mnt/proc/100"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 4000, 4000); err != nil {
		t.Fatal(err)
	}
	deadfuse.Hold(t, 4000, dir)
	if _, err := NewTerminator("/mnt").facts(t.Context(), 100); !errors.Is(err, processes.ErrHeldUp) {
		t.Error(err)
	}
}
