// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/sessions"
	"sentinel/internal/sshserver"
	"sentinel/internal/testenv"
)

// Machines: this one, and a peer in a network namespace that has several addresses.
const (
	here, relay, ann, bob, eve = "192.0.2.1", "192.0.2.9", "192.0.2.21", "192.0.2.22", "192.0.2.66"
	proxied, prompted          = "192.0.2.23", "192.0.2.24"
	annUID                     = 4711
)

// A site is a server of OpenSSH here, and what is needed to log in from the peer.
type site struct {
	t   *testing.T
	dir string
}

func newSite(t *testing.T) *site {
	t.Helper()
	testenv.RequireIsolated(t)
	s := &site{t: t, dir: t.TempDir()}
	os.Chmod(filepath.Dir(s.dir), 0o755)
	os.Chmod(s.dir, 0o755)
	for _, command := range []string{
		"mount -t tmpfs -o mode=755 tmpfs /run", "mkdir -p /run/netns /run/sshd", "ip netns add peer",
		"ip link add d0 type veth peer name p0 netns peer", "ip addr add " + here + "/24 dev d0", "ip link set d0 up",
		"ip -n peer link set lo up", "ip -n peer link set p0 up",
		"ip -n peer addr add " + relay + "/24 dev p0", "ip -n peer addr add " + ann + "/24 dev p0",
		"ip -n peer addr add " + proxied + "/24 dev p0", "ip -n peer addr add " + prompted + "/24 dev p0",
		"ip -n peer addr add " + bob + "/24 dev p0", "ip -n peer addr add " + eve + "/24 dev p0",
		"ssh-keygen -q -t ed25519 -f " + s.dir + "/host -N", "ssh-keygen -q -t ed25519 -f " + s.dir + "/key -N",
	} {
		words := strings.Fields(command)
		if words[len(words)-1] == "-N" {
			words = append(words, "")
		}
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	os.Chmod(s.dir+"/key.pub", 0o644)
	s.ownRecords()
	s.account("ann", annUID)
	s.home()
	s.server("", "2201")
	return s
}

// ownRecords keeps the logins of the servers out of the machine's own records.
func (s *site) ownRecords() {
	if err := syscall.Mount("none", "/var/log", "tmpfs", 0, ""); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"/var/log/wtmp", "/var/log/lastlog", s.dir + "/utmp"} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := os.Stat("/run/utmp"); err != nil {
		return // then nobody writes it
	}
	if err := syscall.Mount(s.dir+"/utmp", "/run/utmp", "", syscall.MS_BIND, ""); err != nil {
		s.t.Fatal(err)
	}
}

// home is of every person, and below no directory that others may write to.
const home = "/run/home"

// home makes it, with the key of the client.
func (s *site) home() {
	s.t.Helper()
	key, err := os.ReadFile(s.dir + "/key.pub")
	if err == nil {
		err = os.MkdirAll(home+"/.ssh", 0o755)
	}
	if err == nil {
		err = os.WriteFile(home+"/.ssh/authorized_keys", key, 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// account adds a person to a copy of the machine's accounts.
func (s *site) account(name string, uid int) {
	for file, line := range map[string]string{
		"passwd": fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, uid, uid, home),
		"shadow": name + ":*:19000::::::\n",
	} {
		raw, err := os.ReadFile("/etc/" + file)
		if err != nil {
			s.t.Fatal(err)
		}
		copied := filepath.Join(s.dir, file)
		if err := os.WriteFile(copied, append(raw, line...), 0o644); err != nil {
			s.t.Fatal(err)
		}
		if err := syscall.Mount(copied, "/etc/"+file, "", syscall.MS_BIND, ""); err != nil {
			s.t.Fatal(err)
		}
	}
}

// server starts an SSH server here or in the peer.
func (s *site) server(place, port string) {
	s.t.Helper()
	s.start(place, nil, "/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", s.dir+"/host", "-p", port, "-o", "PidFile=none", "-o", "UsePAM=no",
		"-o", "PermitRootLogin=yes", "-o", "StrictModes=no", "-o", "AuthorizedKeysFile="+s.dir+"/key.pub")
	s.listens(place, port)
}

// listens waits until something accepts at a port.
func (s *site) listens(place, port string) {
	s.t.Helper()
	address := map[string]string{"": "127.0.0.1", "peer": "127.0.0.1"}[place]
	testenv.WaitFor(s.t, "a server at "+port, func() (ok bool) {
		at(s.t, place, func() {
			c, err := net.Dial("tcp", net.JoinHostPort(address, port))
			if ok = err == nil; ok {
				c.Close()
			}
		})
		return ok
	})
}

func at(t *testing.T, place string, do func()) {
	t.Helper()
	if place == "" {
		do()
		return
	}
	testenv.InNetworkNamespace(t, "/run/netns/"+place, do)
}

// start starts a program that runs until the test ends, with attributes if there are any.
func (s *site) start(place string, change func(*exec.Cmd), words ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	s.t.Helper()
	if place != "" {
		words = append([]string{"ip", "netns", "exec", place}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stderr = s.log(words)
	if change != nil {
		change(cmd)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, in, bufio.NewReader(out)
}

// log shows what a program complained about where the test fails.
func (s *site) log(words []string) io.Writer {
	f, err := os.CreateTemp(s.dir, "log")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if raw, _ := os.ReadFile(f.Name()); s.t.Failed() && len(raw) > 0 {
			s.t.Logf("%s: %s", strings.Join(words, " "), raw[:min(len(raw), 2000)])
		}
		f.Close()
	})
	return f
}

// ssh logs in at a port from one of the peer's addresses and runs a command, which first prints the
// PID that it will have.
func (s *site) ssh(place, from, to, port string, options ...string) (pid int) {
	s.t.Helper()
	words := s.sshWords(from, to, port, "echo in $$; exec sleep 600")
	words = slices.Insert(words, 1, options...)
	_, _, out := s.start(place, nil, words...)
	line, err := out.ReadString('\n')
	if _, bad := fmt.Sscanf(line, "in %d", &pid); err != nil || bad != nil {
		s.t.Fatalf("%v: %q, %v", words, line, err)
	}
	testenv.WaitFor(s.t, "the shell to be sleep", func() bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return err == nil && string(name) == "sleep\n"
	})
	return pid
}

// model reads the machine as a run sees it that the process started.
func model(t *testing.T, self int) *sessions.Model {
	t.Helper()
	r := New("/")
	r.self = self
	m, err := r.Model(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// whose sums up whose sessions the addresses carry.
func whose(m *sessions.Model) string {
	var list []string
	for a, c := range m.Addresses {
		list = append(list, fmt.Sprint(a, " ", []string{"others'", "possibly own", "own"}[c.Whose()]))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// Each server is a real one, and the model knows the name of none but OpenSSH.
func TestSessionsOfRealServersAreFound(t *testing.T) {
	for program, name := range map[string]string{"sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2"} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	knock(t, eve, net.JoinHostPort(here, "2201"))
	own := s.ssh("peer", ann, here, "2201", "-tt")
	other := s.ssh("peer", bob, here, "2201") // without a terminal
	if m := model(t, own); m.Processes[own].Whose() != sessions.Own || m.Processes[other].Sessions == nil {
		t.Errorf("the shells that sessions end with: %v, %v", m.Processes[own], m.Processes[other])
	}
	if got, want := whose(model(t, own)), ann+" own, "+bob+" others'"; got != want {
		t.Errorf("OpenSSH: %s, want %s", got, want)
	}
	if got, want := whose(model(t, os.Getpid())), ann+" possibly own, "+bob+" possibly own"; got != want {
		t.Errorf("seen from outside: %s, want %s", got, want)
	}
	t.Run("another container", func(t *testing.T) { s.anotherContainer(t, own) })
	t.Run("a reverse tunnel", func(t *testing.T) { s.reverseTunnel(t, own) })
	t.Run("a proxy", s.proxy)
	t.Run("a program that lends an account", s.lending)
	t.Run("no network", s.withoutNetwork)
}

// withoutNetwork logs in at an sshd whose connection is none of the network, of which a session manager records
// no other host (PAM_RHOST=UNKNOWN).
func (s *site) withoutNetwork(t *testing.T) {
	command := "ProxyCommand=/usr/sbin/sshd -i -f /dev/null -h " + s.dir + "/host -o UsePAM=no -o PermitRootLogin=yes -o StrictModes=no -o AuthorizedKeysFile=" + s.dir + "/key.pub"
	shell := s.ssh("", "", "127.0.0.1", "22", "-tt", "-o", command)
	own, err := New("/").proc.Process(shell)
	if err != nil {
		t.Fatal(err)
	}
	part, err := New("/").proc.Process(own.ParentPID)
	if err != nil {
		t.Fatal(err)
	}
	leader, err := New("/").proc.Process(part.ParentPID)
	if err != nil || !sshserver.Is(leader.Name) {
		t.Fatal(leader, err)
	}
	record := fmt.Sprintf("UID=4711\nUSER=ann\nREMOTE=1\nTYPE=tty\nCLASS=user\nREMOTE_HOST=UNKNOWN\nSERVICE=sshd\nLEADER=%d\n", leader.PID)
	if err := errors.Join(os.MkdirAll("/run/systemd/sessions", 0o755), os.WriteFile("/run/systemd/sessions/3", []byte(record), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll("/run/systemd") })
	m := model(t, shell)
	for _, pid := range []int{shell, part.PID, leader.PID} {
		if c := m.Processes[pid]; c.Sessions == nil || c.Whose() != sessions.Own {
			t.Errorf("%d: %v", pid, c)
		}
	}
	if want := fmt.Sprintf("with whom %q (PID %d) is connected is not seen", leader.Name, leader.PID); len(m.Hidden()) != 1 || !strings.HasPrefix(m.Hidden()[0].Why, want) {
		t.Errorf("hidden: %v, want %s", m.Hidden(), want)
	}
}

// lending has daemon(1) serve a terminal to www-data (33), and hold a connection to another host that it has
// opened: a service that has let somebody in, and what a user has started with the rights of one.
func (s *site) lending(t *testing.T) {
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	for program, c := range map[string]struct {
		mode os.FileMode
		want bool
	}{"plain": {0o755, true}, "lent": {0o755 | os.ModeSetuid, false}, "lent-group": {0o755 | os.ModeSetgid, false}} {
		path := filepath.Join(s.dir, program)
		if err := errors.Join(os.WriteFile(path, raw, 0o755), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		pid := s.holding(t, path)
		m := model(t, os.Getpid())
		if claim := m.Addresses[netip.MustParseAddr(eve)]; (claim.Sessions != nil) != c.want || (m.Processes[pid].Sessions != nil) != c.want {
			t.Errorf("%s: %s; the process: %v", program, whose(m), m.Processes[pid])
		}
		syscall.Kill(pid, syscall.SIGKILL)
		testenv.WaitFor(t, "the end of "+program, func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
			return err != nil
		})
	}
}

// holding starts a program as daemon, with a shell of www-data at a terminal that it serves.
func (s *site) holding(t *testing.T, program string) (pid int) {
	var l net.Listener
	at(t, "peer", func() {
		var err error
		if l, err = net.Listen("tcp", net.JoinHostPort(eve, "0")); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { l.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	held, err := conn.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	master, terminal := testenv.Terminal(t)
	words := []string{"sh", "-c", `setpriv --reuid 33 --clear-groups setsid -c sh -c 'echo in; exec sleep 600' <"$0" 3>&- 4>&- & exec setpriv --reuid 1 --clear-groups "$1" 600`, terminal.Name(), program}
	cmd, _, out := s.start("", func(c *exec.Cmd) { c.ExtraFiles = []*os.File{master, held} }, words...)
	held.Close()
	if line, err := out.ReadString('\n'); line != "in\n" {
		t.Fatalf("%q, %v", line, err)
	}
	master.Close()
	testenv.WaitFor(t, "the program", func() bool {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", cmd.Process.Pid))
		return err == nil && name == program
	})
	return cmd.Process.Pid
}

// proxy passes connections on to the server, as haproxy and sslh do.
func (s *site) proxy(t *testing.T) {
	s.accept("2443", func(c *net.TCPConn) {
		to, err := net.Dial("tcp", "127.0.0.1:2201")
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close(); to.Close() })
		go io.Copy(to, c)
		go io.Copy(c, to)
	})
	m := model(t, s.ssh("peer", proxied, here, "2443", "-tt"))
	if c := m.Addresses[netip.MustParseAddr(proxied)]; c.Sessions == nil || c.Whose() != sessions.Own {
		t.Errorf("%s", whose(m))
	}
	for _, port := range []uint16{2201, 2443} {
		if c := m.Ports[sessions.Port{Protocol: "tcp", Number: port}]; c.Sessions == nil || c.Whose() != sessions.Own {
			t.Errorf("port %d: %v", port, m.Ports)
		}
	}
	if m.Processes[os.Getpid()].Sessions == nil {
		t.Error("the proxy is not claimed")
	}
}

// accept calls serve for each connection at a port, until the test ends.
func (s *site) accept(port string, serve func(*net.TCPConn)) {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c.(*net.TCPConn))
		}
	}()
}

// reverseTunnel has a client here let the relay in, from where somebody logs in.
func (s *site) reverseTunnel(t *testing.T, other int) {
	s.server("peer", "2202")
	s.ssh("", "", relay, "2202", "-R", "127.0.0.1:2300:127.0.0.1:2201")
	inner := s.ssh("peer", "", "127.0.0.1", "2300", "-tt")
	m := model(t, inner)
	if got, want := whose(m), fmt.Sprintf("%s others', %s others', %s own", ann, bob, relay); got != want {
		t.Errorf("%s, want %s; %v", got, want, m.Gaps)
	}
	if len(m.Hidden()) > 0 {
		t.Errorf("hidden: %v", m.Hidden())
	}
	if got, want := whose(model(t, other)), fmt.Sprintf("%s own, %s others', %s others'", ann, bob, relay); got != want {
		t.Errorf("of somebody else: %s, want %s", got, want)
	}
}

// knock connects, waits for the server's greeting, and goes no further.
func knock(t *testing.T, from, to string) {
	t.Helper()
	at(t, "peer", func() {
		dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Read(make([]byte, 4)); err != nil {
			t.Error(err)
		}
		conn.Write([]byte("SSH-2.0-knock\r\n"))
	})
}
