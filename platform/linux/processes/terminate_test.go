// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// run starts a program and collects it when it ends.
func run(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	return cmd.Process.Pid
}

// child starts this test binary as one of its children, and returns its first
// line too.
func child(t *testing.T, kind string) (pid int, said string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMark+"="+kind)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
	return cmd.Process.Pid, strings.TrimSpace(line)
}

func sleeper(t *testing.T) int { return run(t, exec.Command("sleep", "60")) }

func plan(t *testing.T, target processes.Target) *processes.Termination {
	t.Helper()
	p, err := processes.PlanTermination(t.Context(), NewTerminator("/"), target, nil)
	if err != nil {
		t.Fatalf("%+v: %v", target, err)
	}
	t.Cleanup(p.Close)
	return p
}

// kill plans a termination and executes it.
func kill(t *testing.T, target processes.Target) processes.Terminated {
	t.Helper()
	done, err := plan(t, target).Do(t.Context())
	if err != nil {
		t.Fatalf("%+v: %v", target, err)
	}
	if alive(target.PID) {
		t.Errorf("%+v is said to be gone and lives", done)
	}
	return done
}

// alive says whether a process has a thread that has not ended.
func alive(pid int) bool {
	threads, err := NewTerminator("/").proc.Threads(pid)
	return err == nil && slices.ContainsFunc(threads, func(t procfs.ProcessStat) bool { return t.State != 'Z' && t.State != 'X' })
}

func state(pid int) byte {
	stat, err := NewTerminator("/").proc.Process(pid)
	if err != nil {
		return 0
	}
	return stat.State
}

// refused checks that the process is not to be ended, why, and that it lives.
func refused(t *testing.T, target processes.Target, code fault.Code, why string) {
	t.Helper()
	v := planVerdict(target)
	if v.Code != code || !strings.Contains(v.Message, why) {
		t.Errorf("%+v: %+v, want %s with %q", target, v, code, why)
	}
}

func TestKillEndsASleepingProcess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	want := processes.Terminated{Subject: processes.Subject{PID: pid, ProcessName: "sleep", User: "root"}, Signal: processes.SignalKill}
	_, byPID := table(t, New("/"))
	want.StartID = byPID[pid].Start
	p := plan(t, processes.Target{PID: pid, ExpectName: "sleep", ExpectStart: want.StartID})
	if got := p.Summary(); got != fmt.Sprintf(`"sleep" (PID %d, user root) would be sent SIGKILL.`, pid) {
		t.Error(got)
	}
	if !alive(pid) {
		t.Fatal("a plan has ended it")
	}
	got, err := p.Do(t.Context())
	if err != nil || alive(pid) {
		t.Fatalf("%v, alive %v", err, alive(pid))
	}
	got.ExitedAfterMS = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGracefulSaysWhichSignalEndedIt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	if got := kill(t, processes.Target{PID: pid, Graceful: true}); got.Signal != processes.SignalTerm || got.ExitedAfterMS > 1000 {
		t.Errorf("a process that heeds SIGTERM: %+v", got)
	}
	pid, _ = child(t, "stubborn")
	refused(t, processes.Target{PID: pid}, fault.ProtectedProcess, "another run of sentinel as root")
	if got := kill(t, processes.Target{PID: pid, Graceful: true, Grace: 200 * time.Millisecond, Force: true}); got.Signal != processes.SignalKill || got.ExitedAfterMS < 200 {
		t.Errorf("a process that ignores SIGTERM: %+v", got)
	}
	pid = sleeper(t)
	unix.Kill(pid, unix.SIGSTOP)
	testenv.WaitFor(t, "stopped", func() bool { return state(pid) == 'T' })
	if got := kill(t, processes.Target{PID: pid, Graceful: true, Grace: 200 * time.Millisecond}); got.Signal != processes.SignalKill {
		t.Errorf("a process that is stopped: %+v", got)
	}
}

func TestGraceIsFiveSecondsAndSurvivesACancel(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid, _ := child(t, "stubborn")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	got, err := plan(t, processes.Target{PID: pid, Graceful: true, Force: true}).Do(ctx)
	if err != nil || alive(pid) || got.Signal != processes.SignalKill || got.ExitedAfterMS < 5000 || got.ExitedAfterMS > 7000 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCancelBeforeTheSignalLeavesTheProcess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plan(t, processes.Target{PID: pid}).Do(ctx); !errors.Is(err, context.Canceled) || !alive(pid) {
		t.Errorf("%v, alive %v", err, alive(pid))
	}
}

func TestKillEndsWhatIsStoppedHeadlessOrInAContainer(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	unix.Kill(pid, unix.SIGSTOP)
	testenv.WaitFor(t, "stopped", func() bool { return state(pid) == 'T' })
	kill(t, processes.Target{PID: pid})

	pid, _ = child(t, "headless")
	testenv.WaitFor(t, "headless", func() bool {
		p, err := New("/").proc.Process(pid)
		return err == nil && p.Headless
	})
	if !alive(pid) {
		t.Fatal("its threads have ended")
	}
	if got := kill(t, processes.Target{PID: pid, ExpectName: filepath.Base(os.Args[0])}); got.Signal != processes.SignalKill {
		t.Errorf("%+v", got)
	}

	outer := run(t, exec.Command("unshare", "--pid", "--fork", "sleep", "60"))
	inner := onlyChild(t, outer)
	testenv.WaitFor(t, "sleep runs", func() bool { return New("/").nameOf(inner) == "sleep" })
	if got := kill(t, processes.Target{PID: inner, ExpectName: "sleep"}); got.ProcessName != "sleep" {
		t.Errorf("%+v", got)
	}
}

func (s *Source) nameOf(pid int) string {
	stat, err := s.proc.Process(pid)
	if err != nil {
		return ""
	}
	return stat.Name
}

// onlyChild waits until a process has one child and returns it.
func onlyChild(t *testing.T, pid int) (found int) {
	t.Helper()
	testenv.WaitFor(t, "child", func() bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
		if err != nil {
			t.Fatal(err)
		}
		found, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		return err == nil
	})
	return found
}

func TestThreadsAndNumbersWithoutAProcessAreRefused(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid, thread := child(t, "threads")
	id, err := strconv.Atoi(thread)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, processes.Target{PID: id, Force: true}, fault.InvalidPID, fmt.Sprintf("thread of %q (PID %d)", filepath.Base(os.Args[0]), pid))
	refused(t, processes.Target{PID: 4194304}, fault.ProcessNotFound, "4194304")
	refused(t, processes.Target{PID: 0}, fault.InvalidPID, "0 is not")
	refused(t, processes.Target{PID: -1, Force: true}, fault.InvalidPID, "-1 is not")
	refused(t, processes.Target{PID: 4194305, Force: true}, fault.InvalidPID, "4194305 is not")
	refused(t, processes.Target{PID: 1, Force: true}, fault.ProtectedProcess, "every other process")
	if !alive(pid) {
		t.Error("the process whose thread was named has ended")
	}
}

// A plan for a kernel thread reads and signals nothing, so that the machine
// itself can be asked, which alone has any.
func TestKernelThreadsAreRefused(t *testing.T) {
	for _, pid := range []int{2, 3} {
		stat, err := NewTerminator("/").proc.Process(pid)
		testenv.Need(t, err == nil && stat.Flags&kernelThread != 0, "the kernel threads of the machine")
		refused(t, processes.Target{PID: pid, Force: true}, fault.ProtectedProcess, "it is a thread of the kernel")
	}
}

func TestZombieIsDeadAlready(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	parent := run(t, exec.Command("sh", "-c", "/bin/true & exec sleep 60"))
	pid := onlyChild(t, parent)
	testenv.WaitFor(t, "zombie", func() bool { return state(pid) == 'Z' && New("/").nameOf(parent) == "sleep" })
	refused(t, processes.Target{PID: pid}, fault.ProcessNotFound, fmt.Sprintf("its parent \"sleep\" (PID %d) has not collected it", parent))
}

func TestEndThatNobodyCollectsIsSaid(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	parent := run(t, exec.Command("sh", "-c", "sleep 60 & exec sleep 61"))
	pid := onlyChild(t, parent)
	testenv.WaitFor(t, "exec", func() bool { return New("/").nameOf(parent) == "sleep" && New("/").nameOf(pid) == "sleep" })
	got := kill(t, processes.Target{PID: pid})
	if diff := cmp.Diff(&processes.Relative{PID: parent, Name: "sleep"}, got.UncollectedBy); diff != "" {
		t.Error(diff)
	}
}

// reuse ends the process with the PID and gives its PID to another one
// (ns_last_pid in pid_namespaces(7)).
func reuse(t *testing.T, pid int) {
	t.Helper()
	unix.Kill(pid, unix.SIGKILL)
	testenv.WaitFor(t, "collected", func() bool { return state(pid) == 0 })
	<-time.After(20 * time.Millisecond) // a start is told apart by the tick
	for range 100 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", strconv.AppendInt(nil, int64(pid-1), 10), 0); err != nil {
			t.Fatal(err)
		}
		if sleeper(t) == pid {
			return
		}
	}
	t.Fatal("the PID was not given again")
}

func TestRecycledPIDIsAnotherProcess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	pid := sleeper(t)
	_, byPID := table(t, New("/"))
	start := byPID[pid].Start
	pinned, err := NewTerminator("/").Pin(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer pinned.Close()
	held := plan(t, processes.Target{PID: pid})
	reuse(t, pid)
	if f, err := pinned.Facts(t.Context()); !errors.Is(err, processes.ErrNoProcess) || f.Name != "" {
		t.Errorf("facts of the process after it: %+v, %v", f, err)
	}
	refused(t, processes.Target{PID: pid, ExpectStart: start, Force: true}, fault.ProcessChanged, "its start_id is")
	var known *fault.Error
	if _, err := held.Do(t.Context()); !errors.As(err, &known) || known.Code != fault.ProcessNotFound || !strings.Contains(known.Message, "ended by itself") {
		t.Errorf("a plan for the process before: %v", err)
	}
	if !alive(pid) {
		t.Error("the process after it has ended")
	}
}

func TestNamesAreComparedAsTheyAreShown(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for name, shown := range map[string]string{
		"a) R 1\n(b\x1b[31m":      "a) R 1 (b\uFFFD[31m",
		"averylongnameofaprogram": "averylongnameofaprogram",
		"\u202egpj.exe":           "\uFFFDgpj.exe",
	} {
		path := filepath.Join(t.TempDir(), name)
		copyFile(t, "/bin/sleep", path)
		pid := run(t, exec.Command(path, "60"))
		refused(t, processes.Target{PID: pid, ExpectName: "sleep"}, fault.ProcessChanged, `its name is "`+shown+`", not "sleep`)
		if got := kill(t, processes.Target{PID: pid, ExpectName: shown}); got.ProcessName != shown {
			t.Errorf("%q is shown as %q", name, got.ProcessName)
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
}

// planFrom plans in a child of the shell script that runs it as "$0".
func planFrom(t *testing.T, script string) verdict {
	t.Helper()
	cmd := exec.Command("sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), childMark+"=planner")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var v verdict
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAncestorsNeedForce(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for script, want := range map[string]string{
		`"$0" $$; true`:                     "the parent of this sentinel run",
		`top=$$; (("$0" $top; true); true)`: "an ancestor of this sentinel run",
	} {
		if v := planFrom(t, script); v.Code != fault.ProtectedProcess || !strings.Contains(v.Message, want) {
			t.Errorf("%s: %+v", script, v)
		}
	}
	if v := planFrom(t, `"$0" $$ force; true`); v.Code != "" || !strings.Contains(v.Summary, "would be sent SIGKILL") {
		t.Errorf("with force: %+v", v)
	}
	if v := planFrom(t, `sleep 60 >/dev/null & "$0" $!; kill $!`); v.Code != "" {
		t.Errorf("a sibling: %+v", v)
	}
}

// Anyone can give a program the name of a daemon, so the name protects only processes of root.
func TestNameOfADaemonProtectsRootsAlone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	os.Chmod(filepath.Dir(dir), 0o755)
	for _, name := range []string{"sshd", "systemd-logind", "containerd-shim-runc-v2", "gnome-shell"} {
		path := filepath.Join(dir, name)
		copyFile(t, "/bin/sleep", path)
		os.Chown(path, testenv.Nobody, testenv.Nobody)
		others := exec.Command(path, "60")
		others.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testenv.Nobody, Gid: testenv.Nobody}}
		kill(t, processes.Target{PID: run(t, others)})
		if name == "systemd-logind" {
			continue // which counts where systemd keeps it
		}
		roots := run(t, exec.Command(path, "60"))
		refused(t, processes.Target{PID: roots}, fault.ProtectedProcess, `"`+name+`" (PID `)
		kill(t, processes.Target{PID: roots, Force: true})
	}
}

func TestUserMayNotEndOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	roots := sleeper(t)
	testenv.Become(t, testenv.Nobody)
	refused(t, processes.Target{PID: roots}, fault.PermissionDenied, `may not end "sleep"`)
	if !alive(roots) {
		t.Error("it has ended")
	}
}

// tree starts processes of all kinds below this one and returns their PIDs.
func tree(t *testing.T) []int {
	t.Helper()
	pids := []int{sleeper(t), run(t, exec.Command("sh", "-c", "sleep 60 & sleep 60 & sh -c 'sleep 60 & wait' & wait"))}
	for _, kind := range []string{"threads", "headless", "stubborn"} {
		pid, _ := child(t, kind)
		pids = append(pids, pid)
	}
	run(t, exec.Command("sh", "-c", "/bin/true & exec sleep 60"))
	return pids
}

// living returns every process that has a living thread.
func living(t *testing.T) map[int]string {
	t.Helper()
	found := map[int]string{}
	whole, _ := table(t, New("/"))
	for _, p := range whole.Samples {
		if alive(p.PID) {
			found[p.PID] = p.Name
		}
	}
	return found
}

func TestNothingButTheProcessEnds(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	tree(t)
	testenv.WaitFor(t, "tree", func() bool { return len(living(t)) >= 11 })
	highest := slices.Max(slices.Collect(maps.Keys(living(t)))) + 100
	ended := 0
	for range 300 {
		before := living(t)
		pid := rand.IntN(highest) + 1
		if some := slices.Collect(maps.Keys(before)); rand.IntN(4) == 0 {
			pid = some[rand.IntN(len(some))]
		}
		p, err := processes.PlanTermination(t.Context(), NewTerminator("/"), processes.Target{PID: pid, Force: rand.IntN(2) == 0}, nil)
		if err == nil {
			_, err = p.Do(t.Context())
			p.Close()
		}
		if err == nil {
			ended++
			if _, was := before[pid]; !was {
				t.Errorf("%d did not live and was ended", pid)
			}
			delete(before, pid)
		}
		after := living(t)
		for pid, name := range before {
			if _, lives := after[pid]; !lives && !endsByItself(name) {
				t.Fatalf("%s (%d) has ended with %d: %v", name, pid, pid, err)
			}
		}
		if len(after) < 8 {
			tree(t)
		}
	}
	if ended < 10 {
		t.Errorf("only %d processes were ended", ended)
	}
}

// endsByItself names what is there for a moment, and the shells that wait for it.
func endsByItself(name string) bool { return name == "sh" || name == "true" }
