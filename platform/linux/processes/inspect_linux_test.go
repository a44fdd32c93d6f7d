// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

func inspected(t *testing.T, pid int) processes.Inspection {
	t.Helper()
	i, err := processes.Inspect(t.Context(), NewInspector("/", nil, time.Now), pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func kinds(list []processes.KindCount) map[string]int {
	all := map[string]int{}
	for _, k := range list {
		all[k.Kind] = k.Count
	}
	return all
}

func codes(i processes.Inspection) []string {
	var all []string
	for _, n := range i.Notable {
		all = append(all, n.Code)
	}
	return all
}

// holder starts a process that has a removed file, a listening socket and a pipe open.
func holder(t *testing.T) (pid int, file, address string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "grown.log")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, 3<<20), os.Remove(file)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	cmd := exec.Command("/bin/sleep", "--", "600")
	cmd.Env = []string{"SECRET_OF_THE_ENVIRONMENT=1"}
	cmd.ExtraFiles = []*os.File{f, socket}
	return run(t, cmd), file, l.Addr().String()
}

func TestAProcessIsDescribedWhole(t *testing.T) {
	pid, file, address := holder(t)
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	testenv.WaitFor(t, "the process as it will be", func() bool { return inspected(t, pid).Status == "sleeping" })
	i := inspected(t, pid)
	if i.Name != "sleep" || i.Command != "/bin/sleep -- 600" || i.ChildrenAll != 0 || i.Threads != 1 || i.AgeSeconds == nil || i.StartedAt == nil {
		t.Errorf("%+v", i)
	}
	if len(i.Ancestry) == 0 || i.Ancestry[0].PID != os.Getpid() || i.StartedBy.How == "" {
		t.Errorf("parents %+v, started by %+v", i.Ancestry, i.StartedBy)
	}
	if i.WaitsFor == "" || !strings.HasPrefix(i.WaitsFor, "sleeps for a time that it chose") {
		t.Errorf("waits for %q", i.WaitsFor)
	}
	if i.Memory == nil || i.Memory.ResidentMB <= 0 || i.Memory.SwapMB == nil || i.Memory.OOMScore == nil {
		t.Errorf("memory %+v", i.Memory)
	}
	if p := i.Program; p == nil || !strings.HasSuffix(p.Path, "/sleep") || p.State != "present" || p.ModifiedAt == nil || p.ChangedSince {
		t.Errorf("program %+v", p)
	}
	if f := i.OpenFiles; f == nil || kinds(f.ByKind)["removed"] != 1 || kinds(f.ByKind)["socket"] != 1 || f.Files[0].Path != file || f.Files[0].SizeMB == nil || *f.Files[0].SizeMB != 3 {
		t.Errorf("files %+v", f)
	}
	if s := i.Sockets; s == nil || s.Total != 1 || len(s.Sockets) != 1 || s.Sockets[0] != (processes.ProcessSocket{Protocol: "TCP", State: "LISTEN", Local: address}) {
		t.Errorf("sockets %+v", s)
	}
	if !slices.ContainsFunc(i.Limits, func(l processes.Limit) bool { return l.Name == "Max open files" && l.Soft != nil }) {
		t.Errorf("limits %+v", i.Limits)
	}
	if text := strings.Join(append(codes(i), i.Summary), " "); strings.Contains(text, "SECRET") || len(i.Notable) != 0 {
		t.Errorf("notable %+v, %q", i.Notable, i.Summary)
	}
	own := inspected(t, os.Getpid())
	if !slices.ContainsFunc(own.Children, func(k processes.Kin) bool { return k.PID == pid }) || own.ChildrenAll < 1 || own.Descendants < own.ChildrenAll {
		t.Errorf("children %+v of %d", own.Children, own.ChildrenAll)
	}
}

// What dpkg shipped is told from a copy with another content under the same name.
func TestTheProgramIsThatOfItsPackage(t *testing.T) {
	_, err := exec.LookPath("dpkg-query")
	testenv.Need(t, err == nil, "no dpkg here")
	pid := sleeper(t)
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	testenv.WaitFor(t, "the process as it will be", func() bool { return inspected(t, pid).Name == "sleep" })
	p := inspected(t, pid).Program
	if p.Package != "coreutils" || p.OfPackage == nil || !*p.OfPackage || p.AsPackaged == nil || !*p.AsPackaged {
		t.Errorf("%+v", p)
	}
}

// copied starts a copy of sleep at a path.
func copied(t *testing.T, path, title string) int {
	t.Helper()
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "600")
	cmd.Args[0] = title
	pid := run(t, cmd)
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	return pid
}

func TestAReplacedProgramIsNoHidingOne(t *testing.T) {
	removed := filepath.Join(t.TempDir(), "removed")
	pid := copied(t, removed, removed)
	testenv.WaitFor(t, "the program to run", func() bool { return inspected(t, pid).Name == "removed" })
	if err := os.Remove(removed); err != nil {
		t.Fatal(err)
	}
	if i := inspected(t, pid); i.Program.State != processes.Removed || slices.Contains(codes(i), "RESTART_WANTED") {
		t.Errorf("%+v, %+v", i.Program, i.Notable)
	}
	updated := filepath.Join(t.TempDir(), "updated")
	pid = copied(t, updated, updated)
	testenv.WaitFor(t, "the program to run", func() bool { return inspected(t, pid).Name == "updated" })
	if err := errors.Join(os.WriteFile(updated+".new", nil, 0o755), os.Rename(updated+".new", updated)); err != nil {
		t.Fatal(err)
	}
	if i := inspected(t, pid); i.Program.State != "replaced" || !slices.Contains(codes(i), "RESTART_WANTED") {
		t.Errorf("%+v, %+v", i.Program, i.Notable)
	}
}

func TestAProcessThatCallsItselfADaemonIsCritical(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Args[0] = "/usr/sbin/sshd"
	pid := run(t, cmd)
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	testenv.WaitFor(t, "the process as it will be", func() bool { return strings.HasPrefix(inspected(t, pid).Command, "/usr/sbin/sshd") })
	i := inspected(t, pid)
	if len(i.Notable) == 0 || i.Notable[0].Code != "FALSE_NAME" || i.Notable[0].Severity != "critical" || !strings.Contains(i.Notable[0].Message, `calls itself sshd and runs "/`) {
		t.Errorf("%+v", i.Notable)
	}
}

func TestWaitsAreToldInWords(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a pipe":  {"exec /bin/cat", "waits to read from a pipe (descriptor 0)"},
		"a child": {"/bin/sleep 600; :", "waits for a child to end"},
		"a lock":  {"exec 9<>$1; exec flock 9", "waits for somebody else's lock on a file (descriptor 9"},
		"a stop":  {"kill -STOP $$", "a signal to continue"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "lock")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", c.script, "sh", file)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			pid := run(t, cmd)
			t.Cleanup(func() { unix.Kill(-pid, unix.SIGKILL) })
			testenv.WaitFor(t, "the process as it will be", func() bool { return strings.HasPrefix(inspected(t, pid).WaitsFor, c.want) })
		})
	}
}

func TestAThreadAndNobodyAreNoProcess(t *testing.T) {
	s := NewInspector("/", nil, time.Now)
	for _, path := range []string{"/proc/self/task"} {
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			id, _ := strconv.Atoi(e.Name())
			var thread *processes.ThreadError
			if _, err := s.Inspect(t.Context(), id); id != os.Getpid() && !errors.As(err, &thread) && !errors.Is(err, processes.ErrNoProcess) {
				t.Errorf("thread %d: %v", id, err)
			}
		}
	}
	if _, err := s.Inspect(t.Context(), 4194304); !errors.Is(err, processes.ErrNoProcess) {
		t.Errorf("nobody: %v", err)
	}
}

// Who moves to another network keeps the sockets that it had.
func TestSocketsOfAProcessThatMovedAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:4444")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.Command("sleep", "60")
	c.ExtraFiles, c.SysProcAttr = []*os.File{file}, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	s := inspected(t, run(t, c)).Sockets
	if want := []processes.ProcessSocket{{Protocol: "TCP", State: "LISTEN", Local: "127.0.0.1:4444"}}; s == nil || !slices.Equal(s.Sockets, want) {
		t.Errorf("%+v", s)
	}
}

// A user sees what is public of a process of root, and is told what is not.
func TestOthersAreSeenInPart(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "needs root")
	if os.Getenv("INSPECT_AS_USER") == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestOthersAreSeenInPart$", "-test.v")
		cmd.Env = append(os.Environ(), "INSPECT_AS_USER=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	pid := sleeper(t)
	defer unix.Kill(pid, unix.SIGKILL)
	if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(65534, 65534, 65534), unix.Setresuid(65534, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	i := inspected(t, pid)
	missing := map[string]bool{}
	for _, g := range i.Unavailable {
		missing[g.Field] = strings.Contains(g.Reason, "another user's")
	}
	if i.User != "root" || i.Command != "sleep 60" || i.Memory == nil || len(i.Limits) == 0 || i.Program != nil || i.OpenFiles != nil || !missing["program"] || !missing["open_files"] || !missing["sockets"] {
		t.Errorf("%+v", i)
	}
}

// What is registered with io_uring and has no descriptor is told with what is open.
func TestRegisteredFilesOfAProcessAreTold(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	long := filepath.Join(t.TempDir(), strings.Repeat("0123456789abcdef", 4)) // more than of a link is read at first
	gone, err := unix.Open(long, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err := errors.Join(err, os.Remove(long)); err != nil {
		t.Fatal(err)
	}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 4444}), unix.Listen(listener, 1)); err != nil {
		t.Fatal(err)
	}
	testenv.Register(t, gone)
	testenv.Register(t, listener)
	told := false
	_, err = procfs.New("/").OpenFiles(t.Context(), []int{os.Getpid()}, func(f procfs.OpenFile) bool {
		told = told || f.Registered()
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, told, "Linux 6.14 tells what is registered with io_uring")
	i := inspected(t, os.Getpid())
	if f := i.OpenFiles; f == nil || len(f.Files) == 0 || f.Files[0] != (processes.OpenFile{FD: -1, Kind: processes.Removed, Path: long}) {
		t.Errorf("files %+v", f)
	}
	if s := i.Sockets; s == nil || !slices.Contains(s.Sockets, processes.ProcessSocket{Protocol: "TCP", State: "LISTEN", Local: "127.0.0.1:4444"}) {
		t.Errorf("sockets %+v", s)
	}
}

// What a set-user-ID program has open is not its caller's to see, whoever started it.
func TestFilesOfAProcessAreItsEffectiveUsers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Need(t, privilege.IsRoot(), "root, who changes users")
	c := exec.Command("setpriv", "--ruid", "1000", "--clear-groups", "sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "sleep runs", func() bool {
		p, err := procfs.New("/").Process(c.Process.Pid)
		return err == nil && p.Name == "sleep"
	})
	o, err := NewInspector("/", nil, time.Now).Inspect(t.Context(), c.Process.Pid)
	if err != nil || o.UserID != 1000 || o.FilesOf != 0 {
		t.Errorf("user %d, files of %d, %v", o.UserID, o.FilesOf, err)
	}
}

// Everybody can give a file a time for which RFC 3339 has no form.
func TestAProgramOfNoDateIsToldWithoutOne(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("dated", 0)
	if err != nil {
		t.Fatal(err)
	}
	memory := os.NewFile(uintptr(fd), "memory")
	if _, err := memory.Write(content); err != nil {
		t.Fatal(err)
	}
	never := unix.Timespec{Sec: 1 << 40}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{never, never}, 0); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/proc/self/fd/3", "600")
	c.Args[0], c.ExtraFiles = "sleep", []*os.File{memory}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait(); memory.Close() })
	i := inspected(t, c.Process.Pid)
	if _, err := json.Marshal(i); err != nil || i.Program == nil || i.Program.ModifiedAt != nil || !slices.ContainsFunc(i.Unavailable, func(g answer.Gap) bool { return g.Field == "program.modified_at" }) {
		t.Errorf("%v: %+v, not known: %v", err, i.Program, i.Unavailable)
	}
}

func TestALoginIsBelievedBesideAnotherFact(t *testing.T) {
	for _, c := range []struct {
		login, user int
		group       string
		want        bool
	}{
		{1000, 1000, "/system.slice/cron.service", true},
		{1000, 0, "/user.slice/user-1000.slice/session-3.scope", true},
		{0, 1000, "/system.slice/web.service", false},
		{0, 1000, "/user.slice/user-1000.slice/session-3.scope", false},
		{100, 1000, "/user.slice/user-1000.slice/session-3.scope", false},
		{0, 1000, "", false},
	} {
		if got := loggedIn(c.login, c.user, c.group); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
