// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// A machine is a fake with fixed answers that records the changes made to it.
type machine struct {
	name      string
	on        bool
	facts     Facts // beside the own rules
	unread    error
	open      OpenPorts
	openErr   error
	none      error // no manager
	rules     map[Port]Verdict
	rulesErr  error
	enableErr error
	hidden    bool // what is switched on does not show
	admitsErr error
	lasting   bool
	why       string
	undoErr   error
	done      []string
	during    func()   // runs while it is switched on
	noted     bool     // it calls note, as Linux does
	skipped   []string // rules that were not read
	drops     []string
	id        string // of the boot
	uptime    time.Duration
	arranged  []string
	alone     error // nothing takes it back
	endless   error // that is known before
	endableAs string
	record    string
	resumed   Change
	loaded    string // which one was asked for
	deaf      bool   // takes changes and makes none
	forwards  bool
	opens     bool // what it forwards
	ipv6      Ruling
}

func (m *machine) Firewall(context.Context) Facts {
	f := m.facts
	f.Unreadable = m.unread
	if m.on && !m.hidden {
		f.Chains = append(slices.Clone(f.Chains), Chain{Family: "inet", Table: "their_" + m.name, Name: "input", Input: true, DropPolicy: true})
	}
	return f
}

func (m *machine) Backend(context.Context) (Backend, error) {
	if m.none != nil {
		return nil, m.none
	}
	return m, nil
}

func (m *machine) Name() string { return m.name }

func (m *machine) OpenPorts(context.Context) (OpenPorts, error) {
	d := m.open
	d.Remote = slices.Clone(d.Remote)
	return d, m.openErr
}

func (m *machine) Rules(context.Context) (Rules, error) {
	return Rules{Unread: m.skipped, Drops: m.drops, Forwarded: m.forwards, ForwardsAll: m.opens, IPv6: m.ipv6, For: func(p Port) Ruling {
		r := Ruling{Verdict: m.rules[p]}
		if r.Verdict == Denied {
			r.Rule, r.Fix = "there is deny "+p.String(), "Remove it: sudo undeny "+p.String()+"."
		}
		return r
	}}, m.rulesErr
}

func (m *machine) Enable(ctx context.Context, ports []Port, note func(Change) error) error {
	if m.noted {
		if err := note(Change{Manager: m.name, Openings: []Opening{{Port: ports[0]}}}); err != nil {
			return err
		}
	}
	m.done = append(m.done, fmt.Sprint("enable ", ports))
	if m.during != nil {
		m.during()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.on = m.enableErr == nil
	return m.enableErr
}

func (m *machine) Admits(_ context.Context, ports []Port) error {
	m.done = append(m.done, fmt.Sprint("admits ", ports))
	return m.admitsErr
}

func (m *machine) Keep(context.Context) (bool, string) {
	m.done = append(m.done, "keep")
	return m.lasting, m.why
}

func (m *machine) Undo(ctx context.Context) error {
	m.done = append(m.done, "undo")
	m.on = false
	return errors.Join(m.undoErr, ctx.Err())
}

func tcp(n uint16) Port { return Port{Number: n, Protocol: "tcp"} }

// at is a listener with no open connection.
func at(p Port, process string) Listener { return Listener{Port: p, Process: process} }

// Loaded implements [Manager].
func (m *machine) Loaded(name string) (Loaded, error) {
	m.loaded = name
	return m, nil
}

// Allow implements [Loaded].
func (m *machine) Allow(ctx context.Context, ports []Port, note func(Change) error) error {
	c := Change{Kind: LetIn, Manager: m.name}
	for _, p := range ports {
		c.Openings = append(c.Openings, Opening{Port: p})
	}
	if err := note(c); err != nil {
		return err
	}
	m.done = append(m.done, fmt.Sprint("allow ", ports))
	for _, p := range ports {
		if !m.deaf {
			m.rules[p] = Open
		}
	}
	return m.enableErr
}

// Disable implements [Loaded].
func (m *machine) Disable(_ context.Context, note func(Change) error) error {
	if err := note(Change{Kind: TurnOff, Manager: m.name}); err != nil {
		return err
	}
	m.done = append(m.done, "disable")
	m.on = m.deaf
	return m.enableErr
}

func newMachine() *machine {
	return &machine{
		name: UFW, lasting: true, rules: map[Port]Verdict{tcp(80): Open, tcp(25): Denied},
		open: OpenPorts{
			Remote:    []Port{tcp(2222), tcp(22), tcp(2222)},
			Listeners: []Listener{at(tcp(22), "sshd"), at(tcp(8080), "java"), at(tcp(8080), "java"), at(tcp(80), "nginx"), at(Port{5353, "udp"}, "a\x1b[31mb"), at(tcp(25), "exim")},
		},
	}
}

func plan(t *testing.T, m *machine, o EnableOptions) *Enabling {
	t.Helper()
	e, err := PlanEnable(t.Context(), m, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFirewallIsSwitchedOnWithTheWayInFirst(t *testing.T) {
	m := newMachine()
	e := plan(t, m, EnableOptions{})
	if len(m.done) != 0 {
		t.Errorf("planning did %q", m.done)
	}
	p := e.Preview()
	if !p.Changed || p.FirewallStatus != Active || p.Manager != UFW || p.Persistent != nil || p.Details != "" || !strings.Contains(e.Summary(), "would be switched on") {
		t.Errorf("preview %+v", p)
	}
	got, err := e.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"enable [22/tcp 2222/tcp]", "admits [22/tcp 2222/tcp]", "keep"}; !slices.Equal(m.done, want) {
		t.Errorf("did %q, want %q", m.done, want)
	}
	if !got.Changed || got.FirewallStatus != Active || !*got.Persistent || !slices.Equal(got.AllowedPorts, []Port{tcp(22), tcp(2222)}) {
		t.Errorf("got %+v", got)
	}
	if want := []Listener{at(tcp(25), "exim"), at(tcp(8080), "java"), at(Port{5353, "udp"}, "a\ufffd[31mb")}; !slices.Equal(got.Closes, want) || got.ClosesTotal != 3 || got.ClosesTruncated {
		t.Errorf("closes %+v", got.Closes)
	}
	p.Persistent, p.Details = got.Persistent, got.Details
	if !reflect.DeepEqual(p, got) {
		t.Errorf("previewed %+v, got %+v", p, got)
	}
	for _, part := range []string{"ufw was switched on", "their_ufw", "22/tcp, 2222/tcp", "3 other services became unreachable", "It comes back", "sudo ufw allow 25/tcp."} {
		if !strings.Contains(got.Details, part) {
			t.Errorf("details lack %q: %s", part, got.Details)
		}
	}
}

func TestFirewallThatIsOnIsASuccessThatChangesNothing(t *testing.T) {
	on := func(table string) Facts {
		return Facts{Chains: []Chain{{Family: "inet", Table: table, Name: "input", Input: true, DropPolicy: true}}}
	}
	for name, c := range map[string]struct {
		facts   Facts
		name    string
		none    error
		manager string
		did     []string
	}{
		"ours":                {on(BaselineTable), Nftables, nil, Nftables, []string{"keep"}},
		"ours, beside ufw":    {on(BaselineTable), UFW, nil, Nftables, nil},
		"firewalld":           {on("firewalld"), UFW, nil, Firewalld, nil},
		"somebody's":          {on("theirs"), Nftables, nil, "", nil},
		"ours, no nftables":   {on("theirs"), "", fault.New(fault.FirewallUnavailable, "None."), "", nil},
		"ufw by its own word": {Facts{Managers: []string{UFW}, Chains: on("filter").Chains}, UFW, nil, UFW, nil},
	} {
		m := newMachine()
		m.facts, m.name, m.none = c.facts, c.name, c.none
		e := plan(t, m, EnableOptions{})
		if !strings.Contains(e.Summary(), "on already") {
			t.Errorf("%s: %s", name, e.Summary())
		}
		got, err := e.Do(t.Context())
		if err != nil || got.Changed || got.FirewallStatus != Active || got.Manager != c.manager || !slices.Equal(m.done, c.did) {
			t.Errorf("%s: %+v, %v, did %q", name, got, err, m.done)
		}
		if (got.Persistent != nil) != (c.did != nil) {
			t.Errorf("%s: %+v", name, got)
		}
		if raw, err := json.Marshal(got); err != nil || strings.Contains(string(raw), "allowed_ports") || strings.Contains(string(raw), "closes") {
			t.Errorf("%s: values that nobody has looked up: %s", name, raw)
		}
		if said := map[string]string{UFW: "sudo ufw allow 8080/tcp", Firewalld: "sudo firewall-cmd --permanent --add-port=8080/tcp"}[c.manager]; !strings.Contains(got.Details, said) {
			t.Errorf("%s: %s", name, got.Details)
		}
	}
}

func TestFirewallThatCouldLockOutIsDenied(t *testing.T) {
	none := fault.New(fault.FirewallUnavailable, "None.")
	for name, c := range map[string]struct {
		change func(*machine)
		code   fault.Code
		says   string
		forced bool // --force goes on
	}{
		"status unknown":       {func(m *machine) { m.unread = fs.ErrPermission }, fault.Unavailable, "without root", false},
		"nothing to switch on": {func(m *machine) { m.none = none }, fault.FirewallUnavailable, "None.", false},
		"ports unknown":        {func(m *machine) { m.openErr = errors.New("sshd -T failed") }, fault.Unavailable, "sshd -T failed", true},
		"a rule denies":        {func(m *machine) { m.rules[tcp(22)] = Denied }, fault.FirewallFailed, "ufw shuts out new remote sessions by 22/tcp: there is deny 22/tcp.", true},
	} {
		m := newMachine()
		c.change(m)
		_, err := PlanEnable(t.Context(), m, m, EnableOptions{})
		var refused *fault.Error
		if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanEnable(t.Context(), m, m, EnableOptions{Force: true}); (err == nil) != c.forced {
			t.Errorf("%s, forced: %v", name, err)
		}
		if len(m.done) != 0 {
			t.Errorf("%s: did %q", name, m.done)
		}
	}
}

func TestForceLetsTheUsualPortInWhenNoneIsKnown(t *testing.T) {
	m := newMachine()
	m.open.Remote, m.openErr = nil, errors.New("not readable")
	got, err := plan(t, m, EnableOptions{Force: true}).Do(t.Context())
	if err != nil || !slices.Equal(got.AllowedPorts, []Port{tcp(22)}) || !strings.Contains(got.Details, "not readable") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestForceSwitchesOnOverARuleThatRefuses(t *testing.T) {
	m := newMachine()
	m.rules[tcp(22)] = Denied
	_, err := PlanEnable(t.Context(), m, m, EnableOptions{})
	if fix := fault.NewDocument("x", err).Fix; fix != "Remove it: sudo undeny 22/tcp. Or at a console of the machine run: sudo sentinel --fix-firewall --force" {
		t.Errorf("fix %q", fix)
	}
	m.admitsErr = errors.New("a rule drops 2222/tcp")
	got, err := plan(t, m, EnableOptions{Force: true}).Do(t.Context())
	if err != nil || !got.Changed || !slices.Equal(got.AllowedPorts, []Port{tcp(2222)}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, part := range []string{"(2222/tcp) were let in", "ufw shuts out new remote sessions by 22/tcp: there is deny 22/tcp.", "may be shut out: a rule drops 2222/tcp."} {
		if !strings.Contains(got.Details, part) {
			t.Errorf("details lack %q: %s", part, got.Details)
		}
	}
	if want := []string{"enable [22/tcp 2222/tcp]", "admits [2222/tcp]", "keep"}; !slices.Equal(m.done, want) {
		t.Errorf("did %q", m.done)
	}
	m = newMachine()
	m.open.Remote, m.rules[tcp(22)], m.rules[tcp(2222)] = []Port{tcp(22)}, Denied, Denied
	if p := plan(t, m, EnableOptions{Force: true}); p.Preview().AllowedPorts == nil || !strings.Contains(p.Summary(), "No port of remote sessions is let in for everyone.") {
		t.Errorf("%s", p.Summary())
	}
}

func TestMachineWithoutSSHSaysThatNothingIsLetIn(t *testing.T) {
	m := newMachine()
	m.open.Remote = nil
	got, err := plan(t, m, EnableOptions{}).Do(t.Context())
	if err != nil || len(got.AllowedPorts) != 0 || !strings.Contains(got.Details, "No server for remote sessions") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatFailsIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine)
		says   []string
	}{
		"does not start":   {func(m *machine) { m.enableErr = errors.New("exit 1") }, []string{"exit 1", "taken back"}},
		"does not show":    {func(m *machine) { m.hidden = true }, []string{"no rule that filters", "taken back"}},
		"cannot be read":   {func(m *machine) { m.during = func() { m.unread, m.hidden = fs.ErrPermission, true } }, []string{"not readable", "taken back"}},
		"shuts out SSH":    {func(m *machine) { m.admitsErr = errors.New("22/tcp is not let in") }, []string{"22/tcp", "taken back"}},
		"cannot be undone": {func(m *machine) { m.hidden, m.undoErr = true, errors.New("stuck") }, []string{"taking it back failed too: stuck"}},
	} {
		m := newMachine()
		c.change(m)
		_, err := plan(t, m, EnableOptions{}).Do(t.Context())
		var failed *fault.Error
		if !errors.As(err, &failed) || failed.Code != fault.FirewallFailed || m.done[len(m.done)-1] != "undo" || m.on {
			t.Errorf("%s: %v, did %q", name, err, m.done)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(failed.Message, part) {
				t.Errorf("%s: %s", name, failed.Message)
			}
		}
	}
}

func TestCallerThatLeavesStopsItBeforeAndNotAmidst(t *testing.T) {
	m := newMachine()
	ctx, cancel := context.WithCancel(t.Context())
	e := plan(t, m, EnableOptions{})
	cancel()
	if _, err := e.Do(ctx); !errors.Is(err, context.Canceled) || len(m.done) != 0 {
		t.Errorf("before: %v, did %q", err, m.done)
	}
	if _, err := PlanEnable(ctx, m, m, EnableOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("plan: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	m.during = cancel
	if got, err := e.Do(ctx); err != nil || !got.Changed {
		t.Errorf("amidst: %+v, %v", got, err)
	}
}

func TestFirewallThatDoesNotLastSaysWhy(t *testing.T) {
	m := newMachine()
	m.name, m.lasting, m.why = Nftables, false, "the unit is not installed"
	got, err := plan(t, m, EnableOptions{}).Do(t.Context())
	if err != nil || *got.Persistent || !strings.Contains(got.Details, "reboot: the unit is not installed.") || !strings.Contains(got.Details, "An administrator lets more in with sudo sentinel --allow-service PORT, and switches it off with sudo sentinel --disable-firewall.") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListOfWhatClosesIsCut(t *testing.T) {
	m := newMachine()
	for n := range 200 {
		m.open.Listeners = append(m.open.Listeners, at(tcp(uint16(10000+n)), strings.Repeat("x", 500)))
	}
	got := plan(t, m, EnableOptions{}).Preview()
	if len(got.Closes) != maxListeners || got.ClosesTotal != 203 || !got.ClosesTruncated || len(got.Closes[10].Process) > 66 {
		t.Errorf("%d of %d, %v", len(got.Closes), got.ClosesTotal, got.ClosesTruncated)
	}
}

func TestPortsHaveOneForm(t *testing.T) {
	for text, want := range map[string]Port{"22/tcp": tcp(22), "65535/udp": {65535, "udp"}, "1/tcp": tcp(1)} {
		if got, err := ParsePort(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "22", "/tcp", "22/", "22/sctp", "022/tcp", "0/tcp", "+22/tcp", "-1/tcp", "65536/tcp", "22/tcp ", "22/tcp/tcp", "0x16/tcp", "2_2/tcp"} {
		if got, err := ParsePort(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzParsePort(f *testing.F) {
	f.Add("22/tcp")
	f.Add("065/udp")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ParsePort(text); err == nil && p.String() != text {
			t.Errorf("%q became %q", text, p)
		}
	})
}

// A forgetful machine has more open connections than it can take over.
type forgetful struct{ *machine }

func (f forgetful) Backend(context.Context) (Backend, error) { return f, nil }
func (forgetful) Forgotten() int                             { return 7 }

func TestConnectionsThatAreNotTakenOverAreTold(t *testing.T) {
	m := forgetful{newMachine()}
	e, err := PlanEnable(t.Context(), m, m, EnableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Do(t.Context()); err != nil || !strings.Contains(got.Details, "Of the open connections, 7 could not be taken over and may end.") {
		t.Errorf("details %q, %v", got.Details, err)
	}
}

// What drops packets before those that open connections are let in by is not foreseen.
func TestOpenConnectionsThatRulesMayDropAreNotSaidToGoOn(t *testing.T) {
	m := newMachine()
	if said := plan(t, m, EnableOptions{}).Summary(); !strings.Contains(said, "; open connections go on.") {
		t.Errorf("no such rule: %s", said)
	}
	m.drops = []string{"in before.rules, -A ufw-before-input -s 192.0.2.0/24 -j DROP"}
	said := plan(t, m, EnableOptions{}).Summary()
	for _, want := range []string{"; open connections go on unless a rule of ufw drops them.", " was not looked at: " + m.drops[0]} {
		if !strings.Contains(said, want) {
			t.Errorf("%s lacks %q", said, want)
		}
	}
}

func TestWhatIsForwardedOnceAFirewallIsOnIsTold(t *testing.T) {
	m := &machine{name: UFW, open: OpenPorts{Remote: []Port{tcp(22)}}}
	for opens, want := range map[bool]bool{true: true, false: false} {
		m.opens = opens
		e, err := PlanEnable(t.Context(), m, m, EnableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const said = " As ufw is configured, this machine forwards all packets then that no rule drops, as to containers and virtual machines; it drops them now."
		if got := strings.Contains(e.Summary(), said); got != want {
			t.Errorf("%v: %s", opens, e.Summary())
		}
	}
}

func TestManagerThatLetsEverythingInIsNotSwitchedOn(t *testing.T) {
	m := newMachine()
	m.rules = map[Port]Verdict{}
	for _, n := range probePorts {
		m.rules[tcp(n)] = Open
	}
	_, err := PlanEnable(t.Context(), m, m, EnableOptions{})
	if f := fault.From(err); err == nil || f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "keeps nobody out") || !strings.Contains(f.Fix, "ufw default deny incoming") {
		t.Errorf("%v", err)
	}
	mac := *m
	mac.name = ApplicationFirewall
	if _, err := PlanEnable(t.Context(), &mac, &mac, EnableOptions{}); err != nil {
		t.Errorf("rules for programs: %v", err)
	}
	m.rules[tcp(probePorts[0])] = Closed
	if _, err := PlanEnable(t.Context(), m, m, EnableOptions{}); err != nil {
		t.Errorf("one port that is closed: %v", err)
	}
}
