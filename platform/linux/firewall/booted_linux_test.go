// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// remote starts a real SSH server on port 2222 of the container and returns
// another host with a cable to it.
func remote(t *testing.T) *neighbour {
	t.Helper()
	if err := os.WriteFile("/etc/ssh/sshd_config.d/port.conf", []byte("Port 2222\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "systemctl start ssh.service")
	h := newNeighbour(t, 1)
	h.waitsFor("2222")
	serve(t, "8080")
	h.reaches("2222", true)
	h.reaches("8080", true)
	return h
}

// switchOn asserts what holds for every manager: the SSH port is found and
// reachable afterwards, another port is not, and a second run changes nothing.
func switchOn(t *testing.T, h *neighbour, m *Manager, manager string) {
	t.Helper()
	source := kernel(t)
	session := openSession(t, h)
	done := enable(t, source, m)
	goesOn(t, session)
	if done.Manager != manager || !done.Changed || done.FirewallStatus != firewall.Active || done.Persistent == nil || !*done.Persistent {
		t.Errorf("got %+v", done)
	}
	if !slices.Equal(done.AllowedPorts, []firewall.Port{ssh}) {
		t.Errorf("let in: %v", done.AllowedPorts)
	}
	if !slices.ContainsFunc(done.Closes, func(l firewall.Listener) bool { return l.String() == "8080/tcp" && l.Process != "" }) ||
		slices.ContainsFunc(done.Closes, func(l firewall.Listener) bool { return l.Port == ssh }) {
		t.Errorf("closes: %+v", done.Closes)
	}
	h.reaches("2222", true)
	h.reaches("8080", false)
	if again := enable(t, source, m); again.Changed || again.FirewallStatus != firewall.Active {
		t.Errorf("again: %+v", again)
	}
	h.reaches("2222", true)
}

// openSession connects to the SSH server and reads its greeting (RFC 4253
// section 4.2).
func openSession(t *testing.T, h *neighbour) net.Conn {
	t.Helper()
	c, err := h.dial(h.gateway()+":2222", waitLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * waitLimit))
	b := make([]byte, 200)
	if n, err := c.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "SSH-2.0-") {
		t.Fatalf("greeting %q, %v", b[:n], err)
	}
	return c
}

// goesOn asserts that the server answers the greeting with its key exchange.
func goesOn(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetDeadline(time.Now().Add(2 * waitLimit))
	if _, err := c.Write([]byte("SSH-2.0-test\r\n")); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(make([]byte, 2000)); err != nil || n < 100 {
		t.Errorf("the open session is cut: %d bytes, %v", n, err)
	}
}

func TestUFWIsSwitchedOnWithTheSSHPortOpen(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service ufw.service")
	command(t, "ufw limit 22/tcp")
	m := NewManager(sysexec.Host{})
	switchOn(t, h, m, firewall.UFW)
	if out := command(t, "ufw show added"); !strings.Contains(out, "ufw limit 22/tcp\nufw allow 2222/tcp\n") {
		t.Errorf("rules:\n%s", out)
	}
	if out := command(t, "systemctl is-enabled ufw.service"); out != "enabled\n" {
		t.Errorf("ufw.service is %s", out)
	}
}

func TestFirewalldIsSwitchedOnWithTheSSHPortOpen(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable ufw.service")
	command(t, "firewall-offline-cmd --zone=drop --add-interface=cable1")
	m := NewManager(sysexec.Host{})
	switchOn(t, h, m, firewall.Firewalld)
	for _, zone := range []string{"public", "drop"} {
		if out := command(t, "firewall-cmd --permanent --zone="+zone+" --list-ports"); out != "2222/tcp\n" {
			t.Errorf("zone %s: %s", zone, out)
		}
	}
	command(t, "systemctl restart firewalld.service")
	command(t, "firewall-cmd --state")
	h.reaches("2222", true)
	h.reaches("8080", false)
}

func TestFirewalldThatDoesNotStartIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "mkdir -p /etc/systemd/system/firewalld.service.d")
	if err := os.WriteFile("/etc/systemd/system/firewalld.service.d/x.conf", []byte("[Service]\nType=exec\nExecStart=\nExecStart=/bin/sleep 600\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, "systemctl daemon-reload")
	m := NewManager(sysexec.Host{})
	_, err := do(t, kernel(t), m, firewall.EnableOptions{Trials: trials(m, time.Hour)})
	var failed *fault.Error
	if !errors.As(err, &failed) || failed.Code != fault.FirewallFailed || !strings.Contains(failed.Message, "taken back") {
		t.Errorf("got %v", err)
	}
	if out := command(t, "systemctl show --property=ActiveState firewalld.service"); out != "ActiveState=inactive\n" {
		t.Errorf("firewalld: %s", out)
	}
	if out := command(t, "firewall-offline-cmd --list-ports"); strings.Contains(out, "2222") {
		t.Errorf("ports: %s", out)
	}
	h.reaches("8080", true)
}

// shipped is the unit as it is packaged.
func shipped(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../../packaging/systemd/" + RestoreUnit)
	if errors.Is(err, os.ErrNotExist) {
		return "" // inside, where the unit is in place
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestOwnRulesOfABootedSystemComeBack(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	m := NewManager(sysexec.Host{})
	m.installed = func(path string) bool { return path == "/usr/sbin/sshd" }
	command(t, "systemctl disable firewalld.service ufw.service")
	switchOn(t, h, m, firewall.Nftables)
	if out := command(t, "systemctl is-enabled "+RestoreUnit); out != "enabled\n" {
		t.Errorf("%s is %s", RestoreUnit, out)
	}
	if raw, err := os.ReadFile(StatePath); err != nil || string(raw) != `{"version":1,"allow":["2222/tcp"]}`+"\n" {
		t.Errorf("state %q, %v", raw, err)
	}
}

func TestSSHPortsOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	m := NewManager(sysexec.Host{})
	if d, err := m.OpenPorts(t.Context()); err != nil || !slices.Equal(distinct(d.Remote), []firewall.Port{ssh}) {
		t.Errorf("a server that listens: %v, %v", d.Remote, err)
	}
	session := openSession(t, h)
	os.WriteFile("/etc/ssh/sshd_config.d/port.conf", []byte("Port 3333\nPort 4444\n"), 0o600)
	command(t, "systemctl restart ssh.service")
	want := []firewall.Port{ssh, {Number: 3333, Protocol: "tcp"}, {Number: 4444, Protocol: "tcp"}}
	if d, err := m.OpenPorts(t.Context()); err != nil || !slices.Equal(distinct(d.Remote), want) {
		t.Errorf("a session from before the ports were changed: %v, %v", d.Remote, err)
	}
	session.Close()
	command(t, "systemctl stop ssh.service")
	command(t, "mkdir -p /etc/systemd/system/ssh.socket.d")
	os.WriteFile("/etc/systemd/system/ssh.socket.d/x.conf", []byte("[Socket]\nListenStream=\nListenStream=2223\n"), 0o600)
	command(t, "systemctl daemon-reload")
	command(t, "systemctl start ssh.socket")
	if d, err := m.OpenPorts(t.Context()); err != nil || !slices.Contains(d.Remote, firewall.Port{Number: 2223, Protocol: "tcp"}) {
		t.Errorf("a socket of systemd: %v, %v", d.Remote, err)
	}
	command(t, "systemctl stop ssh.socket")
	os.WriteFile("/etc/ssh/sshd_config.d/port.conf", []byte("nonsense\n"), 0o600)
	if _, err := firewall.PlanEnable(t.Context(), kernel(t), m, firewall.EnableOptions{}); err == nil || !strings.Contains(err.Error(), "sshd -T") {
		t.Errorf("a server that starts at boot with an unknown port: %v", err)
	}
	if plan, err := firewall.PlanEnable(t.Context(), kernel(t), m, firewall.EnableOptions{Force: true}); err != nil || !strings.Contains(plan.Summary(), "22/tcp") {
		t.Errorf("forced: %v", err)
	}
	command(t, "systemctl disable ssh.service ssh.socket")
	if d, err := m.OpenPorts(t.Context()); err != nil || len(d.Remote) != 0 {
		t.Errorf("no server: %v, %v", d.Remote, err)
	}
}

func distinct(ports []firewall.Port) []firewall.Port { return union(ports, nil) }
