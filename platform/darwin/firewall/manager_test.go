// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
)

func tcp(n uint16) firewall.Port { return firewall.Port{Number: n, Protocol: "tcp"} }

func TestStatusIsThatOfTheApplicationFirewall(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *mac)
		want   firewall.Status
	}{
		"off":        {func(*mac) {}, firewall.Status{State: firewall.Disabled, Evidence: "the Application Firewall is off; pf is disabled"}},
		"on":         {func(m *mac) { m.global = 1 }, firewall.Status{State: firewall.Active, Evidence: "the Application Firewall is on; pf is disabled"}},
		"on, older":  {func(m *mac) { m.global, m.older = 1, true }, firewall.Status{State: firewall.Active, Evidence: "the Application Firewall is on; pf is disabled"}},
		"blocks all": {func(m *mac) { m.global, m.blockAll = 1, true }, firewall.Status{State: firewall.Active, Evidence: "the Application Firewall is on and blocks all incoming connections; pf is disabled"}},
		"pf alone": {
			func(m *mac) { m.pf = "Status: Enabled for 0 days 00:00:05           Debug: Urgent\n" },
			firewall.Status{State: firewall.Disabled, Evidence: "the Application Firewall is off; pf is enabled"},
		},
		"a user": {func(m *mac) { m.user, m.global = true, 1 }, firewall.Status{State: firewall.Active, Evidence: "the Application Firewall is on; pf is not readable without root"}},
		"pf odd": {func(m *mac) { m.pf = "" }, firewall.Status{State: firewall.Disabled, Evidence: "the Application Firewall is off; pf could not be read"}},
		"hangs": {
			func(m *mac) { m.hangs = "--get" },
			firewall.Status{State: firewall.Unknown, Evidence: "the state of the Application Firewall did not answer in time; pf is disabled"},
		},
		"another language": {func(m *mac) { m.language = true }, firewall.Status{
			State: firewall.Unknown, Evidence: "the state of the Application Firewall could not be read: The Application Firewall does not tell: socketfilterfw does not report the state of the Application Firewall; pf is disabled",
		}},
		"missing": {func(m *mac) { m.missing = true }, firewall.Status{
			State: firewall.Unknown, Evidence: "the state of the Application Firewall could not be read: There is no /usr/libexec/ApplicationFirewall/socketfilterfw; pf is disabled",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMac()
			c.change(m)
			if got := firewall.Assess(New(m).Firewall(t.Context())); got != c.want {
				t.Errorf("%s:\n%s", name, cmp.Diff(c.want, got))
			}
			if changes := m.changes(); len(changes) > 0 {
				t.Errorf("%s: looking did %q", name, changes)
			}
		})
	}
}

func TestOpenPortsAreThoseOfPeople(t *testing.T) {
	of := newMac() // of the players lsof does not tell whose they are
	of.sockets = strings.NewReplacer("claunchd\n", "claunchd\nu0\n", "cnode\n", "cnode\nu501\n").Replace(of.sockets)
	of.sockets += "p700\ncweb\nu502\nf5\ntIPv4\nd0xa\nPTCP\nn192.0.2.7:22\nTST=LISTEN\n"
	got, err := New(of).OpenPorts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := firewall.OpenPorts{
		Remote: []firewall.Port{tcp(22), tcp(22), tcp(22)},
		Listeners: []firewall.Listener{
			{Port: tcp(22), Process: "launchd"}, {Port: tcp(22), Process: "launchd"},
			{Port: firewall.Port{Number: 5353, Protocol: "udp"}, Process: "mDNSResponder"},
			{Port: tcp(3000), Process: "node"}, {Port: tcp(8200), Process: "Some Player"}, {Port: tcp(22), Process: "web"},
		},
		Servers: map[firewall.Port]int{tcp(22): 0, tcp(3000): 501},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	m := newMac()
	m.lsof = context.DeadlineExceeded
	if _, err := New(m).OpenPorts(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// enable plans and does it, as sentinel would.
func enable(t *testing.T, m *mac, force bool) (firewall.Enabled, error) {
	t.Helper()
	w := New(m)
	plan, err := firewall.PlanEnable(t.Context(), w, w, firewall.EnableOptions{Force: force})
	if err != nil {
		return firewall.Enabled{}, err
	}
	if changes := m.changes(); len(changes) > 0 {
		t.Errorf("planning did %q", changes)
	}
	return plan.Do(t.Context())
}

func TestFirewallIsSwitchedOn(t *testing.T) {
	for name, older := range map[string]bool{"macOS 26": false, "macOS 12": true} {
		m := newMac()
		m.older = older
		got, err := enable(t, m, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.global != 1 || m.blockAll || !got.Changed || got.FirewallStatus != firewall.Active || got.Manager != "application-firewall" || !*got.Persistent {
			t.Errorf("%s: state %d, %+v", name, m.global, got)
		}
		if !slices.Equal(got.AllowedPorts, []firewall.Port{tcp(22)}) || len(got.Closes) != 1 || got.Closes[0].Process != "Some Player" {
			t.Errorf("%s: allowed %v, closes %v", name, got.AllowedPorts, got.Closes)
		}
		for _, say := range []string{
			"The Application Firewall was switched on: the Application Firewall is on; pf is disabled.", "Remote sessions by 22/tcp are let in as before, and open ones go on.",
			"One other service became unreachable", "Programs that are signed stay reachable", "comes back after a reboot",
		} {
			if !strings.Contains(got.Details, say) {
				t.Errorf("%s: %q does not say %q", name, got.Details, say)
			}
		}
		if changes := m.changes(); !slices.Equal(changes, []string{"--setglobalstate on"}) {
			t.Errorf("%s: did %q", name, changes)
		}
	}
}

func TestFirewallThatIsOnIsLeftAlone(t *testing.T) {
	m := newMac()
	m.global, m.blockAll = 1, true
	got, err := enable(t, m, false)
	if err != nil || got.Changed || got.Manager != "application-firewall" || !strings.Contains(got.Details, "was on already: the Application Firewall is on and blocks all") {
		t.Errorf("%+v, %v", got, err)
	}
	if changes := m.changes(); len(changes) > 0 {
		t.Errorf("did %q", changes)
	}
}

// A failed change leaves nothing behind, and its error has a fix.
func TestRefusals(t *testing.T) {
	wrapper, session := rule{"/usr/libexec/sshd-keygen-wrapper", true}, rule{"/usr/libexec/sshd-session", true}
	for name, c := range map[string]struct {
		change    func(m *mac)
		code      fault.Code
		says, fix string
	}{
		"managed":                   {func(m *mac) { m.managed = true }, fault.FirewallFailed, "configuration profile", "device management (MDM)"},
		"not root":                  {func(m *mac) { m.user = true }, fault.FirewallFailed, "only root", ""},
		"does nothing":              {func(m *mac) { m.inert = true }, fault.FirewallFailed, "the Application Firewall is off", ""},
		"hangs":                     {func(m *mac) { m.hangs = "--set" }, fault.FirewallFailed, "could not be switched on", "half on"},
		"cannot be asked":           {func(m *mac) { m.hangs = "--get" }, fault.Unavailable, "did not answer in time", ""},
		"missing":                   {func(m *mac) { m.missing = true }, fault.FirewallUnavailable, "There is no", "System Settings"},
		"mute":                      {func(m *mac) { m.mute = true }, fault.Unavailable, "does not tell", "System Settings"},
		"set to block all":          {func(m *mac) { m.blockAll = true }, fault.FirewallFailed, "22/tcp: it is set to block all", "--setblockall off"},
		"set to block all, older":   {func(m *mac) { m.blockAll, m.older = true, true }, fault.FirewallFailed, "22/tcp: it is set to block all", "--setblockall off"},
		"ssh is blocked":            {func(m *mac) { m.rules[0] = wrapper }, fault.FirewallFailed, "blocks /usr/libexec/sshd-keygen-wrapper", "--unblockapp /usr/libexec/sshd-keygen-wrapper"},
		"ssh is blocked, older":     {func(m *mac) { m.rules[0], m.older = wrapper, true }, fault.FirewallFailed, "blocks /usr/libexec/sshd-keygen-wrapper", "--unblockapp"},
		"ssh is blocked, short":     {func(m *mac) { m.rules[0], m.short = wrapper, true }, fault.FirewallFailed, "blocks sshd-keygen-wrapper", "System Settings"},
		"its sessions are blocked":  {func(m *mac) { m.rules = append(m.rules, session) }, fault.FirewallFailed, "blocks /usr/libexec/sshd-session", "--unblockapp /usr/libexec/sshd-session"},
		"the list is not readable":  {func(m *mac) { m.rules[1].path = "/tmp/x\n2 : /y" }, fault.FirewallFailed, "list of programs cannot be read", "System Settings"},
		"a name that is not a path": {func(m *mac) { m.rules[0] = rule{"/tmp/$(x)'/sshd", true} }, fault.FirewallFailed, "blocks /tmp/$(x)'/sshd", "System Settings"},
		"the sockets are not told":  {func(m *mac) { m.lsof = errors.New("broken") }, fault.Unavailable, "cannot be found out", "--force"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMac()
			c.change(m)
			rules := slices.Clone(m.rules)
			_, err := enable(t, m, false)
			var known *fault.Error
			if !errors.As(err, &known) {
				t.Fatalf("%s: %v", name, err)
			}
			if known.Code != c.code || !strings.Contains(known.Message, c.says) || !strings.Contains(known.Fix, c.fix) {
				t.Errorf("%s: %s %q, fix %q", name, known.Code, known.Message, known.Fix)
			}
			if m.global != 0 || !slices.Equal(m.rules, rules) {
				t.Errorf("%s: state %d, rules %v", name, m.global, m.rules)
			}
			if strings.Contains(known.Fix, "$(") {
				t.Errorf("%s: the fix %q is not safe to copy", name, known.Fix)
			}
		})
	}
}

// dropbear is an SSH server that was added, with a session.
const dropbear = `p700
cdropbear
f5
tIPv4
d0x11
PTCP
n*:2222
TST=LISTEN
f6
tIPv4
d0x12
PTCP
n192.0.2.7:2222->192.0.2.9:50124
TST=ESTABLISHED
`

// Nobody can tell whether a server that is no part of macOS is let in without a rule.
func TestAnAddedServerIsAWayIn(t *testing.T) {
	m := newMac()
	m.sockets = dropbear
	got, err := New(m).OpenPorts(t.Context())
	if err != nil || !slices.Equal(got.Remote, []firewall.Port{tcp(2222), tcp(2222)}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := enable(t, m, false); err == nil || !strings.Contains(err.Error(), "2222/tcp: its list does not name dropbear") {
		t.Errorf("%v", err)
	}
	m.rules = append(m.rules, rule{"/opt/homebrew/sbin/dropbear", true})
	if _, err := enable(t, m, false); err == nil || !strings.Contains(err.Error(), "blocks /opt/homebrew/sbin/dropbear") {
		t.Errorf("%v", err)
	}
	m.rules[len(m.rules)-1].block = false
	done, err := enable(t, m, false)
	if err != nil || m.global != 1 || !slices.Equal(done.AllowedPorts, []firewall.Port{tcp(2222)}) {
		t.Errorf("%+v, %v", done, err)
	}
}

// Anybody can name a program after a server of sessions, and listen with it: it keeps the firewall
// neither from being switched on, nor has anything let in, nor counts at the port of another.
func TestServersOfPeopleAreNoWayIn(t *testing.T) {
	const listens = "f5\ntIPv4\nd0x11\nPTCP\nn*:4444\nTST=LISTEN\nf6\ntIPv4\nd0x12\nPTCP\nn192.0.2.7:4444->192.0.2.9:50124\nTST=ESTABLISHED\n"
	for _, name := range []string{"dropbear", "sshd", "sshd-session", "screensharingd", "launchd"} {
		for user, ways := range map[string]int{"u501\n": 0, "u0\n": 2, "": 2} {
			if name == "launchd" { // listens for others, at their ports
				ways = 0
			}
			m := newMac()
			m.sockets = "p700\nc" + name + "\n" + user + listens
			if got, err := New(m).OpenPorts(t.Context()); err != nil || len(got.Remote) != ways || len(got.Listeners) != 1 {
				t.Errorf("%s of %q: %+v, %v", name, user, got, err)
			}
		}
		m := newMac()
		m.builtin, m.rules, m.sockets = false, nil, "p700\nc"+name+"\nu501\n"+strings.ReplaceAll(listens, ":4444", ":5900")
		if got, err := enable(t, m, false); err != nil || len(got.AllowedPorts) != 0 || !slices.Equal(m.changes(), []string{"--setglobalstate on"}) {
			t.Errorf("%s: %+v, %v after %q", name, got, err, m.changes())
		}
	}
	m := newMac()
	m.rules = append(m.rules, rule{"/Users/eve/dropbear", true})
	m.sockets = "p700\ncdropbear\nu501\nf5\ntIPv4\nd0x11\nPTCP\nn192.0.2.7:22\nTST=LISTEN\n" + strings.Replace(remoteLogin, "claunchd\n", "claunchd\nu0\n", 1)
	if got, err := enable(t, m, false); err != nil || !slices.Equal(got.AllowedPorts, []firewall.Port{tcp(22)}) {
		t.Errorf("beside Remote Login: %+v, %v", got, err)
	}
}

// A Mac without remote access has nobody to lock out.
func TestWithoutRemoteLoginNothingIsRefused(t *testing.T) {
	m := newMac()
	m.sockets, m.blockAll = "p500\ncnode\nf5\ntIPv6\nd0x6\nPTCP\nn*:3000\nTST=LISTEN\n", true
	got, err := enable(t, m, false)
	if err != nil || m.global != 1 || !strings.Contains(got.Details, "no port is let in") || got.ClosesTotal != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where programs of macOS need a rule, ssh gets it first.
func TestRemoteLoginIsLetInFirst(t *testing.T) {
	m := newMac()
	m.builtin, m.app, m.rules = false, false, nil
	got, err := enable(t, m, false)
	want := []string{"--add /usr/libexec/sshd-keygen-wrapper", "--unblockapp /usr/libexec/sshd-keygen-wrapper", "--setglobalstate on"}
	if err != nil || !slices.Equal(m.changes(), want) || got.ClosesTotal != 3 || !strings.Contains(got.Details, "those of macOS too") {
		t.Errorf("%+v, %v after %q", got, err, m.changes())
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMac()
		m.builtin, m.rules, m.inert = false, nil, true
		if _, err := enable(t, m, false); err == nil || !slices.Contains(m.changes(), "--remove /usr/libexec/sshd-keygen-wrapper") {
			t.Errorf("%v after %q", err, m.changes())
		}
	})
}

func TestShortListIsCompletedByAsking(t *testing.T) {
	m := newMac()
	m.short, m.builtin = true, false
	if got, err := enable(t, m, false); err != nil || m.global != 1 || len(got.AllowedPorts) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if slices.Contains(m.changes(), "--add /usr/libexec/sshd-keygen-wrapper") || !slices.Contains(m.ran, "--getappblocked /usr/libexec/sshd-keygen-wrapper") {
		t.Errorf("ran %q", m.ran)
	}
}

// The firewall may take a moment to show.
func TestReadBackWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMac()
		m.slow = 4
		start := time.Now()
		if _, err := enable(t, m, false); err != nil || m.global != 1 || time.Since(start) != 4*step {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// With force, the result explains the consequences.
func TestForce(t *testing.T) {
	m := newMac()
	m.blockAll = true
	got, err := enable(t, m, true)
	if err != nil || m.global != 1 || !strings.Contains(got.Details, "blocks all incoming connections") || !strings.Contains(got.Details, "shuts out new remote sessions by 22/tcp") {
		t.Errorf("%+v, %v", got, err)
	}
}

// If ssh is blocked while the firewall is turned on, the change is rolled back.
func TestFirewallThatShutsSSHIsTakenBack(t *testing.T) {
	m := newMac()
	w := New(m)
	plan, err := firewall.PlanEnable(t.Context(), w, w, firewall.EnableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.blockAll = true // by somebody else, meanwhile
	_, err = plan.Do(t.Context())
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.FirewallFailed || m.global != 0 || !strings.Contains(known.Message, "block all") {
		t.Errorf("%v, state %d", err, m.global)
	}
}
