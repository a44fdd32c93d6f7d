// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A login is a session of OpenSSH that sends back each line.
type login struct {
	t     *testing.T
	to    io.WriteCloser
	lines chan string
}

// logsIn opens a session from another host, as root, with a key.
func (h *neighbour) logsIn(address string) login {
	h.t.Helper()
	const key = "/root/key"
	if _, err := os.Stat(key); err != nil {
		shell(h.t, "ssh-keygen -q -t ed25519 -N '' -f "+key+" && mkdir -p /root/.ssh && cp "+key+".pub /root/.ssh/authorized_keys")
	}
	c := exec.Command(testenv.Program(h.t, "nsenter", "util-linux"), "-t", h.id(), "-n", "ssh", "-i", key, "-p", "2222", "-o", "BatchMode=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "root@"+address, "cat")
	to, err := c.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	from, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	s := login{h.t, to, make(chan string)}
	go func() {
		defer close(s.lines)
		for read := bufio.NewScanner(from); read.Scan(); {
			s.lines <- read.Text()
		}
	}()
	s.goesOn("begun")
	return s
}

// goesOn asserts that a line comes back.
func (s login) goesOn(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.to, line+"\n"); err != nil {
		s.t.Error(err)
	}
	select {
	case got := <-s.lines:
		if got != line {
			s.t.Errorf("the session sent %q back, want %q", got, line)
		}
	case <-time.After(waitLimit):
		s.t.Errorf("the session does not go on: %s", line)
	}
}

func TestUFWWithoutIPv6IsRefusedToSessionsOverIPv6(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	shell(t, "sed -i s/^IPV6=.*/IPV6=no/ /etc/default/ufw")
	m := NewManager(sysexec.Host{})
	o := firewall.EnableOptions{Trials: trials(m, time.Hour), Sessions: carriersHere}

	command(t, "ufw allow 8080/tcp") // is about IPv4 alone, as the fix says
	over4 := h.logsIn(h.gateway())
	done, err := do(t, kernel(t), m, o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(done.Details, "ufw shuts out IPv6: without IPV6=yes in /etc/default/ufw") {
		t.Errorf("a session over IPv4: %s", done.Details)
	}
	over4.goesOn("over IPv4, without IPv6")
	endTrial(t, m, "The firewall (ufw) was taken back")

	over6 := h.logsIn(h.gateway6())
	_, err = do(t, kernel(t), m, o)
	if err == nil {
		over6.goesOn("not refused")
		t.Fatal("a session over IPv6: not refused")
	}
	f := fault.From(err)
	if f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "from 2001:db8:1::2") || !strings.HasPrefix(f.Fix, "Set IPV6=yes in /etc/default/ufw.") {
		t.Fatalf("a session over IPv6: %v, %s", err, f.Fix)
	}
	over6.goesOn("refused")
	shell(t, "sed -i s/^IPV6=.*/IPV6=yes/ /etc/default/ufw")
	if _, err := do(t, kernel(t), m, o); err != nil {
		t.Fatalf("with rules for IPv6: %v", err)
	}
	over6.goesOn("with rules for IPv6")
	over4.goesOn("over IPv4, with rules for IPv6")
	h.logsIn(h.gateway6())
	h.reaches("2222", true)
	if out := command(t, "ufw status"); !strings.Contains(out, "2222/tcp (v6)") || !strings.Contains(out, "8080/tcp  ") || strings.Contains(out, "8080/tcp (v6)") {
		t.Errorf("rules:\n%s", out)
	}
	endTrial(t, m, "The firewall (ufw) was taken back")
}

// Nothing of IPv6 is shut out where the kernel has none.
func TestUFWWithoutIPv6IsSwitchedOnWhereThereIsNone(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	shell(t, "sed -i s/^IPV6=.*/IPV6=no/ /etc/default/ufw")
	command(t, "sysctl -q net.ipv6.conf.all.disable_ipv6=1")
	session := h.logsIn(h.gateway())
	m := NewManager(sysexec.Host{})
	done, err := do(t, kernel(t), m, firewall.EnableOptions{Trials: trials(m, time.Hour), Sessions: carriersHere})
	if err != nil || strings.Contains(done.Details, "IPv6") {
		t.Fatalf("%s, %v", done.Details, err)
	}
	session.goesOn("without IPv6")
	h.logsIn(h.gateway())
}

func TestUFWTakesIPv6WhereItsScriptAndItselfDo(t *testing.T) {
	for text, want := range map[string]bool{
		"IPV6=yes\n": true, "IPV6=YES\n": true, "IPV6=\"yes\"\n": true, "IPV6=yes \n": true, "IPV6=yes": true, "IPV6=no\nIPV6=yes\n": true,
		"IPV6=no\n": false, "": false, "#IPV6=yes\n": false, "IPV6=Yes\n": false, "IPV6='yes'\n": false, "IPV6=yes # both\n": false,
		" IPV6=yes\n": false, "IPV6=yes\n IPV6=no\n": false, "IPV6=\n": false, "IPV6=yes\nIPV6=1\n": false,
	} {
		if got := ufwTakesIPv6(testenv.Plant(t, map[string]string{ufwDefaults: text, ufwConfiguration: "ENABLED=no\n"})); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{"IPV6=no\n": false, "IPV6=yes\n": true} {
		if got := ufwTakesIPv6(testenv.Plant(t, map[string]string{ufwDefaults: "IPV6=yes\n", ufwConfiguration: text})); got != want {
			t.Errorf("the other file has %q: %v", text, got)
		}
	}
}

func TestPortsThatIPv4DoesNotGetToAreTold(t *testing.T) {
	at := func(local string, only bool) network.Socket {
		return network.Socket{Protocol: network.TCP, State: network.Listen, Local: netip.MustParseAddrPort(local), OnlyIPv6: only}
	}
	got := onlyIPv6([]network.Socket{
		at("[::]:22", true), at("0.0.0.0:22", false), // sshd with both
		at("[::]:2222", true), at("[2001:db8::1]:443", false), at("[::]:80", false), at("192.0.2.1:25", false), at("[2001:db8::1]:25", true),
		at("[::ffff:192.0.2.1]:110", false), at("[fe80::1%eth0]:443", true),
	})
	if want := []firewall.Port{tcp(443), tcp(2222)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The kernel says of real sockets whether they take IPv4.
func TestSocketsForIPv6AloneAreRecognised(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	newNeighbour(t, 1)
	for _, l := range []struct{ network, address string }{
		{"tcp6", "[::]:7001"}, {"tcp", "[::]:7002"}, {"tcp6", "[2001:db8:1::1]:7003"}, {"tcp4", "0.0.0.0:7004"}, {"tcp6", "[::]:7005"}, {"tcp4", "0.0.0.0:7005"},
	} {
		s, err := net.Listen(l.network, l.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
	}
	open, err := newPlain(t).OpenPorts(t.Context())
	if want := []firewall.Port{tcp(7001), tcp(7003)}; !slices.Equal(open.OnlyIPv6, want) {
		t.Errorf("%v, want %v (%v)", open.OnlyIPv6, want, err)
	}
}
