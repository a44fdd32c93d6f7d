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
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

// Servers that nothing here knows by name, and programs between them and the client.
func TestSessionsOfOtherServersAreFound(t *testing.T) {
	for program, name := range map[string]string{
		"sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2", "nft": "nftables", "script": "bsdutils", "mosh-server": "mosh", "mosh-client": "mosh",
		"tinysshd": "tinysshd", "telnetd": "inetutils-telnetd", "login": "login", "haproxy": "haproxy", "tinyproxy": "tinyproxy",
	} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	t.Run("mosh", s.mosh)
	t.Run("tinysshd", s.tinysshd)
	t.Run("telnetd", s.telnetd)
	t.Run("a prompt of telnetd", s.prompt)
	t.Run("haproxy", s.haproxy)
	t.Run("strangers behind haproxy", s.strangers)
	t.Run("tinyproxy", s.tinyproxy)
	t.Run("a jump host", s.jumpHost)
	t.Run("another network namespace", s.otherNamespace)
}

// mosh has left the SSH session that it was started in, and its socket is not connected.
func (s *site) mosh(t *testing.T) {
	if m := model(t, s.moshShell(t, "60001")); len(m.Hidden()) == 0 || len(m.Addresses) != 0 {
		t.Errorf("where no connection is tracked: %s, hidden %v", whose(m), m.Hidden())
	}
	if out, err := exec.Command("nft", "add table inet t; add chain inet t c { type filter hook input priority 0; }; add rule inet t c ct state new counter").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shell := s.moshShell(t, "60002")
	testenv.WaitFor(t, "mosh's client", func() bool { return strings.Contains(whose(model(t, shell)), relay+" own") })
	m := model(t, shell)
	if c := m.Ports[sessions.Port{Protocol: "udp", Number: 60002}]; c.Sessions == nil || len(m.Hidden()) > 0 {
		t.Errorf("ports %v, hidden %v", m.Ports, m.Hidden())
	}
	if got, want := whose(model(t, os.Getpid())), relay+" others'"; got != want {
		t.Errorf("seen by nobody that is known: %s, want %s", got, want)
	}
	detached, _, out := s.start("", func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: annUID, Gid: annUID}, Setsid: true}
	}, "sh", "-c", "echo in; exec sleep 600")
	if line, err := out.ReadString('\n'); line != "in\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if got, want := whose(model(t, detached.Process.Pid)), relay+" possibly own"; got != want {
		t.Errorf("seen by what ann has left running: %s, want %s", got, want)
	}
}

// moshShell logs in, and returns the PID of the shell once somebody is connected.
func (s *site) moshShell(t *testing.T, port string) (shell int) {
	told := filepath.Join(home, "shell-"+port)
	if err := errors.Join(os.WriteFile(told, nil, 0o644), os.Chown(told, annUID, annUID)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ip", append([]string{"netns", "exec", "peer"}, s.sshWords(ann, here, "2201",
		"mosh-server new -s -p "+port+" -l LC_ALL=C.UTF-8 -- sh -c 'echo in $$ >"+told+"; exec sleep 600' 2>&1")...)...).CombinedOutput()
	found := regexp.MustCompile(`MOSH CONNECT ` + port + ` (\S+)`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.start("peer", func(c *exec.Cmd) {
		c.Env = append(os.Environ(), "MOSH_KEY="+string(found[1]), "LC_ALL=C.UTF-8", "TERM=xterm")
	}, "script", "-qc", "stty rows 24 cols 80; mosh-client "+here+" "+port, "/dev/null")
	testenv.WaitFor(t, "mosh's shell", func() bool {
		raw, _ := os.ReadFile(told)
		n, _ := fmt.Sscanf(string(raw), "in %d", &shell)
		return n == 1
	})
	return shell
}

// sshWords are those of a client that logs in and runs a command.
func (s *site) sshWords(from, to, port string, more ...string) []string {
	words := []string{"ssh", "-F", "/dev/null", "-p", port, "-i", s.dir + "/key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"}
	if from != "" {
		words = append(words, "-b", from)
	}
	return append(append(words, "ann@"+to), more...)
}

// inetd starts a program for each connection at a port, as inetd(8) does.
func (s *site) inetd(t *testing.T, port string, words ...string) {
	s.accept(port, func(c *net.TCPConn) {
		f, err := c.File()
		if err != nil {
			t.Error(err)
			return
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = f, f, s.log(words)
		if err := cmd.Start(); err != nil {
			t.Error(err)
		}
		f.Close()
		c.Close()
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	})
}

func (s *site) tinysshd(t *testing.T) {
	if out, err := exec.Command("tinysshd-makekey", "/run/tinysshd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.inetd(t, "2222", "/usr/sbin/tinysshd", "/run/tinysshd")
	shell := s.ssh("peer", ann, here, "2222", "-tt")
	if got, want := whose(model(t, shell)), ann+" own"; !strings.Contains(got, want) {
		t.Errorf("%s, want %s among them", got, want)
	}
	mute := s.ssh("peer", bob, here, "2222") // without a terminal, and nothing has recorded it
	if got, want := whose(model(t, mute)), bob+" own"; !strings.Contains(got, want) {
		t.Errorf("without a terminal: %s, want %s among them", got, want)
	}
}

func (s *site) telnetd(t *testing.T) {
	if err := os.WriteFile("/run/telnet-shell", []byte("#!/bin/sh\necho in $$ .\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.inetd(t, "2323", "/usr/sbin/telnetd", "-E", "/run/telnet-shell")
	var shell int
	telnet(t, eve, "2323", func(text string) bool {
		n, _ := fmt.Sscanf(text[max(0, strings.LastIndex(text, "in ")):], "in %d .", &shell)
		return n == 1 && strings.HasSuffix(text, ".")
	})
	if got, want := whose(model(t, shell)), eve+" own"; !strings.Contains(got, want) {
		t.Errorf("%s, want %s among them", got, want)
	}
}

// prompt has somebody connected to telnetd who does not log in.
func (s *site) prompt(t *testing.T) {
	if d, _ := (&reading{Reader: New("/")}).Describe(t.Context(), os.Getpid()); d.Login != "" {
		return // the server would be one of somebody who is logged in
	}
	s.inetd(t, "2324", "/usr/sbin/telnetd")
	telnet(t, prompted, "2324", func(text string) bool { return strings.HasSuffix(text, "login:") })
	if got := whose(model(t, os.Getpid())); strings.Contains(got, prompted) {
		t.Errorf("who sits at a prompt is the other end of a session: %s", got)
	}
}

// telnet connects from an address of the peer, and stays so once the server has said what is looked for.
func telnet(t *testing.T, from, port string, said func(text string) bool) {
	at(t, "peer", func() {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", net.JoinHostPort(here, port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		refuseOptions(t, conn, said)
	})
}

// refuseOptions refuses every option of the server (RFC 854) until it has said what is looked for.
func refuseOptions(t *testing.T, conn io.ReadWriter, said func(text string) bool) {
	const iac, will, do = 255, 251, 253
	var text []byte
	for in := bufio.NewReader(conn); ; {
		b, err := in.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		if b != iac {
			if text = append(text, b); said(string(text)) {
				return
			}
			continue
		}
		verb, _ := in.ReadByte()
		option, _ := in.ReadByte()
		if verb == will || verb == do {
			conn.Write([]byte{iac, map[byte]byte{will: 254, do: 252}[verb], option})
		}
	}
}

// haproxy takes connections that another one passes on, and says whose they are (PROXY).
func (s *site) haproxy(t *testing.T) {
	s.program(t, "/run/near.cfg", "global\n user haproxy\n group haproxy\ndefaults\n mode tcp\n timeout connect 5s\n timeout client 10m\n timeout server 10m\n"+
		"listen l\n bind :2444 accept-proxy\n server s 127.0.0.1:2201\n", "haproxy", "-db", "-f", "/run/near.cfg")
	s.start("peer", nil, "haproxy", "-db", "-f", s.file(t, "/run/far.cfg", "defaults\n mode tcp\n timeout connect 5s\n timeout client 10m\n timeout server 10m\n"+
		"listen l\n bind 127.0.0.1:2445\n source "+proxied+"\n server s "+here+":2444 send-proxy\n"))
	s.listens("peer", "2445")
	m := model(t, s.ssh("peer", "", "127.0.0.1", "2445", "-tt"))
	s.isOwnThrough(t, m, 2444)
}

// strangers share a proxy with the caller: one is logged in, one has not gone further than the greeting.
// It passes bytes on as they are, so the kernel's counts tell who is who; a connection to a proxy that
// makes others of them is told apart from none.
func (s *site) strangers(t *testing.T) {
	const defaults = "global\n user haproxy\n group haproxy\ndefaults\n mode tcp\n timeout connect 5s\n timeout client 10m\n timeout server 10m\n"
	s.program(t, "/run/shared.cfg", defaults+"listen plain\n bind :2446\n server s 127.0.0.1:2201\n"+
		"listen inner\n bind 127.0.0.1:2447 accept-proxy\n server s 127.0.0.1:2201\n"+
		"listen routed\n bind :2449\n server s 198.51.100.7:2201 source 198.51.100.8\n"+
		"listen header\n bind :2448\n server s 127.0.0.1:2447 send-proxy\n", "haproxy", "-db", "-f", "/run/shared.cfg")
	s.listens("", "2446")
	own := s.ssh("peer", proxied, here, "2446", "-tt")
	s.ssh("peer", bob, here, "2446") // without a terminal, so that the two have not done the same
	knock(t, eve, net.JoinHostPort(here, "2446"))
	var got string
	testenv.WaitFor(t, "the caller's own address alone", func() bool {
		m := model(t, own)
		got = whose(m)
		return len(m.Hidden()) == 0 && strings.Contains(got, proxied+" own") && strings.Contains(got, bob+" others'") && !strings.Contains(got, eve)
	})
	if out, err := exec.Command("ip", "route", "add", "local", "198.51.100.0/24", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if m := model(t, s.ssh("peer", relay, here, "2449", "-tt")); !strings.Contains(whose(m), relay+" own") || strings.Contains(whose(m), "198.51.100") {
		t.Errorf("by an address that is routed to this machine: %s; hidden: %v", whose(m), m.Hidden())
	}
	behind := s.ssh("peer", proxied, here, "2448", "-tt")
	if got = whose(model(t, behind)); !strings.Contains(got, proxied+" own") || !strings.Contains(got, bob+" own") || !strings.Contains(got, eve+" own") {
		t.Errorf("where bytes are added: %s", got)
	}
}

func (s *site) file(t *testing.T, name, content string) string {
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// program starts one here with a configuration.
func (s *site) program(t *testing.T, file, content string, words ...string) {
	s.file(t, file, content)
	s.start("", nil, words...)
}

// isOwnThrough checks that what a proxy at a port carries is the caller's own.
func (s *site) isOwnThrough(t *testing.T, m *sessions.Model, port uint16) {
	t.Helper()
	if c := m.Addresses[netip.MustParseAddr(proxied)]; c.Sessions == nil || c.Whose() != sessions.Own || len(m.Hidden()) > 0 {
		t.Errorf("%s; hidden: %v", whose(m), m.Hidden())
	}
	for _, port := range []uint16{2201, port} {
		if c := m.Ports[sessions.Port{Protocol: "tcp", Number: port}]; c.Sessions == nil || c.Whose() != sessions.Own {
			t.Errorf("port %d: %v", port, m.Ports)
		}
	}
}

func (s *site) tinyproxy(t *testing.T) {
	s.program(t, "/run/tinyproxy.conf", "User tinyproxy\nGroup tinyproxy\nPort 8888\nTimeout 600\nMaxClients 10\nAllow "+proxied+"\nConnectPort 2201\n",
		"tinyproxy", "-d", "-c", "/run/tinyproxy.conf")
	s.listens("", "8888")
	var local string
	at(t, "peer", func() { local = connectThrough(t, net.JoinHostPort(here, "8888"), "127.0.0.1:2201") })
	s.isOwnThrough(t, model(t, s.ssh("peer", "", "127.0.0.1", local, "-tt")), 8888)
}

// connectThrough listens at a port of this namespace and passes one connection on through an HTTP proxy.
func connectThrough(t *testing.T, proxy, to string) (port string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(proxied)}}
	conn, err := dialer.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	answer := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = answer.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			go io.Copy(conn, c)
			io.Copy(c, answer)
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// jumpHost logs in through an SSH server of the peer: another session through the same one stays with it.
func (s *site) jumpHost(t *testing.T) {
	s.server("peer", "2203")
	jump := "ProxyCommand=" + strings.Join(s.sshWords("", "127.0.0.1", "2203", "-W", here+":2201"), " ")
	own := s.ssh("peer", "", here, "2201", "-tt", "-o", jump)
	other := s.ssh("peer", "", here, "2201", "-tt", "-o", jump)
	for _, pid := range []int{own, other} {
		m := model(t, pid)
		if c := m.Addresses[netip.MustParseAddr(relay)]; c.Whose() != sessions.Own || len(c.Sessions) < 2 {
			t.Errorf("%s; %v", whose(m), c)
		}
	}
}

// otherNamespace looks from a network namespace that the caller has changed to.
func (s *site) otherNamespace(t *testing.T) {
	own := s.ssh("peer", ann, here, "2201", "-tt")
	if out, err := exec.Command("ip", "netns", "add", "third").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var m *sessions.Model
	at(t, "third", func() { m = model(t, own) })
	if got := whose(m); !strings.Contains(got, ann+" own") || strings.Contains(got, "possibly") || len(m.Hidden()) > 0 {
		t.Errorf("%s; hidden: %v", got, m.Hidden())
	}
	if len(m.Ports) > 0 {
		t.Errorf("ports of another namespace: %v", m.Ports)
	}
}

// anotherContainer has somebody logged in at a server in a network namespace of its own, and one in a PID
// namespace of its own that shares this network.
func (s *site) anotherContainer(t *testing.T, own int) {
	s.server("peer", "2210")
	inner := s.ssh("peer", "", "127.0.0.1", "2210", "-tt")
	m := model(t, own)
	if want := fmt.Sprintf("with whom \"sleep\" (PID %d) at pts/", inner); len(m.Unseen) != 1 || !strings.HasPrefix(m.Unseen[0], want) {
		t.Errorf("%q, want %s", m.Unseen, want)
	}
	if got := whose(m); !strings.Contains(got, ann+" own") || len(m.Hidden()) > 0 {
		t.Errorf("%s; hidden: %v", got, m.Hidden())
	}
	cmd, _, out := s.start("", nil, "unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "mkdir -p /run/inner/proc && mount -t proc proc /run/inner/proc && echo in && exec sleep 600")
	if line, err := out.ReadString('\n'); line != "in\n" {
		t.Fatalf("%q, %v", line, err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); exec.Command("umount", "/run/inner/proc").Run() })
	r := New("/run/inner")
	r.self = 1
	m, err := r.Model(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := whose(m); !strings.Contains(got, ann+" possibly own") || len(m.Unseen) != 1 || !strings.Contains(m.Unseen[0], "outside of this container") {
		t.Errorf("seen from a container with this network: %s; %q", got, m.Unseen)
	}
}
