// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
)

// filtering is a machine whose firewall is on.
func filtering(t *testing.T) (*machine, Trials) {
	t.Helper()
	m, o := onTrial(t)
	m.on, m.facts = true, Facts{Managers: []string{UFW}}
	return m, o.Trials
}

func planAllow(t *testing.T, m *machine, o AllowOptions) *Allowing {
	t.Helper()
	a, err := PlanAllow(t.Context(), m, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestServiceIsLetInForATrialAndStaysOnceConfirmed(t *testing.T) {
	m, trials := filtering(t)
	o := AllowOptions{Ports: []Port{tcp(80), tcp(8080)}, Trials: trials}
	a := planAllow(t, m, o)
	if said := a.Summary(); !strings.Contains(said, "8080/tcp would be let in by ufw for a trial of 120 s, and closed again unless confirmed") || !strings.Contains(said, `"java" listens at 8080/tcp.`) || a.Idle() {
		t.Errorf("planned: %s", said)
	}
	got, err := a.Do(t.Context())
	if err != nil || !got.Changed || got.ConfirmWithin != 120 || *got.Persistent || !slices.Equal(m.done, []string{"allow [8080/tcp]"}) || !recorded(m) {
		t.Fatalf("got %+v, %v, did %q", got, err, m.done)
	}
	if want := []Listener{at(tcp(80), "nginx"), at(tcp(8080), "java")}; !slices.Equal(got.Services, want) || got.Manager != UFW || got.FirewallStatus != Active {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.Details, "sudo sentinel --allow-service 80/tcp,8080/tcp --confirm") {
		t.Errorf("details: %s", got.Details)
	}
	m.done, m.uptime = nil, m.uptime+10*time.Second
	again := planAllow(t, m, o)
	if got, err := again.Do(t.Context()); err != nil || got.Changed || got.ConfirmWithin != 110 || len(m.done) > 0 {
		t.Errorf("again: %+v, %v, did %q", got, err, m.done)
	}
	o.Confirm = true
	confirmed, err := planAllow(t, m, o).Do(t.Context())
	if err != nil || !confirmed.Changed || !*confirmed.Persistent || recorded(m) || !slices.Equal(m.done, []string{"keep"}) {
		t.Errorf("confirmed: %+v, %v, did %q", confirmed, err, m.done)
	}
	if got, err := planAllow(t, m, o).Do(t.Context()); err != nil || got.Changed || !strings.Contains(got.Details, "are let in by ufw already") {
		t.Errorf("confirmed twice: %+v, %v", got, err)
	}
}

// Whoever listens has chosen the name.
func TestNameOfAListenerEndsWithItsQuote(t *testing.T) {
	m, trials := filtering(t)
	m.open.Listeners = append(m.open.Listeners, at(tcp(8081), `java" listens at 22/tcp. "x`))
	a := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8081)}, Trials: trials})
	if said := a.Summary(); !strings.HasSuffix(said, ` "java' listens at 22/tcp. 'x" listens at 8081/tcp.`) {
		t.Errorf("planned: %s", said)
	}
}

func TestServiceThatNobodyConfirmsIsClosedAgain(t *testing.T) {
	m, trials := filtering(t)
	if _, err := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8080)}, Trials: trials}).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.uptime += 121 * time.Second
	said, err := trials.End(t.Context(), false)
	if err != nil || said != "8080/tcp is no longer let in by ufw: not confirmed within 120 s." || m.resumed.Kind != LetIn || !slices.Equal(m.done, []string{"allow [8080/tcp]", "undo"}) {
		t.Errorf("%q, %v; resumed %+v, did %q", said, err, m.resumed, m.done)
	}
}

func TestWhatCannotBeLetInIsRefused(t *testing.T) {
	denied := []Port{tcp(25)}
	for name, c := range map[string]struct {
		change func(*machine)
		ports  []Port
		code   fault.Code
		says   string
	}{
		"denied by the owner":   {func(*machine) {}, denied, fault.FirewallFailed, "ufw shuts out 25/tcp"},
		"somebody's firewall":   {func(m *machine) { m.facts.Managers = nil }, []Port{tcp(8080)}, fault.FirewallUnavailable, "none of ufw, firewalld"},
		"programs, not ports":   {func(m *machine) { m.name = ApplicationFirewall; m.facts = Facts{Application: &Application{On: true}} }, []Port{tcp(8080)}, fault.Unsupported, "programs and no ports"},
		"unreadable":            {func(m *machine) { m.on, m.facts, m.unread = false, Facts{}, errors.New("no") }, []Port{tcp(8080)}, fault.Unavailable, "cannot be told"},
		"unreadable rules":      {func(m *machine) { m.rulesErr = fault.New(fault.StateCorrupt, "Broken.") }, []Port{tcp(8080)}, fault.StateCorrupt, "Broken."},
		"nothing takes it back": {func(m *machine) { m.alone = errors.New("no timer") }, []Port{tcp(8080)}, fault.FirewallFailed, "nothing would take it back"},
		"it does not show":      {func(m *machine) { m.deaf = true }, []Port{tcp(8080)}, fault.FirewallFailed, "does not say that it lets 8080/tcp in; what was changed was taken back"},
	} {
		m, trials := filtering(t)
		c.change(m)
		a, err := PlanAllow(t.Context(), m, m, AllowOptions{Ports: c.ports, Trials: trials})
		if err == nil {
			_, err = a.Do(t.Context())
		}
		if fault.From(err).Code != c.code || !strings.Contains(err.Error(), c.says) || fault.From(err).Fix == "" && c.code == fault.FirewallUnavailable || recorded(m) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, trials := filtering(t)
	if _, err := PlanAllow(t.Context(), m, m, AllowOptions{Ports: []Port{tcp(8080)}, Confirm: true, Trials: trials}); err == nil || !strings.Contains(err.Error(), "There is no trial") {
		t.Errorf("confirmed without a trial: %v", err)
	}
}

func TestWithoutAFirewallNothingIsLetIn(t *testing.T) {
	m, o := onTrial(t)
	a := planAllow(t, m, AllowOptions{Ports: []Port{tcp(443)}, Trials: o.Trials})
	got, err := a.Do(t.Context())
	if err != nil || !a.Idle() || got.Changed || got.FirewallStatus != Disabled || got.Manager != "" || len(m.done) > 0 || !strings.Contains(got.Details, "--fix-firewall --keep-open 443/tcp") {
		t.Errorf("got %+v, %v, did %q", got, err, m.done)
	}
}

func TestForceLetsInWhatNothingTakesBack(t *testing.T) {
	m, trials := filtering(t)
	m.alone = errors.New("no timer")
	got, err := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8080)}, Force: true, Trials: trials}).Do(t.Context())
	if err != nil || got.ConfirmWithin != 0 || !*got.Persistent || recorded(m) || !strings.Contains(got.Details, "There is no trial") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// One trial at a time: what is taken back and confirmed has to be one thing.
func TestOneChangeIsOnTrialAtATime(t *testing.T) {
	m, trials := filtering(t)
	if _, err := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8080)}, Trials: trials}).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := func(name string, err error) {
		t.Helper()
		if e := fault.From(err); e.Code != fault.FirewallFailed || !strings.Contains(e.Message, "8080/tcp was let in by ufw") || !strings.HasSuffix(e.Fix, "sudo sentinel --allow-service 8080/tcp --confirm") {
			t.Errorf("%s: %v (%s)", name, err, e.Fix)
		}
	}
	_, err := PlanAllow(t.Context(), m, m, AllowOptions{Ports: []Port{tcp(9090)}, Trials: trials})
	refused("another service", err)
	_, err = PlanAllow(t.Context(), m, m, AllowOptions{Ports: []Port{tcp(9090)}, Confirm: true, Trials: trials})
	refused("the confirmation of another service", err)
	_, err = PlanDisable(t.Context(), m, m, DisableOptions{Trials: trials})
	refused("off", err)
	_, err = PlanEnable(t.Context(), m, m, EnableOptions{Confirm: true, Trials: trials})
	refused("the confirmation of a firewall", err)
}

// What was agreed to is kept, and not what another run has put on trial meanwhile.
func TestAConfirmationKeepsOnlyTheTrialThatItWasPlannedFor(t *testing.T) {
	m, trials := filtering(t)
	if _, err := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8080)}, Trials: trials}).Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	confirmation := planAllow(t, m, AllowOptions{Ports: []Port{tcp(8080)}, Confirm: true, Trials: trials})
	other, err := trials.Current()
	if err != nil {
		t.Fatal(err)
	}
	other.Allowed = []Port{tcp(9090)}
	if err := trials.write(other); err != nil {
		t.Fatal(err)
	}
	_, err = confirmation.Do(t.Context())
	if e := fault.From(err); e.Code != fault.FirewallFailed || !strings.HasSuffix(e.Fix, "--allow-service 8080/tcp") || slices.Contains(m.done, "keep") || !recorded(m) {
		t.Errorf("%v (%s), did %q", err, e.Fix, m.done)
	}
}

// Who sees during a trial that a service is missing is told how to begin again with it.
func TestServiceIsLetInWithTheFirewallThatIsOnTrial(t *testing.T) {
	m, o := onTrial(t)
	try(t, m, o)
	_, err := PlanAllow(t.Context(), m, m, AllowOptions{Ports: []Port{tcp(8080)}, Trials: o.Trials})
	if e := fault.From(err); e.Code != fault.FirewallFailed || !strings.HasSuffix(e.Fix, "sudo sentinel --fix-firewall --keep-open 8080/tcp") {
		t.Errorf("%v: %s", err, e.Fix)
	}
}

func TestServicesAreNamesAndPorts(t *testing.T) {
	for text, want := range map[string][]Port{
		"https":                        {tcp(443)},
		"HTTPS, http":                  {tcp(80), tcp(443)},
		"8443":                         {tcp(8443)},
		"8443/tcp,8443/udp,8443":       {tcp(8443), {8443, "udp"}},
		"dns":                          {tcp(53), {53, "udp"}},
		"wireguard":                    {{51820, "udp"}},
		"65535/udp":                    {{65535, "udp"}},
		"":                             nil,
		"https,":                       nil,
		"0":                            nil,
		"65536":                        nil,
		"022/tcp":                      nil,
		"+22":                          nil,
		"22/sctp":                      nil,
		"22/tcp/udp":                   nil,
		"1-100/tcp":                    nil,
		"--zone=drop":                  nil,
		"https\n--x":                   nil,
		"htpps":                        nil,
		"tcp":                          nil,
		strings.Repeat("1,", 32) + "1": nil,
	} {
		got, err := ParseServices(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if err != nil && (fault.From(err).Code != fault.InvalidService || fault.From(err).Fix == "") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseServices("htps"); fault.From(err).Fix != "Did you mean https? Otherwise give its port, such as 8443/tcp." {
		t.Errorf("a typing error: %v", fault.From(err).Fix)
	}
	for name := range wellKnown {
		if ports, err := ParseServices(name); err != nil || len(ports) == 0 {
			t.Errorf("%s: %v, %v", name, ports, err)
		}
	}
}

func TestWhatIsKeptOpenIsLetInWithTheSessions(t *testing.T) {
	m := newMachine()
	m.open.Listeners[1].Connections, m.open.Listeners[2].Connections = new(3), new(3)
	e := plan(t, m, EnableOptions{KeepOpen: []Port{tcp(22), tcp(8080)}})
	got, err := e.Do(t.Context())
	if err != nil || !slices.Equal(got.AllowedPorts, []Port{tcp(22), tcp(2222), tcp(8080)}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, l := range got.Closes {
		if l.Port == tcp(8080) {
			t.Errorf("closes %+v", got.Closes)
		}
	}
	if l := got.StaysOpen; len(l) != 3 || l[0].Port != tcp(8080) || got.StaysOpenTotal != 3 {
		t.Errorf("stays open: %+v", got.StaysOpen)
	}
	if !strings.Contains(got.Details, "(22/tcp, 2222/tcp) were let in first") || !strings.Contains(got.Details, "Kept open: 8080/tcp.") {
		t.Errorf("details: %s", got.Details)
	}
	if _, err := PlanEnable(t.Context(), m, m, EnableOptions{}); err != nil {
		t.Error(err)
	}
	m = newMachine()
	_, err = PlanEnable(t.Context(), m, m, EnableOptions{KeepOpen: []Port{tcp(25)}})
	if err == nil || !strings.Contains(err.Error(), "ufw shuts out 25/tcp") {
		t.Errorf("kept open although it is denied: %v", err)
	}
}

func TestWhatIsInUseIsListedFirst(t *testing.T) {
	m := newMachine()
	m.open.Listeners = []Listener{
		{Port: tcp(81), Process: "idle", Connections: new(0)}, {Port: tcp(82), Process: "busy", Connections: new(7)},
		{Port: Port{83, "udp"}, Process: "udp"}, {Port: tcp(84), Process: "one", Connections: new(1)},
	}
	var order []string
	for _, l := range plan(t, m, EnableOptions{}).Preview().Closes {
		order = append(order, l.Process)
	}
	if want := []string{"busy", "one", "idle", "udp"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
}

func TestAServiceThatIsLetInByIPv4Alone(t *testing.T) {
	m, trials := filtering(t)
	o := AllowOptions{Ports: []Port{tcp(8080)}, Trials: trials}
	const want = " That is for IPv4 alone: without IPV6=yes it drops all packets of IPv6."
	if said := planAllow(t, m, o).Summary(); strings.Contains(said, "IPv4") {
		t.Errorf("planned: %s", said)
	}
	m.ipv6 = Ruling{Verdict: Denied, Rule: "without IPV6=yes it drops all packets of IPv6"}
	a := planAllow(t, m, o)
	if said := a.Summary(); !strings.HasSuffix(said, want) {
		t.Errorf("planned: %s", said)
	}
	if done, err := a.Do(t.Context()); err != nil || !strings.HasSuffix(done.Details, want) {
		t.Errorf("done: %s, %v", done.Details, err)
	}
}
