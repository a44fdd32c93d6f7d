// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

// A house is a machine made of answers, which notes what is done to it.
type house struct {
	name      string
	on        bool
	facts     Facts // beside the own rules
	blind     error
	doors     OpenPorts
	doorsErr  error
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
	during    func() // runs while it is switched on
	told      []netip.Addr
}

func (h *house) Firewall(context.Context) Facts {
	f := h.facts
	f.Unreadable = h.blind
	if h.on && !h.hidden {
		f.Chains = append(slices.Clone(f.Chains), Chain{Family: "inet", Table: "their_" + h.name, Name: "input", Input: true, DropPolicy: true})
	}
	return f
}

func (h *house) Backend(context.Context) (Backend, error) {
	if h.none != nil {
		return nil, h.none
	}
	return h, nil
}

func (h *house) Name() string { return h.name }

func (h *house) OpenPorts(context.Context) (OpenPorts, error) {
	d := h.doors
	d.Remote = slices.Clone(d.Remote)
	return d, h.doorsErr
}

func (h *house) Rules(_ context.Context, peers []netip.Addr) (Rules, error) {
	h.told = peers
	return func(p Port) Ruling {
		r := Ruling{Verdict: h.rules[p]}
		if r.Verdict == Refused {
			r.Rule, r.Fix = "there is deny "+p.String(), "Remove it: sudo undeny "+p.String()+"."
		}
		return r
	}, h.rulesErr
}

func (h *house) Enable(ctx context.Context, ports []Port) error {
	h.done = append(h.done, fmt.Sprint("enable ", ports))
	if h.during != nil {
		h.during()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.on = h.enableErr == nil
	return h.enableErr
}

func (h *house) Admits(_ context.Context, ports []Port, peers []netip.Addr) error {
	h.told = append(h.told, peers...)
	h.done = append(h.done, fmt.Sprint("admits ", ports))
	return h.admitsErr
}

func (h *house) Keep(context.Context) (bool, string) {
	h.done = append(h.done, "keep")
	return h.lasting, h.why
}

func (h *house) Undo(ctx context.Context) error {
	h.done = append(h.done, "undo")
	h.on = false
	return errors.Join(h.undoErr, ctx.Err())
}

func tcp(n uint16) Port { return Port{Number: n, Protocol: "tcp"} }

func newHouse() *house {
	return &house{
		name: UFW, lasting: true, rules: map[Port]Verdict{tcp(80): Open, tcp(25): Refused},
		doors: OpenPorts{
			Peers:     []netip.Addr{netip.MustParseAddr("192.0.2.9")},
			Remote:    []Port{tcp(2222), tcp(22), tcp(2222)},
			Listeners: []Listener{{tcp(22), "sshd"}, {tcp(8080), "java"}, {tcp(8080), "java"}, {tcp(80), "nginx"}, {Port{5353, "udp"}, "a\x1b[31mb"}, {tcp(25), "exim"}},
		},
	}
}

func plan(t *testing.T, h *house, o EnableOptions) *Enabling {
	t.Helper()
	e, err := PlanEnable(t.Context(), h, h, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFirewallIsSwitchedOnWithTheWayInFirst(t *testing.T) {
	h := newHouse()
	e := plan(t, h, EnableOptions{})
	if len(h.done) != 0 {
		t.Errorf("planning did %q", h.done)
	}
	p := e.Preview()
	if !p.Changed || p.FirewallStatus != Active || p.Manager != UFW || p.Persistent != nil || p.Details != "" || !strings.Contains(e.Summary(), "would be switched on") {
		t.Errorf("preview %+v", p)
	}
	got, err := e.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"enable [22/tcp 2222/tcp]", "admits [22/tcp 2222/tcp]", "keep"}; !slices.Equal(h.done, want) {
		t.Errorf("did %q, want %q", h.done, want)
	}
	if !got.Changed || got.FirewallStatus != Active || !*got.Persistent || !slices.Equal(got.AllowedPorts, []Port{tcp(22), tcp(2222)}) {
		t.Errorf("got %+v", got)
	}
	if want := []Listener{{tcp(25), "exim"}, {tcp(8080), "java"}, {Port{5353, "udp"}, "a\ufffd[31mb"}}; !slices.Equal(got.Closes, want) || got.ClosesTotal != 3 || got.ClosesTruncated {
		t.Errorf("closes %+v", got.Closes)
	}
	p.Persistent, p.Details = got.Persistent, got.Details
	if !reflect.DeepEqual(p, got) {
		t.Errorf("previewed %+v, got %+v", p, got)
	}
	if peer := netip.MustParseAddr("192.0.2.9"); !slices.Equal(h.told, []netip.Addr{peer, peer}) {
		t.Errorf("told of the peers %v", h.told)
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
		"ours, no nftables":   {on("theirs"), "", fault.New(fault.NoFirewall, "None."), "", nil},
		"ufw by its own word": {Facts{Managers: []string{UFW}, Chains: on("filter").Chains}, UFW, nil, UFW, nil},
	} {
		h := newHouse()
		h.facts, h.name, h.none = c.facts, c.name, c.none
		e := plan(t, h, EnableOptions{})
		if !strings.Contains(e.Summary(), "on already") {
			t.Errorf("%s: %s", name, e.Summary())
		}
		got, err := e.Do(t.Context())
		if err != nil || got.Changed || got.FirewallStatus != Active || got.Manager != c.manager || !slices.Equal(h.done, c.did) {
			t.Errorf("%s: %+v, %v, did %q", name, got, err, h.done)
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

func TestFirewallThatCouldLockOutIsRefused(t *testing.T) {
	none := fault.New(fault.NoFirewall, "None.")
	for name, c := range map[string]struct {
		change func(*house)
		code   fault.Code
		says   string
		forced bool // --force goes on
	}{
		"status unknown":       {func(h *house) { h.blind = fs.ErrPermission }, fault.Unavailable, "without root", false},
		"nothing to switch on": {func(h *house) { h.none = none }, fault.NoFirewall, "None.", false},
		"doors unknown":        {func(h *house) { h.doorsErr = errors.New("sshd -T failed") }, fault.Unavailable, "sshd -T failed", true},
		"a rule refuses":       {func(h *house) { h.rules[tcp(22)] = Refused }, fault.FirewallFailed, "ufw shuts out new remote sessions by 22/tcp: there is deny 22/tcp.", true},
	} {
		h := newHouse()
		c.change(h)
		_, err := PlanEnable(t.Context(), h, h, EnableOptions{})
		var refused *fault.Error
		if !errors.As(err, &refused) || refused.Code != c.code || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanEnable(t.Context(), h, h, EnableOptions{Force: true}); (err == nil) != c.forced {
			t.Errorf("%s, forced: %v", name, err)
		}
		if len(h.done) != 0 {
			t.Errorf("%s: did %q", name, h.done)
		}
	}
}

func TestForceLetsTheUsualPortInWhenNoneIsKnown(t *testing.T) {
	h := newHouse()
	h.doors.Remote, h.doorsErr = nil, errors.New("not readable")
	got, err := plan(t, h, EnableOptions{Force: true}).Do(t.Context())
	if err != nil || !slices.Equal(got.AllowedPorts, []Port{tcp(22)}) || !strings.Contains(got.Details, "not readable") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestForceSwitchesOnOverARuleThatRefuses(t *testing.T) {
	h := newHouse()
	h.rules[tcp(22)] = Refused
	_, err := PlanEnable(t.Context(), h, h, EnableOptions{})
	if fix := fault.NewDocument("x", err).Fix; fix != "Remove it: sudo undeny 22/tcp. Or at a console of the machine run: sudo sentinel --fix-firewall --force" {
		t.Errorf("fix %q", fix)
	}
	h.admitsErr = errors.New("a rule drops 2222/tcp")
	got, err := plan(t, h, EnableOptions{Force: true}).Do(t.Context())
	if err != nil || !got.Changed || !slices.Equal(got.AllowedPorts, []Port{tcp(2222)}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, part := range []string{"(2222/tcp) were let in", "ufw shuts out new remote sessions by 22/tcp: there is deny 22/tcp.", "may be shut out: a rule drops 2222/tcp."} {
		if !strings.Contains(got.Details, part) {
			t.Errorf("details lack %q: %s", part, got.Details)
		}
	}
	if want := []string{"enable [22/tcp 2222/tcp]", "admits [2222/tcp]", "keep"}; !slices.Equal(h.done, want) {
		t.Errorf("did %q", h.done)
	}
	h = newHouse()
	h.doors.Remote, h.rules[tcp(22)], h.rules[tcp(2222)] = []Port{tcp(22)}, Refused, Refused
	if p := plan(t, h, EnableOptions{Force: true}); p.Preview().AllowedPorts == nil || !strings.Contains(p.Summary(), "No port of remote sessions is let in for everyone.") {
		t.Errorf("%s", p.Summary())
	}
}

func TestMachineWithoutSSHSaysThatNothingIsLetIn(t *testing.T) {
	h := newHouse()
	h.doors.Remote = nil
	got, err := plan(t, h, EnableOptions{}).Do(t.Context())
	if err != nil || len(got.AllowedPorts) != 0 || !strings.Contains(got.Details, "No server for remote sessions") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWhatFailsIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*house)
		says   []string
	}{
		"does not start":   {func(h *house) { h.enableErr = errors.New("exit 1") }, []string{"exit 1", "taken back"}},
		"does not show":    {func(h *house) { h.hidden = true }, []string{"no rule that filters", "taken back"}},
		"cannot be read":   {func(h *house) { h.during = func() { h.blind, h.hidden = fs.ErrPermission, true } }, []string{"not readable", "taken back"}},
		"shuts out SSH":    {func(h *house) { h.admitsErr = errors.New("22/tcp is not let in") }, []string{"22/tcp", "taken back"}},
		"cannot be undone": {func(h *house) { h.hidden, h.undoErr = true, errors.New("stuck") }, []string{"taking it back failed too: stuck"}},
	} {
		h := newHouse()
		c.change(h)
		_, err := plan(t, h, EnableOptions{}).Do(t.Context())
		var failed *fault.Error
		if !errors.As(err, &failed) || failed.Code != fault.FirewallFailed || h.done[len(h.done)-1] != "undo" || h.on {
			t.Errorf("%s: %v, did %q", name, err, h.done)
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
	h := newHouse()
	ctx, cancel := context.WithCancel(t.Context())
	e := plan(t, h, EnableOptions{})
	cancel()
	if _, err := e.Do(ctx); !errors.Is(err, context.Canceled) || len(h.done) != 0 {
		t.Errorf("before: %v, did %q", err, h.done)
	}
	if _, err := PlanEnable(ctx, h, h, EnableOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("plan: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	h.during = cancel
	if got, err := e.Do(ctx); err != nil || !got.Changed {
		t.Errorf("amidst: %+v, %v", got, err)
	}
}

func TestFirewallThatDoesNotLastSaysWhy(t *testing.T) {
	h := newHouse()
	h.name, h.lasting, h.why = Nftables, false, "the unit is not installed"
	got, err := plan(t, h, EnableOptions{}).Do(t.Context())
	if err != nil || *got.Persistent || !strings.Contains(got.Details, "reboot: the unit is not installed.") || !strings.Contains(got.Details, "nft delete table inet "+BaselineTable) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestListOfWhatClosesIsCut(t *testing.T) {
	h := newHouse()
	for n := range 200 {
		h.doors.Listeners = append(h.doors.Listeners, Listener{tcp(uint16(10000 + n)), strings.Repeat("x", 500)})
	}
	got := plan(t, h, EnableOptions{}).Preview()
	if len(got.Closes) != maxCloses || got.ClosesTotal != 203 || !got.ClosesTruncated || len(got.Closes[10].Process) > 66 {
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
