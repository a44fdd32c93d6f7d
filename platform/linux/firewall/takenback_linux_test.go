// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// shell runs a line as a person would paste it.
func shell(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// shortTrial is long enough to look at what is on, and ends while a test waits.
const shortTrial = 6 * time.Second

// waitsFor waits until the other host can connect to a port of this one.
func (h *neighbour) waitsFor(port string) {
	h.t.Helper()
	testenv.WaitFor(h.t, "port "+port, func() bool {
		c, err := h.dial(h.gateway()+":"+port, silence)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// noTrial waits until nothing is on trial any more.
func noTrial(t *testing.T, m *Manager) {
	t.Helper()
	testenv.WaitFor(t, "the end of the trial", func() bool {
		current, err := trials(m, 0).Current()
		return err == nil && current == nil
	})
}

// takesItselfBack switches a firewall on that shuts out remote sessions by a rule
// which nobody foresees, and asserts that they get in again although nobody does anything.
func takesItselfBack(t *testing.T, h *neighbour, why string) {
	t.Helper()
	m := NewManager(sysexec.Host{})
	done := try(t, kernel(t), m, shortTrial)
	if done.ConfirmWithin == 0 || *done.Persistent {
		t.Errorf("%s: %+v", why, done)
	}
	if c, err := h.dial(h.gateway()+":2222", silence); err == nil {
		c.Close()
		t.Errorf("%s does not shut the port", why)
	}
	noTrial(t, m)
	h.waitsFor("2222")
	h.reaches("8080", true)
}

// What shuts SSH out makes no difference to a trial, so two ways stand for all.
func TestFirewalldWhoseRulesShutOutSSHIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable ufw.service")
	before := command(t, "firewall-offline-cmd --list-all-zones")
	for _, c := range []struct{ rule, undo string }{
		{`--add-rich-rule='rule port port="2222" protocol="tcp" reject'`, `--remove-rich-rule='rule port port="2222" protocol="tcp" reject'`},
		{`--direct --add-rule ipv4 filter INPUT 0 -p tcp --dport 2222 -j DROP`, `--direct --remove-rule ipv4 filter INPUT 0 -p tcp --dport 2222 -j DROP`},
	} {
		shell(t, "firewall-offline-cmd "+c.rule)
		takesItselfBack(t, h, c.rule)
		shell(t, "firewall-offline-cmd "+c.undo)
		if out := command(t, "systemctl show --property=ActiveState --value firewalld.service"); out != "inactive\n" {
			t.Errorf("%s: firewalld is %s", c.rule, out)
		}
		if after := command(t, "firewall-offline-cmd --list-all-zones"); after != before {
			t.Errorf("%s: the zones were\n%s\nand are\n%s", c.rule, before, after)
		}
	}
	if out := command(t, "systemctl is-enabled ssh.service"); out != "enabled\n" {
		t.Errorf("ssh.service is %s", out)
	}
}

func TestUFWWhoseRulesShutOutSSHIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	shell(t, "printf '[Odd SSH]\ntitle=x\ndescription=x\nports=2222/tcp\n' > /etc/ufw/applications.d/odd")
	shell(t, "ufw deny 'Odd SSH'")
	before := command(t, "ufw show added")
	takesItselfBack(t, h, "a rule of an application profile")
	if after := command(t, "ufw show added"); after != before || command(t, "ufw status") != "Status: inactive\n" {
		t.Errorf("the rules were\n%s\nand are\n%s", before, after)
	}
	shell(t, "ufw delete deny 'Odd SSH'")
	const file = "/etc/ufw/before.rules"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rule := "\n-I ufw-before-input -i cable1 -p tcp --dport 2222 -j DROP\nCOMMIT"
	if err := os.WriteFile(file, []byte(strings.Replace(string(raw), "\nCOMMIT", rule, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	takesItselfBack(t, h, file)
	shell(t, "sed -i s/ENABLED=no/ENABLED=yes/ /etc/ufw/ufw.conf")
	takesItselfBack(t, h, "an ufw that is to be on, and is not")
	if out := command(t, "ufw show added"); !ufwEnabled("/") || strings.Contains(out, "2222") {
		t.Errorf("enabled %v, rules\n%s", ufwEnabled("/"), out)
	}
}

// On a full disk and on a read-only file system ufw cannot note that it is off,
// and then leaves its rules loaded.
func TestUFWThatCannotBeDisabledIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	shell(t, "ufw deny in on cable1")
	m := NewManager(sysexec.Host{})
	try(t, kernel(t), m, shortTrial)
	h.reaches("2222", false)
	shell(t, "mount --bind /etc/ufw/ufw.conf /etc/ufw/ufw.conf && mount -o remount,bind,ro /etc/ufw/ufw.conf")
	h.waitsFor("2222")
	h.reaches("8080", true)
	if current, err := trials(m, 0).Current(); err != nil || current == nil {
		t.Errorf("ufw is on after a reboot, and the record is gone: %+v, %v", current, err)
	}
	shell(t, "umount /etc/ufw/ufw.conf")
	if said, err := trials(m, 0).End(t.Context(), false); err != nil || said == "" || ufwEnabled("/") {
		t.Errorf("%q, %v, enabled %v", said, err, ufwEnabled("/"))
	}
}

func TestUFWOverARuleThatDeniesThePortIsRefused(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl disable firewalld.service")
	m := NewManager(sysexec.Host{})
	o := firewall.EnableOptions{Trials: trials(m, time.Hour)}
	for _, rule := range []string{"deny 2222", "reject 2222/tcp comment 'a b'"} {
		shell(t, "ufw "+rule)
		_, err := firewall.PlanEnable(t.Context(), kernel(t), m, o)
		f := fault.From(err)
		_, undo, found := strings.Cut(f.Fix, "first: sudo ")
		undo, _, _ = strings.Cut(undo, ". Or at a console")
		if f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "there is the rule ufw "+strings.Fields(rule)[0]) || !found {
			t.Fatalf("%s: %v, %s", rule, err, f.Fix)
		}
		shell(t, undo)
	}
	if _, err := do(t, kernel(t), m, o); err == nil || !strings.Contains(err.Error(), RestoreUnit+" is not enabled") {
		t.Errorf("nothing would take ufw back after a reboot: %v", err)
	}
	if out := command(t, "ufw status") + command(t, "ufw show added"); !strings.HasPrefix(out, "Status: inactive\n") || strings.Contains(out, "2222") {
		t.Errorf("ufw: %s", out)
	}
	command(t, "systemctl enable "+RestoreUnit)
	shell(t, "ufw deny from 203.0.113.0/24 to any port 2222 && ufw allow 443 && ufw deny to any proto udp")
	switchOn(t, h, m, firewall.UFW)
}

// A reboot is another boot id.
func TestTrialsThatARebootInterruptedAreTakenBack(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl enable "+RestoreUnit)
	for _, manager := range []string{firewall.UFW, firewall.Firewalld} {
		other := map[string]string{firewall.UFW: "firewalld", firewall.Firewalld: "ufw"}[manager]
		command(t, "systemctl disable "+other+".service")
		command(t, "systemctl enable "+manager+".service")
		m := NewManager(sysexec.Host{})
		if done := try(t, kernel(t), m, time.Hour); done.Manager != manager {
			t.Fatalf("%s: %+v", manager, done)
		}
		h.reaches("8080", false)
		raw, err := os.ReadFile(trials(m, 0).Path)
		if err != nil {
			t.Fatal(err)
		}
		id, _, err := m.Boot()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(trials(m, 0).Path, []byte(strings.Replace(string(raw), id, "another", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if manager == firewall.Firewalld { // which does not come back by itself
			command(t, "systemctl stop firewalld.service")
		}
		said, err := trials(m, 0).End(t.Context(), false)
		if err != nil || !strings.Contains(said, "the machine was restarted") {
			t.Errorf("%s: %q, %v", manager, said, err)
		}
		h.reaches("8080", true)
		if out := command(t, "ufw status") + command(t, "ufw show added") + command(t, "firewall-offline-cmd --list-ports"); strings.Contains(out, "Status: active") || strings.Contains(out, "2222") {
			t.Errorf("%s leaves %s", manager, out)
		}
		if ufwEnabled("/") {
			t.Error("ufw is on after the next reboot")
		}
	}
}

func TestUFWThatDeniesTheRestLetsSSHInBeforeIt(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	shell(t, "ufw allow 443 && ufw deny to any")
	switchOn(t, h, NewManager(sysexec.Host{}), firewall.UFW)
	if out := command(t, "ufw show added"); !strings.Contains(out, "ufw allow 2222/tcp\nufw allow 443\nufw deny to any\n") {
		t.Errorf("rules:\n%s", out)
	}
}

func TestFirewalldThatStartsIsNotOvertakenByUFW(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable firewalld.service")
	shell(t, "mkdir -p /etc/systemd/system/firewalld.service.d && printf '[Service]\nExecStartPre=/bin/sleep 3\n' > /etc/systemd/system/firewalld.service.d/x.conf && systemctl daemon-reload")
	command(t, "systemctl start --no-block firewalld.service")
	testenv.WaitFor(t, "firewalld that starts", func() bool {
		return command(t, "systemctl show --property=ActiveState --value firewalld.service") == "activating\n"
	})
	done := enable(t, kernel(t), NewManager(sysexec.Host{}))
	if done.Manager != firewall.Firewalld || !done.Changed {
		t.Errorf("got %+v", done)
	}
	if out := command(t, "ufw status"); out != "Status: inactive\n" {
		t.Errorf("ufw: %s", out)
	}
	if out := command(t, "firewall-cmd --state"); out != "running\n" {
		t.Errorf("firewalld: %s", out)
	}
	h.reaches("2222", true)
	h.reaches("8080", false)
}

// The run that takes it back may meet another one that holds the lock, or fail.
func TestTakingBackThatFailsIsTriedAgain(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	units := NewManager(sysexec.Host{}).units
	if err := units.Later(t.Context(), "fails", time.Second, "/bin/false"); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "another run", func() bool {
		return strings.Contains(command(t, "systemctl list-units --all --plain --no-legend sentinel-later-*.service"), "auto-restart")
	})
}

// Nothing waits, and nothing is written, once a trial is over: a run that finds nothing to do is no news.
func TestATrialThatIsConfirmedLeavesNoTimerBehind(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	m := NewManager(sysexec.Host{})
	record := trials(m, time.Hour)
	remote(t)
	const list = "systemctl list-units --all --plain --no-legend sentinel-later-*"
	if try(t, kernel(t), m, time.Hour); command(t, list) == "" {
		t.Error("nothing takes the trial back")
	}
	if _, err := do(t, kernel(t), m, firewall.EnableOptions{Confirm: true, Trials: record}); err != nil {
		t.Fatal(err)
	}
	if out := command(t, list); out != "" {
		t.Errorf("left behind: %s", out)
	}
}

func TestTheJournalGetsTheErrorsOfALaterRunAlone(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	units := NewManager(sysexec.Host{}).units
	if err := units.Later(t.Context(), "goes well", time.Millisecond, "/bin/sh", "-c", "echo a whole document; echo '<3>an error' >&2; echo '<6>progress' >&2; touch /run/was-here"); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "the run", func() bool { _, err := os.Stat("/run/was-here"); return err == nil })
	command(t, "journalctl --sync")
	out := command(t, "journalctl --no-pager --output=cat --unit=sentinel-later-*.service")
	if out != "an error\n" {
		t.Errorf("the journal has:\n%s", out)
	}
}
