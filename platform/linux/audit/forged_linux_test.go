// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/network"
	linuxprocesses "sentinel/platform/linux/processes"
)

// open is a packet filter that lets everything in.
var open = packetFilter{firewall.Facts{}}

// here asks one check of the system that the test runs in, as root.
func here(t *testing.T, id string) audit.Finding {
	t.Helper()
	return one(t, id, Parts{Root: "/", Sockets: network.New("/"), Firewall: open, GonePrograms: linuxprocesses.New("/").GonePrograms})
}

// listenAt lets a process of a user listen with n sockets at one port, until the test ends. Nobody ever
// connects.
func listenAt(t *testing.T, uid, port, n int) {
	t.Helper()
	var files []*os.File
	for i := range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Port: port})
		}
		if err == nil {
			err = unix.Listen(fd, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, os.NewFile(uintptr(fd), strconv.Itoa(i)))
	}
	sleeperAs(t, uid, "/bin/sleep", "sleep", files...)
	for _, f := range files {
		f.Close()
	}
}

// Forty thousand listeners of a user do not hide telnet, at ports of no service or at those of one.
func TestAFloodOfListenersDoesNotHideTelnet(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for i := range 50 { // one process may not have that many
		listenAt(t, 1000, 30_000+i, 800)
	}
	if f := here(t, "services.cleartext"); f.Status != audit.Pass {
		t.Errorf("without telnet: %+v", f)
	}
	if f := here(t, "services.exposed"); f.Status != audit.Warn || !strings.Contains(f.Value, "; not all was read: more than 5000 sockets listen") {
		t.Errorf("%+v", f)
	}
	listenAt(t, 0, 23, 1)
	if f := here(t, "services.cleartext"); f.Status != audit.Fail || f.Value != "1 service without encryption listens: telnet" {
		t.Errorf("behind a flood: %+v", f)
	}
}

// sleeperAs runs a copy of sleep as a user, who calls it what it likes: the file, the name, and the
// arguments. It holds the open files.
func sleeperAs(t *testing.T, uid int, file, argv0 string, held ...*os.File) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), file, "600")
	c.Args[0], c.ExtraFiles = argv0, held
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Process.Kill(), c.Wait()); err == nil {
			t.Error("it ended by itself")
		}
	})
	return c
}

func TestAListenerIsNotSSHForItsName(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "sshd", "openssh-server") // whose options are those of the command line below
	const folder = "/mnt/x"
	mounted(t, "/mnt")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	copyOf(t, "/bin/sleep", folder+"/sshd", 0o755)
	for what, c := range map[string]struct {
		folderOf, runs int
		want           audit.Status
	}{"root's": {0, 0, audit.Pass}, "root's file, started by a user": {0, 1000, audit.Warn}, "a user's": {1000, 0, audit.Warn}} {
		t.Run(what, func(t *testing.T) {
			if err := os.Lchown(folder, c.folderOf, c.folderOf); err != nil {
				t.Fatal(err)
			}
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "0.0.0.0:2222")
			if err != nil {
				t.Fatal(err)
			}
			file, err := listener.(*net.TCPListener).File()
			if err != nil {
				t.Fatal(err)
			}
			sleeperAs(t, c.runs, folder+"/sshd", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", file)
			if err := errors.Join(listener.Close(), file.Close()); err != nil {
				t.Fatal(err)
			}
			if f := here(t, "services.exposed"); f.Status != c.want {
				t.Errorf("%+v", f)
			}
		})
	}
}

// mounted puts an empty file system at a folder, in the mount namespace of the test.
func mounted(t *testing.T, at string) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
}

// memory starts a program from memory with a name.
func memory(t *testing.T, name, program string) {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		t.Fatal(err)
	}
	sleeperAs(t, 0, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), "runc")
}

// Only memory that holds runc is runc's.
func TestMemoryIsNotRuncForItsName(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/usr/local/sbin")
	sleep, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	almost := append(bytes.Clone(sleep[:len(sleep)-1]), ^sleep[len(sleep)-1])
	for _, c := range []struct {
		what, file string
		content    []byte
		called     string
		is         bool
	}{
		{"runc", "runc", sleep, "runc_cloned:/proc/self/exe", true},
		{"crun", "crun", sleep, "crun_cloned:/proc/self/exe", true},
		{"another size", "runc", []byte("runc"), "runc_cloned:/proc/self/exe", false},
		{"another byte", "crun", almost, "crun_cloned:/proc/self/exe", false},
		{"another program's name", "runc", sleep, "crun_cloned:/proc/self/exe", false},
		{"another name", "runc", sleep, "runc", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			file := "/usr/local/sbin/" + c.file
			if err := os.WriteFile(file, c.content, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(file) })
			memory(t, c.called, "/bin/sleep")
			f := here(t, "processes.program_gone")
			if told := strings.Contains(strings.Join(f.Evidence, "\n"), "/memfd:"+c.called); told == c.is || (f.Status == audit.Fail) == c.is {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Who starts very many is told of: to compare them all takes longer than a check has.
func TestNoMoreClonesAreComparedThanTheirBound(t *testing.T) {
	m := &machine{Parts: Parts{Root: t.TempDir()}}
	all := make([]runningProcess, maxClones+1)
	for i := range all { // they have ended
		all[i] = runningProcess{pid: 1 + i, name: "6", program: "/memfd:crun_cloned:/proc/self/exe (deleted)"}
	}
	if f := m.judgeDeleted(t.Context(), all[:maxClones], nil); f.Status != audit.Pass {
		t.Errorf("%+v", f)
	}
	if f := m.judgeDeleted(t.Context(), all, nil); f.Status != audit.Fail || len(f.Evidence) != 1 {
		t.Errorf("%+v", f)
	}
}

// Who only has the size of a program costs one block of it.
func TestWhatDiffersIsNotReadOn(t *testing.T) {
	const size = 1 << 20
	one, other := bytes.NewReader(make([]byte, size)), bytes.NewReader(append([]byte{1}, make([]byte, size-1)...))
	if sameContent(one, other) || one.Len() < size/2 || other.Len() < size/2 {
		t.Errorf("%d and %d bytes are left", one.Len(), other.Len())
	}
	for _, c := range []struct {
		one, other int
		same       bool
	}{{0, 0, true}, {size, size, true}, {size + 1, size + 1, true}, {size, size + 1, false}, {size + 1, size, false}, {0, 1, false}, {1, 0, false}} {
		if sameContent(bytes.NewReader(make([]byte, c.one)), bytes.NewReader(make([]byte, c.other))) != c.same {
			t.Errorf("%d and %d bytes: same %t", c.one, c.other, !c.same)
		}
	}
}

// A set-user-ID program that a user started under the name of a service is not that service.
func TestAServiceDoesNotRunForItsName(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/bin/sleep", "/mnt/lent", 0o755)
	if err := errors.Join(os.Chmod("/mnt/lent", 0o755|os.ModeSetuid), os.Symlink("lent", "/mnt/auditd")); err != nil {
		t.Fatal(err)
	}
	sleeperAs(t, 1000, "/mnt/auditd", "auditd")
	m := &machine{Parts: Parts{Root: "/"}}
	all, err := m.processTable(context.Background())
	if p, found := all.daemon(m, "auditd"); err != nil || found {
		t.Errorf("%+v is auditd, %v", p, err)
	}
	copyOf(t, "/bin/sleep", "/mnt/auditbeat", 0o755)
	sleeperAs(t, 0, "/mnt/auditbeat", "x")
	m = &machine{Parts: Parts{Root: "/"}}
	if all, err = m.processTable(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, found := all.daemon(m, "auditbeat"); !found {
		t.Error("auditbeat does not run")
	}
}

// What root sees of paths that users chose is what these users see.
func TestNobodyAsksRootForFilesOfOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	mounted(t, "/home")
	const home = "/home/mallory"
	secret := "/mnt/secret"
	for _, err := range []error{
		os.WriteFile("/mnt/passwd", []byte("root:x:0:0::/root:/bin/sh\nmallory:x:1000:1000::"+home+":/bin/sh\n"), 0o644),
		unix.Mount("/mnt/passwd", "/etc/passwd", "", unix.MS_BIND, ""),
		os.MkdirAll(home+"/.cursor", 0o755), os.Mkdir(secret, 0o700),
		os.WriteFile(secret+"/there", nil, 0o666), os.Chmod(secret+"/there", 0o666), // what a check would object to
		os.Symlink(secret, home+"/.ssh"),
		os.Mkdir(secret+"/authorized_keys", 0o777), os.Chmod(secret+"/authorized_keys", 0o777),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	verdicts := func(path string) string {
		config := fmt.Sprintf(`{"mcpServers": {"x": {"command": %q}}}`, path)
		if err := os.WriteFile(home+"/.cursor/mcp.json", []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, id := range []string{"mcp.config", "mcp.command", "mcp.missing", "files.homes"} {
			text = append(text, strings.ReplaceAll(fmt.Sprintf("%+v", here(t, id)), path, "PATH"))
		}
		return strings.Join(text, "\n")
	}
	if err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, 1000, 1000))
	}); err != nil {
		t.Fatal(err)
	}
	there, missing := verdicts(secret+"/there"), verdicts(secret+"/missing")
	if there != missing || strings.Contains(there, "authorized_keys") {
		t.Errorf("a file that is there:\n%s\nand one that is not:\n%s", there, missing)
	}
	if seen := verdicts("/bin/sh"); strings.Contains(seen, "PATH") {
		t.Errorf("a program that everybody sees:\n%s", seen)
	}
}

// In a mount namespace of its own a process of a user has any path that the user likes. Whether root
// has a file there is not told.
func TestTheNameOfAProgramThatIsGoneTellsNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	if err := errors.Join(os.Mkdir("/mnt/secret", 0o700), os.WriteFile("/mnt/secret/there", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	l, end := (&machine{Parts: Parts{Root: "/"}}).looks(t.Context())
	defer end()
	for uid, want := range map[int]bool{0: true, 1000: false} {
		if l.replaced(runningProcess{uid: uid}, "/mnt/secret/there") != want {
			t.Errorf("user %d: not %v", uid, want)
		}
	}
}

// A port that the kernel gives to clients hides no server, and a port of a client no other program.
func TestAPortOfClientsHidesNoServer(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/bin/sleep", "/mnt/chronyd", 0o755)
	copyOf(t, "/bin/sleep", "/mnt/other", 0o755)
	for what, c := range map[string]struct {
		port, uid int
		program   string
		want      string
	}{
		"a client":                     {45000, 0, "/mnt/chronyd", "Nothing but SSH; 1 socket of clients of the system left out"},
		"of an account of the system":  {45001, 123, "/mnt/chronyd", "Nothing but SSH; 1 socket of clients of the system left out"},
		"a server of a user":           {51820, 1000, "/mnt/other", "1 port beside SSH: 51820/udp"},
		"a client that a user started": {45002, 1000, "/mnt/chronyd", "1 port beside SSH: 45002/udp"},
		"beyond the clients' ports":    {61000, 0, "/mnt/chronyd", "1 port beside SSH: 61000/udp"},
		"a port of time":               {123, 0, "/mnt/chronyd", "Nothing but SSH; 1 socket of clients of the system left out"},
		"another program there":        {323, 0, "/mnt/other", "1 port beside SSH: 323/udp"},
	} {
		t.Run(what, func(t *testing.T) {
			socket, err := net.ListenUDP("udp4", &net.UDPAddr{Port: c.port})
			if err != nil {
				t.Fatal(err)
			}
			file, err := socket.File()
			if err != nil {
				t.Fatal(err)
			}
			sleeperAs(t, c.uid, c.program, "x", file)
			if err := errors.Join(socket.Close(), file.Close()); err != nil {
				t.Fatal(err)
			}
			if f := here(t, "services.exposed"); f.Value != c.want {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A listener that is on its way from one process to another is of no process, and of its user all the same.
func TestAListenerOnItsWayIsItsUsers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(ends[0]); unix.Close(ends[1]) })
	for uid, port := range map[int]int{0: 6379, 33: 27017, 1500: 5432} {
		fd := listensAs(t, uid, port)
		if err := unix.Sendmsg(ends[0], []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
	m := &machine{Parts: Parts{Root: "/"}}
	f := here(t, "services.internal")
	want := []string{
		"tcp 0.0.0.0:5432: of user 1500, whose process was not found",
		"tcp 0.0.0.0:6379: of the kernel, or of another namespace",
		"tcp 0.0.0.0:27017: of user " + m.userNamed(33) + ", whose process was not found",
	}
	slices.Sort(want)
	slices.Sort(f.Evidence)
	if f.Status != audit.Fail || !slices.Equal(f.Evidence, want) {
		t.Errorf("%+v, want %q", f, want)
	}
}

// listensAs makes a listening socket as a user, on a thread that ends.
func listensAs(t *testing.T, uid, port int) (fd int) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		const same = ^uintptr(0)
		if _, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); failed != 0 {
			done <- failed
			return
		}
		var err error
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Port: port}), unix.Listen(fd, 1))
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return fd
}
