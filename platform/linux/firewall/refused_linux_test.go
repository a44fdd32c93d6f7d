// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
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

// refusedPlan asserts that no plan is made and that the refusal says why. It
// returns the command that the fix names.
func refusedPlan(t *testing.T, what, says string) string {
	t.Helper()
	_, err := firewall.PlanEnable(t.Context(), kernel(t), NewManager(sysexec.Host{}), firewall.EnableOptions{})
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != fault.FirewallFailed || !strings.Contains(refused.Message, says) {
		t.Errorf("%s: %v", what, err)
		return "true"
	}
	_, command, _ := strings.Cut(refused.Fix, "first: ")
	command, _, ok := strings.Cut(command, ". Or at a console of the machine run: sudo sentinel --fix-firewall --force")
	if !ok {
		command, _, _ = strings.Cut(command, " Or at a console")
	}
	return command
}

// forced switches the firewall on over the refusal and asserts that there was a
// reason for it.
func forced(t *testing.T, h *neighbour, what string) {
	t.Helper()
	plan, err := firewall.PlanEnable(t.Context(), kernel(t), NewManager(sysexec.Host{}), firewall.EnableOptions{Force: true})
	if err != nil {
		t.Errorf("%s, forced: %v", what, err)
		return
	}
	done, err := plan.Do(t.Context())
	if err != nil || !done.Changed || len(done.AllowedPorts) != 0 || !strings.Contains(done.Details, "shuts out new remote sessions by 2222/tcp") {
		t.Errorf("%s, forced: %+v, %v", what, done, err)
	}
	if c, err := h.dial(h.gateway()+":2222", refusal); err == nil {
		c.Close()
		t.Errorf("%s does not shut the port", what)
	}
}

func TestFirewalldOverARuleThatRefusesIsRefused(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl disable ufw.service")
	shell(t, "firewall-offline-cmd --add-forward-port=port=80:proto=tcp:toport=8081")
	shell(t, "printf '<service><port port=\"2222\" protocol=\"tcp\"/></service>' > /etc/firewalld/services/other-ssh.xml")
	for _, c := range []struct{ make, says string }{
		{`--add-rich-rule='rule port port="2222" protocol="tcp" reject'`, `in the zone public, rule port port="2222" protocol="tcp" reject`},
		{`--add-rich-rule='rule service name="other-ssh" drop'`, `rule service name="other-ssh" drop`},
		{`--add-forward-port=port=2222:proto=tcp:toport=2200`, "port=2222:proto=tcp:toport=2200"},
	} {
		shell(t, "firewall-offline-cmd "+c.make)
		undo := refusedPlan(t, c.make, c.says)
		forced(t, h, c.make)
		command(t, "systemctl stop firewalld.service")
		shell(t, undo)
		shell(t, "firewall-offline-cmd --zone=public --remove-port=2222/tcp")
		h.reaches("2222", true)
	}
	shell(t, "firewall-offline-cmd --new-policy=lock && firewall-offline-cmd --policy=lock --add-ingress-zone=ANY && firewall-offline-cmd --policy=lock --add-egress-zone=HOST && firewall-offline-cmd --policy=lock --set-priority=-10 && "+
		"firewall-offline-cmd --policy=lock --add-rich-rule='rule service name=other-ssh reject'")
	undo := refusedPlan(t, "a policy", `in the policy lock, rule service name="other-ssh" reject`)
	forced(t, h, "a policy")
	command(t, "systemctl stop firewalld.service")
	shell(t, undo)
	shell(t, "firewall-offline-cmd --policy=lock --set-target=DROP")
	shell(t, refusedPlan(t, "a policy that drops", "its target is DROP"))
	peer := `--add-rich-rule='rule family="ipv4" source address="` + h.address() + `" reject'`
	shell(t, "firewall-offline-cmd "+peer)
	session := openSession(t, h)
	shell(t, refusedPlan(t, peer, "reject"))
	goesOn(t, session)
	session.Close()
	switchOn(t, h, NewManager(sysexec.Host{}), firewall.Firewalld)
}

func TestDirectRuleOfFirewalldThatShutsOutSSHIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	shell(t, "firewall-offline-cmd --direct --add-rule ipv4 filter INPUT 0 -p tcp --dport 2222 -j DROP")
	takenBack(t, h, "--dport 2222 -j DROP")
	if out := command(t, "systemctl show --property=ActiveState firewalld.service"); out != "ActiveState=inactive\n" {
		t.Errorf("firewalld: %s", out)
	}
}

// takenBack asserts that the firewall is switched on, found to shut out remote
// sessions, and switched off again.
func takenBack(t *testing.T, h *neighbour, says string) {
	t.Helper()
	plan, err := firewall.PlanEnable(t.Context(), kernel(t), NewManager(sysexec.Host{}), firewall.EnableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Do(t.Context())
	var failed *fault.Error
	if !errors.As(err, &failed) || failed.Code != fault.FirewallFailed || !strings.Contains(failed.Message, says) || !strings.Contains(failed.Message, "taken back") {
		t.Errorf("got %v", err)
	}
	h.reaches("2222", true)
	h.reaches("8080", true)
}

func TestUFWOverARuleThatRefusesIsRefused(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl disable firewalld.service")
	shell(t, "printf '[Odd SSH]\ntitle=x\ndescription=x\nports=2222/tcp\n' > /etc/ufw/applications.d/odd")
	for _, rule := range []string{"deny 2222", "reject 2222/tcp comment 'a b'", "deny in on wall1", "deny 'Odd SSH'", "deny from any to 192.0.2.5 port 2222 proto tcp"} {
		shell(t, "ufw "+rule)
		undo := refusedPlan(t, rule, "there is the rule ufw "+strings.Fields(rule)[0])
		forced(t, h, rule)
		command(t, "ufw --force disable")
		shell(t, undo)
		shell(t, "ufw delete allow 2222/tcp")
		if out := command(t, "ufw show added"); strings.Contains(out, "ufw deny") || strings.Contains(out, "ufw reject") {
			t.Errorf("%s and %s leave:\n%s", rule, undo, out)
		}
		h.reaches("2222", true)
	}
	wish := "deny from 192.0.2.0/24 to any port 2222"
	shell(t, "ufw "+wish)
	session := openSession(t, h)
	shell(t, refusedPlan(t, wish, wish))
	goesOn(t, session)
	session.Close()
	shell(t, "ufw deny from 203.0.113.0/24 to any port 2222 && ufw allow 443 && ufw allow 'Odd SSH' && ufw delete allow 'Odd SSH' && ufw deny to any proto udp")
	switchOn(t, h, NewManager(sysexec.Host{}), firewall.UFW)
}

func TestUFWWithALastWordOfTheOwnerLetsSSHInBeforeIt(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl disable firewalld.service")
	shell(t, "ufw allow 443 && ufw deny to any")
	switchOn(t, h, NewManager(sysexec.Host{}), firewall.UFW)
	if out := command(t, "ufw show added"); !strings.Contains(out, "ufw allow 2222/tcp\nufw allow 443\nufw deny to any\n") {
		t.Errorf("rules:\n%s", out)
	}
}

func TestUFWWhoseOtherRulesShutOutSSHIsTakenBack(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl disable firewalld.service")
	for file, chain := range map[string]string{"/etc/ufw/before.rules": "ufw-before-input", "/etc/ufw/before6.rules": "ufw6-before-input"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rule := "\n-I " + chain + " -i wall1 -p tcp --dport 2222 -j DROP\nCOMMIT"
		if err := os.WriteFile(file, []byte(strings.Replace(string(raw), "\nCOMMIT", rule, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		takenBack(t, h, "--dport 2222 -j DROP")
		if out := command(t, "ufw status"); out != "Status: inactive\n" {
			t.Errorf("ufw: %s", out)
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell(t, "sed -i s/IPV6=yes/IPV6=no/ /etc/default/ufw")
	c, err := h.dial("["+h.gateway6()+"]:2222", patience)
	if err != nil {
		t.Fatal(err)
	}
	refusedPlan(t, "IPv6", "over IPv6")
	c.Close()
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
	for end := time.Now().Add(10 * time.Second); command(t, "systemctl show --property=ActiveState --value firewalld.service") != "activating\n"; {
		if time.Now().After(end) {
			t.Fatal("firewalld does not start")
		}
	}
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
