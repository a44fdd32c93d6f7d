// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

var web = firewall.Port{Number: 8080, Protocol: "tcp"}

func letIn(t *testing.T, source firewall.Source, m firewall.Manager, confirm bool) firewall.Allowed {
	t.Helper()
	done, err := tryLetIn(t, source, m, confirm)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func tryLetIn(t *testing.T, source firewall.Source, m firewall.Manager, confirm bool) (firewall.Allowed, error) {
	t.Helper()
	plan, err := firewall.PlanAllow(t.Context(), source, m, firewall.AllowOptions{
		Ports: []firewall.Port{web}, Confirm: confirm, Trials: trials(own(m), time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Do(t.Context())
}

func switchOff(t *testing.T, source firewall.Source, m firewall.Manager, confirm bool) firewall.Disablement {
	t.Helper()
	plan, err := firewall.PlanDisable(t.Context(), source, m, firewall.DisableOptions{Confirm: confirm, Trials: trials(own(m), time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	done, err := plan.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// endTrial takes back what is on trial, and a second time finds nothing.
func endTrial(t *testing.T, m firewall.Manager, says string) {
	t.Helper()
	for _, want := range []string{says, ""} {
		if said, err := trials(own(m), 0).End(t.Context(), true); err != nil || !strings.Contains(said, want) || (said == "") != (want == "") {
			t.Errorf("ended: %q, %v; want %q", said, err, want)
		}
	}
}

// letsInAndOut lets port 8080 in and switches a firewall that is on off, each first on trial.
// reload has the manager read again what it has written down.
func letsInAndOut(t *testing.T, h *neighbour, source firewall.Source, m firewall.Manager, name string, reload func()) {
	t.Helper()
	h.reaches("8080", false)
	done := letIn(t, source, m, false)
	if !done.Changed || done.Manager != name || done.ConfirmWithin == 0 || *done.Persistent || len(done.Services) != 1 || done.Services[0].Process == "" {
		t.Errorf("let in: %+v", done)
	}
	h.reaches("8080", true)
	h.reaches("2222", true)
	endTrial(t, m, "8080/tcp is no longer let in by "+name+": ended before it was confirmed")
	h.reaches("8080", false)
	h.reaches("2222", true)
	letIn(t, source, m, false)
	if done := letIn(t, source, m, true); !done.Changed || !strings.Contains(done.Details, "was confirmed") {
		t.Errorf("confirmed: %+v", done)
	}
	reload()
	h.reaches("8080", true)
	if done := letIn(t, source, m, false); done.Changed || !strings.Contains(done.Details, "already") {
		t.Errorf("again: %+v", done)
	}

	serve(t, "8081")
	h.reaches("8081", false)
	off := switchOff(t, source, m, false)
	exposed := func(port string) bool {
		return slices.ContainsFunc(off.Exposes, func(l firewall.Listener) bool { return l.String() == port })
	}
	if !off.Changed || off.Manager != name || off.FirewallStatus != firewall.Disabled || off.ConfirmWithin == 0 || !exposed("8081/tcp") || exposed("8080/tcp") || exposed("2222/tcp") {
		t.Errorf("off: %+v", off)
	}
	h.reaches("8081", true)
	endTrial(t, m, "The firewall ("+name+") was switched on again: ended before it was confirmed")
	for port, want := range map[string]bool{"8081": false, "8080": true, "2222": true} {
		h.reaches(port, want)
	}
	switchOff(t, source, m, false)
	if done := switchOff(t, source, m, true); !done.Changed || !*done.Persistent || done.ConfirmWithin != 0 {
		t.Errorf("off for good: %+v", done)
	}
	h.reaches("8081", true)
	if done := switchOff(t, source, m, false); done.Changed || done.FirewallStatus != firewall.Disabled {
		t.Errorf("off already: %+v", done)
	}
	if current, err := trials(own(m), 0).Current(); current != nil || err != nil {
		t.Errorf("a trial is left: %+v, %v", current, err)
	}
}

func TestOwnRulesLetAServiceInAndAreSwitchedOff(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	h := newNeighbour(t, 1)
	serve(t, "2222")
	serve(t, "8080")
	enable(t, source, m)
	command(t, "nft insert rule inet sentinel_firewall input ip saddr 192.0.2.99 drop")
	letsInAndOut(t, h, source, m, firewall.Nftables, func() {
		if raw, err := os.ReadFile(StatePath); err != nil || string(raw) != `{"version":1,"allow":["2222/tcp","8080/tcp"]}`+"\n" {
			t.Errorf("state %q, %v", raw, err)
		}
		if out := command(t, "nft list chain inet sentinel_firewall input"); !strings.Contains(out, "192.0.2.99") {
			t.Errorf("the owner's rule is gone:\n%s", out)
		}
		flush(t)
		if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
			t.Errorf("restored %v, %v", restored, err)
		}
	})
	if _, err := os.Stat(StatePath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the definition is left: %v", err)
	}
	if restored, err := m.Restore(t.Context(), source); restored || err != nil {
		t.Errorf("what was switched off came back: %v, %v", restored, err)
	}
}

func TestUFWLetsAServiceInAndIsSwitchedOff(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service ufw.service")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	enable(t, source, m)
	letIn(t, source, m, false)
	command(t, "ufw delete allow 8080/tcp")
	if done, err := tryLetIn(t, source, m, true); err == nil || !strings.Contains(err.Error(), "ufw does not let in 8080/tcp") {
		t.Errorf("confirmed what somebody took back: %+v, %v", done, err)
	}
	endTrial(t, m, "8080/tcp is no longer let in by ufw: ended before it was confirmed")
	letsInAndOut(t, h, source, m, firewall.UFW, func() { command(t, "ufw reload") })
	if out := command(t, "ufw show added"); !strings.Contains(out, "ufw allow 2222/tcp\nufw allow 8080/tcp\n") || ufwEnabled("/") {
		t.Errorf("rules, enabled %v:\n%s", ufwEnabled("/"), out)
	}
}

func TestFirewalldLetsAServiceInAndIsSwitchedOff(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable ufw.service")
	command(t, "firewall-offline-cmd --zone=drop --add-source=198.51.100.0/24")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	enable(t, source, m)
	letsInAndOut(t, h, source, m, firewall.Firewalld, func() { command(t, "firewall-cmd --reload") })
	if out := command(t, "firewall-offline-cmd --zone=drop --list-ports"); strings.TrimSpace(out) != "" {
		t.Errorf("those who are kept out are let in by %s", out)
	}
	if u := m.units.State(t.Context(), firewalldUnit); u.Enabled || u.Active {
		t.Errorf("firewalld: %+v", u)
	}
}
