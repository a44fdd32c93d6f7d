// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/systemd"
)

// Otherwise the own rules would come back within a minute once the other manager is off.
func TestOwnDefinitionIsSetAsideForAnotherManager(t *testing.T) {
	on := systemd.UnitState{Loaded: true, Enabled: true}
	for name, c := range map[string]struct {
		change  firewall.Change
		enabled string // of ufw
		retired bool
	}{
		"ufw is kept on":        {firewall.Change{Manager: firewall.UFW}, "yes", true},
		"ufw is off meanwhile":  {firewall.Change{Manager: firewall.UFW}, "no", false},
		"ufw is kept off":       {firewall.Change{Kind: firewall.TurnOff, Manager: firewall.UFW}, "no", true},
		"ufw is on meanwhile":   {firewall.Change{Kind: firewall.TurnOff, Manager: firewall.UFW}, "yes", false},
		"ufw lets in":           {firewall.Change{Kind: firewall.LetIn, Manager: firewall.UFW}, "yes", false},
		"firewalld is kept on":  {firewall.Change{Manager: firewall.Firewalld}, "no", true},
		"firewalld is kept off": {firewall.Change{Kind: firewall.TurnOff, Manager: firewall.Firewalld}, "no", true},
		"firewalld lets in":     {firewall.Change{Kind: firewall.LetIn, Manager: firewall.Firewalld}, "no", false},
	} {
		s := &script{}
		s.booted, s.known = true, map[string]systemd.UnitState{ufwUnit: on, firewalldUnit: on}
		m := s.manager()
		m.root = t.TempDir()
		m.state.path = filepath.Join(m.root, "firewall.json")
		old := m.state.path + ".old"
		for path, content := range map[string]string{filepath.Join(m.root, ufwConfiguration): "ENABLED=" + c.enabled + "\n", m.state.path: "ports"} {
			os.MkdirAll(filepath.Dir(path), 0o755)
			os.WriteFile(path, []byte(content), 0o600)
		}
		p, err := m.Resume(c.change)
		if err != nil {
			t.Fatal(err)
		}
		_, remark := p.Keep(t.Context())
		if said := strings.Contains(remark, "its ports are in "+old); said != c.retired {
			t.Errorf("%s: %q", name, remark)
		}
		if _, err := os.Stat(m.state.path); errors.Is(err, fs.ErrNotExist) != c.retired {
			t.Errorf("%s: the definition: %v", name, err)
		}
		if raw, err := os.ReadFile(old); (err == nil && string(raw) == "ports") != c.retired {
			t.Errorf("%s: %s holds %q, %v", name, old, raw, err)
		}
		if lasting, remark := p.Keep(t.Context()); c.retired && (!lasting || remark != "") {
			t.Errorf("%s, again: %v, %q", name, lasting, remark)
		}
	}
}

// A definition of earlier does not know that SSH has moved, and nobody confirms what is put back.
func TestDefinitionThatWouldShutOutSessionsIsNotPutBack(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	m.runner = &machine{sshd: sysexec.Result{Stdout: []byte("port 2222\n")}}
	m.installed = func(path string) bool { return path == "/usr/sbin/sshd" }
	if err := m.state.write([]firewall.Port{tcp(22)}); err != nil {
		t.Fatal(err)
	}
	restored, err := m.Restore(t.Context(), source)
	if f, ok := errors.AsType[*fault.Error](err); restored || !ok || f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "shut out remote sessions by 2222/tcp") || !strings.Contains(f.Fix, "--fix-firewall") {
		t.Errorf("restored %v, %v", restored, err)
	}
	if out := command(t, "nft list ruleset"); out != "" {
		t.Errorf("loaded:\n%s", out)
	}
	if enable(t, source, m); !m.Kept() {
		t.Error("it is not kept")
	}
	flush(t)
	if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
		t.Errorf("with the port of SSH: restored %v, %v", restored, err)
	}
}

// Connection tracking has not seen a connection that began while no rule was loaded, and nothing keeps
// this one alive from here.
func TestConnectionsFromBeforeARestoreGoOn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 0)
	quiet := net.ListenConfig{KeepAlive: -1}
	l, err := quiet.Listen(t.Context(), "tcp", ":8080")
	if err != nil {
		t.Fatal(err)
	}
	echoAll(t, l)
	open := []net.Conn{open8080(t, h, h.gateway()), open8080(t, h, h.gateway6())}
	m := newPlain(t)
	if err := m.state.write([]firewall.Port{ssh}); err != nil {
		t.Fatal(err)
	}
	if restored, err := m.Restore(t.Context(), kernel(t)); !restored || err != nil {
		t.Fatalf("restored %v, %v", restored, err)
	}
	for _, c := range open {
		echo(t, "after", c)
	}
	h.reaches("8080", false)
}

// Who forwards ports over SSH can listen at the port of such a connection, or have sshd listen.
func TestPortsOfUsersKeepNoFirewallAway(t *testing.T) {
	ssh, own := firewall.Port{Number: 2222, Protocol: "tcp"}, firewall.Port{Number: 40123, Protocol: "tcp"}
	open := firewall.OpenPorts{Remote: []firewall.Port{ssh, own}, Servers: map[firewall.Port]int{ssh: 0, own: 1000}}
	if shutsOut(open, nil, own) || !shutsOut(open, nil, ssh) || shutsOut(open, []firewall.Port{ssh}, ssh) {
		t.Error("ports of an ordinary user count, or those of sshd do not")
	}
}
