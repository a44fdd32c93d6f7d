// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// rulesOfOthers are those of Docker, of an administrator and of wg-quick.
const rulesOfOthers = `iptables -N DOCKER-USER && iptables -A FORWARD -j DOCKER-USER && iptables -A FORWARD -i wg0 -j ACCEPT &&
iptables -A DOCKER-USER -i v0 -p tcp --dport 6379 -j DROP && iptables -t nat -A POSTROUTING -s 10.8.0.0/24 -o v0 -j MASQUERADE &&
ip6tables -t mangle -A PREROUTING -j MARK --set-mark 7 && ebtables -A FORWARD -i v0 -j DROP`

// loadedByIptables is all that there is in iptables.
func loadedByIptables(t *testing.T) (rules string) {
	t.Helper()
	for _, program := range savePrograms {
		for line := range strings.Lines(command(t, filepath.Base(program))) {
			if strings.HasPrefix(line, "-A ") {
				rules += line
			}
		}
	}
	return rules
}

// refused asserts that a trial is refused, for what and with which command to go on.
func refused(t *testing.T, err error, code fault.Code, texts ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != code {
		t.Fatalf("got %v", err)
	}
	for _, text := range texts {
		if !strings.Contains(f.Message+"\n"+f.Fix, text) {
			t.Errorf("%q is not in %q, fix %q", text, f.Message, f.Fix)
		}
	}
}

func TestFirewalldThatWouldEmptyTheTablesOfOthersIsNotTried(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	command(t, "systemctl mask ufw.service")
	command(t, "systemctl disable firewalld.service")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	o := firewall.EnableOptions{Trials: trials(m, time.Hour)}
	early, err := firewall.PlanEnable(t.Context(), source, m, o)
	if err != nil {
		t.Fatal(err)
	}
	shell(t, rulesOfOthers)
	before := loadedByIptables(t)
	if strings.Count(before, "\n") != 6 {
		t.Fatalf("loaded:\n%s", before)
	}
	_, err = firewall.PlanEnable(t.Context(), source, m, o)
	refused(t, err, fault.FirewallFailed,
		": iptables filter DOCKER-USER; iptables filter FORWARD; iptables nat POSTROUTING; ip6tables mangle PREROUTING; ebtables filter FORWARD.",
		"sudo systemctl mask firewalld.service, then sudo sentinel --fix-firewall")
	_, err = early.Do(t.Context())
	refused(t, err, fault.FirewallFailed, "iptables filter DOCKER-USER", "what was changed was taken back")
	if out := command(t, "systemctl show --property=ActiveState --value firewalld.service"); out != "inactive\n" {
		t.Errorf("firewalld is %s", out)
	}
	command(t, "systemctl mask firewalld.service") // as the refusal says
	if done := try(t, source, m, time.Hour); done.Manager != firewall.Nftables {
		t.Errorf("got %+v", done)
	}
	h.reaches("8080", false)
	endTrial(t, m, "was taken back")
	h.reaches("8080", true)
	if after := loadedByIptables(t); after != before {
		t.Errorf("the rules were\n%s\nand are\n%s", before, after)
	}
}

func TestFirewalldThatOthersHaveRulesBesideIsNotSwitchedOffForATrial(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	command(t, "systemctl start dbus.service")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	o := firewall.DisableOptions{Trials: trials(m, time.Hour)}
	shell(t, "systemctl start firewalld.service && firewall-cmd --state")
	early, err := firewall.PlanDisable(t.Context(), source, m, o)
	if err != nil {
		t.Fatal(err)
	}
	shell(t, "iptables -N DOCKER && iptables -I FORWARD -j DOCKER && iptables -A DOCKER -i docker0 -j ACCEPT")
	_, err = firewall.PlanDisable(t.Context(), source, m, o)
	refused(t, err, fault.FirewallFailed, ": iptables filter DOCKER; iptables filter FORWARD.", "sudo systemctl disable --now firewalld.service")
	_, err = early.Do(t.Context())
	refused(t, err, fault.FirewallFailed, "iptables filter DOCKER")
	if out := loadedByIptables(t); out != "-A FORWARD -j DOCKER\n-A DOCKER -i docker0 -j ACCEPT\n" {
		t.Errorf("the rules are\n%s", out)
	}
}

func TestFirewalldThatWouldComeBackWithOtherRulesIsNotSwitchedOff(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	shell(t, "firewall-offline-cmd --new-ipset=friends --type=hash:ip && systemctl start firewalld.service && firewall-cmd --state")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	o := firewall.DisableOptions{Trials: trials(m, time.Hour)}
	early, err := firewall.PlanDisable(t.Context(), source, m, o)
	if err != nil {
		t.Fatal(err)
	}
	h.reaches("2222", false)
	shell(t, "firewall-cmd --add-port=2222/tcp && firewall-cmd --add-service=http && firewall-cmd --add-rich-rule='rule port port=\"99\" protocol=\"tcp\" accept' && "+
		"firewall-cmd --zone=work --add-interface=cable9 && firewall-cmd --zone=home --add-source=198.51.100.0/24 && firewall-cmd --ipset=friends --add-entry=192.0.2.7 && "+
		"firewall-cmd --policy=allow-host-ipv6 --add-port=77/tcp && firewall-cmd --permanent --zone=public --remove-service=ssh")
	differ := []string{
		"ipset friends, entries: 192.0.2.7 (now only)", "policy allow-host-ipv6, ports: 77/tcp (now only)", "zone home, sources: 198.51.100.0/24 (now only)",
		"zone public, ports: 2222/tcp (now only)", `zone public, rich rules: rule port port="99" protocol="tcp" accept (now only)`,
		"zone public, services: http, ssh (now only)", "zone work, interfaces: cable9 (now only)",
	}
	f := loadedFirewalld{firewalld{m: m}}
	if got, err := f.differences(t.Context()); err != nil || !slices.Equal(sorted(got), sorted(differ)) {
		t.Errorf("got %q, %v; want %q", got, err, differ)
	}
	_, err = firewall.PlanDisable(t.Context(), source, m, o)
	refused(t, err, fault.FirewallFailed, "zone public, ports: 2222/tcp (now only)", "and 1 more", "sudo firewall-cmd --runtime-to-permanent.")
	_, err = early.Do(t.Context())
	refused(t, err, fault.FirewallFailed, "zone public, ports: 2222/tcp (now only)")
	h.reaches("2222", true)
	shell(t, "firewall-cmd --runtime-to-permanent")
	switchOff(t, source, m, false)
	h.reaches("8080", true)
	endTrial(t, m, "was switched on again")
	h.reaches("2222", true)
	h.reaches("8080", false)
	command(t, "firewall-cmd --permanent --add-port=82/udp")
	_, err = firewall.PlanDisable(t.Context(), source, m, o)
	refused(t, err, fault.FirewallFailed, ": zone public, ports: 82/udp (permanently only).", "sudo firewall-cmd --reload")
}

// The minutely run of [RestoreUnit], before which firewalld does not start, may be the one that takes a trial
// back, or wait for it.
func TestFirewalldComesBackWhileTheRestoreUnitRuns(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	command(t, "systemctl start dbus.service")
	shell(t, "firewall-offline-cmd --add-port=2222/tcp && systemctl start firewalld.service && firewall-cmd --state")
	shell(t, "mkdir -p /etc/systemd/system/"+RestoreUnit+".d && printf '[Service]\nExecStart=\nExecStart=/bin/sleep 600\n' > /etc/systemd/system/"+RestoreUnit+".d/x.conf && systemctl daemon-reload")
	m, source := NewManager(sysexec.Host{}), kernel(t)
	switchOff(t, source, m, false)
	shell(t, rulesOfOthers)
	before := loadedByIptables(t)
	command(t, "systemctl start --no-block "+RestoreUnit)
	testenv.WaitFor(t, "the unit that takes back", func() bool { return m.units.State(t.Context(), RestoreUnit).Starting })
	endTrial(t, m, "was switched on again")
	if !m.units.State(t.Context(), RestoreUnit).Starting {
		t.Error("the unit that takes back has ended")
	}
	if after := loadedByIptables(t); after != before {
		t.Errorf("the rules of others were\n%s\nand are\n%s", before, after)
	}
	h.reaches("2222", true)
	h.reaches("8080", false)
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func TestRulesOfOthersInIptables(t *testing.T) {
	for name, c := range map[string]struct {
		saved    string
		policies bool
		want     []string
	}{
		"nothing":               {"", true, nil},
		"empty chains":          {"*filter\n:INPUT ACCEPT [0:0]\n:DOCKER - [0:0]\nCOMMIT\n", true, nil},
		"a policy":              {"*filter\n:FORWARD DROP [0:0]\n", true, []string{"iptables filter FORWARD (policy)"}},
		"a policy that stays":   {"*filter\n:FORWARD DROP [0:0]\n", false, nil},
		"blocked addresses":     {"*filter\n:SENTINEL - [0:0]\n-A INPUT -j SENTINEL\n-A SENTINEL -s 192.0.2.1/32 -j DROP\n", false, nil},
		"a rule without target": {"*nat\n-A POSTROUTING\n-A POSTROUTING -o v0\n", false, []string{"iptables nat POSTROUTING"}},
		"what ufw leaves":       {"*filter\n:INPUT ACCEPT [0:0]\n:ufw-before-input - [0:0]\n-A INPUT -j ufw-before-input\n", false, nil},
		"a way out of a chain":  {"*filter\n:A - [0:0]\n:INPUT ACCEPT [0:0]\n-A INPUT -g A\n", false, []string{"iptables filter INPUT"}},
		"cut off":               {"*\n:\n-A\n\n*raw\n-A PREROUTING -j CT --notrack", true, []string{"iptables raw PREROUTING"}},
	} {
		if got := othersIn("iptables", c.saved, c.policies); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
