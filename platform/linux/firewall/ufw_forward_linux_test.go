// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// behind starts a server on another host that only this one's forwarding leads to, and returns its address.
func behind(t *testing.T, h *neighbour) string {
	t.Helper()
	var l net.Listener
	var err error
	h.do(func() { l, err = net.Listen("tcp", h.address()+":6379") })
	if err != nil {
		t.Fatal(err)
	}
	echoAll(t, l)
	return l.Addr().String()
}

// forwarded asserts whether one host reaches a server on another through this one, and the policies.
func (h *neighbour) forwarded(address string, want bool, policy string) {
	h.t.Helper()
	limit := waitLimit
	if !want {
		limit = silence
	}
	c, err := h.dial(address, limit)
	if err == nil {
		c.Close()
	}
	if (err == nil) != want {
		h.t.Errorf("reached through this host %v, want %v (%v)", err == nil, want, err)
	}
	for _, program := range []string{"iptables", "ip6tables"} {
		if got, _, _ := strings.Cut(command(h.t, program+" -S FORWARD"), "\n"); got != "-P FORWARD "+policy {
			h.t.Errorf("%s: %s, want %s", program, got, policy)
		}
	}
}

func TestUFWThatIsTakenBackLeavesForwardingAsItWas(t *testing.T) {
	if !testenv.Booted(t, map[string]string{RestoreUnit: shipped(t)}) {
		return
	}
	h := remote(t)
	server := behind(t, newNeighbour(t, 2))
	command(t, "systemctl enable "+RestoreUnit)
	command(t, "systemctl disable firewalld.service")
	command(t, "sysctl -q net.ipv4.ip_forward=1")
	m := NewManager(sysexec.Host{})
	takenBack := func(open bool, policy string) {
		t.Helper()
		h.forwarded(server, open, policy)
		try(t, kernel(t), m, time.Hour)
		h.forwarded(server, false, "DROP")
		endTrial(t, m, "The firewall (ufw) was taken back")
		h.forwarded(server, open, policy)
	}
	takenBack(true, "ACCEPT")
	command(t, "iptables -P FORWARD DROP")
	command(t, "ip6tables -P FORWARD DROP")
	takenBack(false, "DROP")

	shell(t, "mount --bind /etc/ufw/ufw.conf /etc/ufw/ufw.conf")
	try(t, kernel(t), m, time.Hour)
	command(t, "mount -o remount,bind,ro /etc/ufw/ufw.conf")
	if _, err := trials(m, 0).End(t.Context(), true); err == nil {
		t.Error("ufw notes in a file that cannot be written that it is off")
	}
	h.reaches("8080", true)
	h.forwarded(server, false, "DROP")
	command(t, "umount /etc/ufw/ufw.conf")
	endTrial(t, m, "The firewall (ufw) was taken back")
	h.forwarded(server, false, "DROP")

	enable(t, kernel(t), m)
	off := switchOff(t, kernel(t), m, false)
	if want := "This machine forwards packets, as for containers and virtual machines, and only ufw keeps other hosts from what is behind it"; !strings.Contains(off.Details, want) {
		t.Errorf("switched off: %s", off.Details)
	}
	h.forwarded(server, true, "ACCEPT")
	endTrial(t, m, "was switched on again")
	h.forwarded(server, false, "DROP")
}

const (
	readForward  = "/usr/sbin/iptables -w 5 -S FORWARD"
	readForward6 = "/usr/sbin/ip6tables -w 5 -S FORWARD"
)

// forwarding is a machine with iptables, which says the policies.
func forwarding(policy, policy6 string) *script {
	s := &script{said: map[string]string{readForward: "-P FORWARD " + policy + "\n-A FORWARD -j DOCKER-USER\n", readForward6: "-P FORWARD " + policy6 + "\n"}}
	s.files = []string{ufwProgram, "/usr/sbin/iptables", "/usr/sbin/ip6tables", "/lib/ufw/ufw-init"}
	return s
}

func TestWhatIsNotForwardedIsNotedBeforeUFWIsSwitchedOn(t *testing.T) {
	for name, c := range map[string]struct {
		policy, policy6 string
		want            []string
	}{
		"both":    {"DROP", "DROP", []string{"ip", "ip6"}},
		"IPv4":    {"DROP", "ACCEPT", []string{"ip"}},
		"IPv6":    {"ACCEPT", "DROP", []string{"ip6"}},
		"neither": {"ACCEPT", "ACCEPT", nil},
	} {
		s := forwarding(c.policy, c.policy6)
		var noted firewall.Change
		note := func(c firewall.Change) error {
			noted = c
			if slices.Contains(s.ran, ufwProgram+" --force enable") {
				t.Errorf("%s: noted afterwards", name)
			}
			return nil
		}
		if err := (&ufw{m: s.manager()}).Enable(t.Context(), nil, note); err != nil {
			t.Fatal(err)
		}
		if want := (firewall.Change{Manager: firewall.UFW, ForwardDropped: c.want}); !reflect.DeepEqual(noted, want) {
			t.Errorf("%s: noted %+v", name, noted)
		}
	}
}

func TestForwardingThatCannotBeReadIsAReasonNotToBegin(t *testing.T) {
	s := forwarding("DROP", "DROP")
	broken := sysexec.Result{Exit: 4, Stderr: []byte("Another app is currently holding the xtables lock.\n")}
	s.fails = map[string]sysexec.Result{readForward6: broken}
	begun := func() ([]string, error) {
		var noted []string
		err := (&ufw{m: s.manager()}).Enable(context.Background(), nil, func(c firewall.Change) error {
			noted = c.ForwardDropped
			return nil
		})
		return noted, err
	}
	if noted, err := begun(); err != nil || !slices.Equal(noted, []string{"ip"}) {
		t.Errorf("without ip6tables: %q, %v", noted, err)
	}
	s.ran, s.fails = nil, map[string]sysexec.Result{readForward: broken}
	if _, err := begun(); err == nil || !strings.Contains(err.Error(), "holding the xtables lock") || slices.Contains(s.ran, ufwProgram+" --force enable") {
		t.Errorf("%v, ran %q", err, s.ran)
	}
}

func TestForwardingIsClosedAgainWhoeverTakesUFWBack(t *testing.T) {
	const (
		disable, unload = ufwProgram + " --force disable", "/lib/ufw/ufw-init force-stop"
		drop, drop6     = "/usr/sbin/iptables -w 5 -P FORWARD DROP", "/usr/sbin/ip6tables -w 5 -P FORWARD DROP"
	)
	for name, c := range map[string]struct {
		change firewall.Change
		fails  bool
		ran    []string
	}{
		"both":                        {firewall.Change{ForwardDropped: []string{"ip", "ip6"}}, false, []string{disable, drop, drop6}},
		"IPv6":                        {firewall.Change{ForwardDropped: []string{"ip6"}}, false, []string{disable, drop6}},
		"open, or an older record":    {firewall.Change{}, false, []string{disable}},
		"what is no family":           {firewall.Change{ForwardDropped: []string{"-F"}}, false, []string{disable}},
		"a configuration for reading": {firewall.Change{ForwardDropped: []string{"ip"}}, true, []string{disable, unload, drop}},
		"another boot":                {firewall.Change{ForwardDropped: []string{"ip"}, Rebooted: true}, false, []string{disable}},
	} {
		s := forwarding("ACCEPT", "ACCEPT")
		if c.fails {
			s.fails = map[string]sysexec.Result{disable: {Exit: 1, Stderr: []byte("No space left on device\n")}}
		}
		c.change.Manager = firewall.UFW
		b, err := s.manager().Resume(c.change)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Undo(t.Context()); (err != nil) != c.fails || !slices.Equal(s.ran, c.ran) {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}

func TestForwardingThatUFWClosesOrOpensIsTold(t *testing.T) {
	const v4, v6 = "proc/sys/net/ipv4/conf/eth0/forwarding", "proc/sys/net/ipv6/conf/all/forwarding"
	for name, c := range map[string]struct {
		policy, v4, v6, now string
		closes, opens       bool
	}{
		"IPv4":        {"DROP", "1\n", "0\n", "DROP", true, false},
		"IPv6":        {"REJECT", "0\n", "1\n", "DROP", true, false},
		"nothing":     {"DROP", "0\n", "0\n", "DROP", false, false},
		"open anyway": {"ACCEPT", "1\n", "1\n", "ACCEPT", false, false},
		"opened":      {"ACCEPT", "1\n", "1\n", "DROP", false, true},
		"to nobody":   {"ACCEPT", "0\n", "0\n", "DROP", false, false},
	} {
		m := forwarding(c.now, c.now).manager()
		m.root = testenv.Plant(t, map[string]string{ufwDefaults: "DEFAULT_FORWARD_POLICY=\"" + c.policy + "\"\n", v4: c.v4, v6: c.v6})
		rules, err := (&ufw{m: m}).Rules(t.Context())
		if err != nil || rules.Forwarded != c.closes || rules.ForwardsAll != c.opens {
			t.Errorf("%s: %v, %v, %v", name, rules.Forwarded, rules.ForwardsAll, err)
		}
	}
}
