// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/conntrack"
	"sentinel/platform/linux/systemd"
)

// quiet is a machine without systemd.
type quiet struct{}

func (quiet) Running() bool                                         { return false }
func (quiet) State(context.Context, string) systemd.UnitState       { return systemd.UnitState{} }
func (quiet) Listening(context.Context, []string) ([]string, error) { return nil, nil }
func (quiet) Enable(context.Context, string) error                  { return errors.New("no systemd") }
func (quiet) Disable(context.Context, string) error                 { return errors.New("no systemd") }
func (quiet) Start(context.Context, string) error                   { return errors.New("no systemd") }
func (quiet) StartNow(context.Context, string) error                { return errors.New("no systemd") }
func (quiet) Queue(context.Context, string, bool) error             { return errors.New("no systemd") }
func (quiet) Stop(context.Context, string) error                    { return errors.New("no systemd") }
func (quiet) Later(context.Context, string, time.Duration, ...string) error {
	return errors.New("no systemd")
}
func (quiet) CancelLater(context.Context) error { return errors.New("no systemd") }

// A plain machine has no manager installed and its SSH server on port 2222, which
// a test cannot have in a namespace without it.
type plain struct{ *Manager }

func newPlain(t *testing.T) plain {
	t.Helper()
	if err := unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"); err != nil {
		t.Fatal(err)
	}
	m := NewManager(sysexec.Host{})
	m.units, m.installed = quiet{}, func(string) bool { return false }
	m.detach = func(string, ...string) error { return nil }
	return plain{m}
}

var ssh = firewall.Port{Number: 2222, Protocol: "tcp"}

func (p plain) OpenPorts(ctx context.Context) (firewall.OpenPorts, error) {
	d, err := p.Manager.OpenPorts(ctx)
	d.Remote = []firewall.Port{ssh}
	return d, err
}

func kernel(t *testing.T) firewall.Source {
	t.Helper()
	return NewSource("/", sysexec.Host{})
}

// trials keeps its record where sentinel does.
func trials(m *Manager, length time.Duration) firewall.Trials {
	return firewall.Trials{Path: "/var/lib/sentinel/firewall-trial.json", Source: m, Program: os.Executable, Length: length}
}

// try switches the firewall on for a trial.
func try(t *testing.T, source firewall.Source, m firewall.Manager, length time.Duration) firewall.Enabled {
	t.Helper()
	done, err := do(t, source, m, firewall.EnableOptions{Trials: trials(own(m), length)})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func do(t *testing.T, source firewall.Source, m firewall.Manager, o firewall.EnableOptions) (firewall.Enabled, error) {
	t.Helper()
	plan, err := firewall.PlanEnable(t.Context(), source, m, o)
	if err != nil {
		return firewall.Enabled{}, err
	}
	return plan.Do(t.Context())
}

func own(m firewall.Manager) *Manager {
	if p, ok := m.(plain); ok {
		return p.Manager
	}
	return m.(*Manager)
}

// enable switches the firewall on and confirms it.
func enable(t *testing.T, source firewall.Source, m firewall.Manager) firewall.Enabled {
	t.Helper()
	done := try(t, source, m, time.Hour)
	if done.ConfirmWithin == 0 {
		return done
	}
	kept, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(own(m), 0)})
	if err != nil {
		t.Fatal(err)
	}
	done.Persistent, done.Details = kept.Persistent, done.Details+kept.Details
	return done
}

func TestOwnRulesLetInOnlyWhatTheyMust(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	here, beyond := newNeighbour(t, 1), newNeighbour(t, 2)
	os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	for _, port := range []string{"2222", "8080"} {
		serve(t, port)
		here.reaches(port, true)
	}
	beyond.do(func() {
		l, err := net.Listen("tcp", ":8080")
		if err != nil {
			t.Error(err)
			return
		}
		echoAll(t, l)
	})
	before4, before6 := open8080(t, here, here.gateway()), open8080(t, here, here.gateway6())

	plan, err := firewall.PlanEnable(t.Context(), source, m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if rules, _, _ := m.rules.loaded(); rules != nil {
		t.Error("planning has loaded rules")
	}
	if p := plan.Preview(); p.FirewallStatus != firewall.Active || !p.Changed || !strings.Contains(plan.Summary(), "2222/tcp") {
		t.Errorf("the plan: %+v", p)
	}
	done, err := plan.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if done.FirewallStatus != firewall.Active || !done.Changed || done.Manager != firewall.Nftables || *done.Persistent || done.ConfirmWithin == 0 ||
		!slices.Equal(done.AllowedPorts, []firewall.Port{ssh}) {
		t.Errorf("got %+v", done)
	}
	kept, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)})
	if err != nil || *kept.Persistent || !strings.Contains(kept.Details, "systemd does not run here") {
		t.Errorf("confirmed: %+v, %v", kept, err)
	}
	if len(done.Closes) != 1 || done.Closes[0].String() != "8080/tcp" || !strings.HasPrefix(done.Closes[0].Process, "firewall.test") {
		t.Errorf("closes %+v", done.Closes)
	}
	here.reaches("2222", true)
	here.reaches("8080", false)
	echo(t, "IPv4 connection from before", before4)
	echo(t, "IPv6 connection from before", before6)
	serve(t, "8081")
	here.reaches("8081", false)
	command(t, fmt.Sprintf("nsenter -t %d -n ip neigh flush all", here.pid))
	command(t, "ip neigh flush all")
	here.pings("ip4:icmp", here.gateway(), 8, 0)
	here.pings("ip6:ipv6-icmp", here.gateway6(), 128, 129)
	outgoing(t, here)
	if c, err := here.dial(net.JoinHostPort(beyond.address(), "8080"), waitLimit); err != nil {
		t.Errorf("forwarding: %v", err)
	} else {
		echo(t, "forwarded", c)
	}

	again := enable(t, source, m)
	if again.Changed || again.FirewallStatus != firewall.Active || again.Manager != firewall.Nftables || !strings.Contains(again.Details, "already") {
		t.Errorf("again: %+v", again)
	}
	flush(t)
	here.reaches("8080", true)
	for _, want := range []bool{true, false} {
		if restored, err := m.Restore(t.Context(), source); restored != want || err != nil {
			t.Errorf("restored %v, %v; want %v", restored, err, want)
		}
		here.reaches("8080", false)
		here.reaches("2222", true)
	}
	echo(t, "connection from before the flush", before4)
}

func open8080(t *testing.T, from *neighbour, host string) net.Conn {
	t.Helper()
	c, err := from.dial(net.JoinHostPort(host, "8080"), waitLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	echo(t, "before", c)
	return c
}

// outgoing asserts that this host still reaches others.
func outgoing(t *testing.T, to *neighbour) {
	t.Helper()
	to.do(func() {
		l, err := net.Listen("tcp", ":7070")
		if err != nil {
			t.Error(err)
			return
		}
		echoAll(t, l)
	})
	c, err := net.DialTimeout("tcp", net.JoinHostPort(to.address(), "7070"), waitLimit)
	if err != nil {
		t.Errorf("this host does not reach others: %v", err)
		return
	}
	defer c.Close()
	echo(t, "outgoing", c)
}

func flush(t *testing.T) {
	t.Helper()
	conn, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	conn.FlushRuleset()
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// forgetful shows the rules until the second look.
type forgetful struct {
	firewall.Source
	looks int
}

func (f *forgetful) Firewall(ctx context.Context) firewall.Facts {
	f.looks++
	if f.looks > 1 {
		return firewall.Facts{}
	}
	return f.Source.Firewall(ctx)
}

func TestOwnRulesThatDoNotShowAreTakenBack(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newPlain(t)
	plan, err := firewall.PlanEnable(t.Context(), &forgetful{Source: kernel(t)}, m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Do(t.Context())
	var failed *fault.Error
	if !errors.As(err, &failed) || failed.Code != fault.FirewallFailed || !strings.Contains(failed.Message, "taken back") {
		t.Errorf("got %v", err)
	}
	if out := command(t, "nft list ruleset"); out != "" {
		t.Errorf("left behind:\n%s", out)
	}
	if _, err := os.Stat(StatePath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state file: %v", err)
	}
}

func TestDamagedOwnRulesAreSeenAndRepaired(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	enable(t, source, m)
	const chain = " inet sentinel_firewall input "
	first := strings.Fields(strings.Split(command(t, "nft -a list chain"+chain), "handle ")[2])[0]
	for _, damage := range []string{
		"nft flush chain" + chain, "nft insert rule" + chain + "tcp dport 2222 drop", "nft delete table inet sentinel_firewall",
		"nft insert rule" + chain + "reject", "nft delete rule" + chain + "handle " + first,
	} {
		if strings.Contains(damage, "handle") {
			first = strings.Fields(strings.Split(command(t, "nft -a list chain"+chain), "handle ")[2])[0]
			damage = "nft delete rule" + chain + "handle " + first
		}
		command(t, damage)
		if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
			t.Errorf("%s: restored %v, %v", damage, restored, err)
		}
		rules, ok, err := m.rules.loaded()
		if !ok || err != nil || !whole(rules, []firewall.Port{ssh}) {
			t.Errorf("%s: not repaired: %v %v", damage, ok, err)
		}
	}
	for _, harmless := range []string{"nft insert rule" + chain + "tcp dport 443 accept", "nft add rule" + chain + "tcp dport 80 accept"} {
		command(t, harmless)
		if restored, err := m.Restore(t.Context(), source); restored || err != nil {
			t.Errorf("%s: restored %v, %v", harmless, restored, err)
		}
	}
}

func TestRestoreLeavesOthersTheirFirewall(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	if restored, err := m.Restore(t.Context(), source); restored || err != nil {
		t.Errorf("never switched on: %v, %v", restored, err)
	}
	enable(t, source, m)
	flush(t)
	command(t, "nft add table inet theirs")
	command(t, "nft add chain inet theirs in { type filter hook input priority 0 ; policy accept ; }")
	command(t, "nft add rule inet theirs in tcp dport != 22 drop")
	if restored, err := m.Restore(t.Context(), source); restored || err != nil {
		t.Errorf("beside another firewall: %v, %v", restored, err)
	}
	flush(t)
	command(t, "nft add table ip wg-quick-wg0")
	command(t, "nft add chain ip wg-quick-wg0 preraw { type filter hook prerouting priority -300 ; }")
	command(t, "nft add rule ip wg-quick-wg0 preraw iifname != wg0 ip daddr 10.0.0.2 fib saddr type != local drop")
	if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
		t.Errorf("beside rules that keep nobody out: %v, %v", restored, err)
	}
	flush(t)
	for content, want := range map[string]fault.Code{"{": fault.StateCorrupt, `{"version":1,"allow":[]}`: "", `{"version":1}`: fault.StateCorrupt} {
		if err := os.WriteFile(StatePath, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := m.Restore(t.Context(), source)
		var known *fault.Error
		if errors.As(err, &known) != (want != "") || known != nil && known.Code != want {
			t.Errorf("%s: %v", content, err)
		}
	}
	os.Chmod(StatePath, 0o666)
	if _, err := m.Restore(t.Context(), source); err == nil {
		t.Error("a definition that everyone can write was believed")
	}
}

func TestDefinitionThatItsOwnerEditsTakesEffect(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	here := newNeighbour(t, 1)
	enable(t, source, m)
	serve(t, "2222")
	serve(t, "8080")
	for _, step := range []struct {
		allow    string
		ssh, web bool
	}{{`["2222/tcp","8080/tcp"]`, true, true}, {`["2222/tcp"]`, true, false}, {`["8080/tcp","53/udp"]`, false, true}} {
		if err := os.WriteFile(StatePath, []byte(`{"version":1,"allow":`+step.allow+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if missing, err := m.Missing(t.Context(), source); !missing || err != nil {
			t.Errorf("%s: missing %v, %v", step.allow, missing, err)
		}
		if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
			t.Errorf("%s: restored %v, %v", step.allow, restored, err)
		}
		if missing, err := m.Missing(t.Context(), source); missing || err != nil {
			t.Errorf("%s, afterwards: missing %v, %v", step.allow, missing, err)
		}
		here.reaches("2222", step.ssh)
		here.reaches("8080", step.web)
	}
	os.WriteFile(StatePath, []byte(`{"version":1,"allow":["443/tcp"]}`), 0o644)
	flush(t)
	again := enable(t, source, m)
	if raw, err := os.ReadFile(StatePath); err != nil || string(raw) != `{"version":1,"allow":["443/tcp","2222/tcp"]}`+"\n" || !again.Changed {
		t.Errorf("switched on again, the definition is %s, %v", raw, err)
	}
	if rules, _, _ := m.rules.loaded(); whole(rules, []firewall.Port{tcp(443), ssh, tcp(80)}) || !whole(rules, []firewall.Port{tcp(443), ssh}) {
		t.Error("rules are whole that lack a port, or are not that have all")
	}
}

// The own rules let answers in by connection tracking, which a busy DNS server turns off for its queries.
func TestRulesThatTurnTrackingOffAreNamed(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	said := func() string {
		t.Helper()
		plan, err := firewall.PlanEnable(t.Context(), source, m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Summary()
	}
	command(t, "nft add table ip raw")
	command(t, "nft add chain ip raw PREROUTING { type filter hook prerouting priority raw ; }")
	if text := said(); strings.Contains(text, "tracking") {
		t.Errorf("without such a rule: %s", text)
	}
	command(t, "nft add rule ip raw PREROUTING udp sport 53 notrack")
	const want = " Rules of chain PREROUTING of table ip raw turn connection tracking off for some packets, or may do so: what other hosts answer to such packets, as to queries of a DNS server, is dropped then."
	if text := said(); !strings.HasSuffix(text, want) {
		t.Errorf("planned: %s", text)
	}
	if done := try(t, source, m, time.Hour); !strings.Contains(done.Details, want) {
		t.Errorf("done: %s", done.Details)
	}
}

// What an administrator writes into the definition while rules are loaded, or on trial, is not lost.
func TestEditsOfTheDefinitionOutliveWhatIsKept(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	edit := func(allow string) {
		t.Helper()
		if err := os.WriteFile(StatePath, []byte(`{"version":1,"allow":`+allow+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(what, allow string) {
		t.Helper()
		if raw, err := os.ReadFile(StatePath); err != nil || strings.TrimSpace(string(raw)) != `{"version":1,"allow":`+allow+`}` {
			t.Errorf("%s: %s, %v; want %s", what, raw, err, allow)
		}
	}
	enable(t, source, m)
	holds("confirmed", `["2222/tcp"]`)
	edit(`["9443/tcp","2222/tcp"]`)
	enable(t, source, m)
	holds("on already", `["9443/tcp","2222/tcp"]`)
	letIn(t, source, m, false)
	edit(`["2222/tcp","443/tcp"]`)
	letIn(t, source, m, true)
	holds("let in", `["443/tcp","2222/tcp","8080/tcp"]`)
	flush(t)
	try(t, source, m, time.Hour)
	edit(`["443/tcp"]`)
	if _, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)}); err != nil {
		t.Fatal(err)
	}
	holds("switched on", `["443/tcp","2222/tcp"]`)
	edit(`["2222/tcp",]`)
	if _, err := m.Restore(t.Context(), source); err == nil || !strings.Contains(fault.From(err).Fix, "Correct it, then run: sudo sentinel --restore-blocklist.") {
		t.Errorf("damaged: %v", err)
	}
	edit(`["2222/tcp","53/udp"]`)
	if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
		t.Errorf("corrected: restored %v, %v", restored, err)
	}
	if rules, _, err := m.rules.loaded(); err != nil || !slices.Equal(allowedBy(rules), []firewall.Port{ssh, {Number: 53, Protocol: "udp"}}) {
		t.Errorf("the corrected definition is not loaded: %v, %v", allowedBy(rules), err)
	}
}

func TestManyOpenConnectionsFitIntoOneTransaction(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for set, prefix := range map[string]string{"before4": "198.51.100.1", "before6": "2001:db8::1"} {
		var flows []conntrack.Connection
		for n := range maxFlows {
			flows = append(flows, conntrack.Connection{Local: netip.AddrPortFrom(netip.Addr{}, 8080), Remote: netip.AddrPortFrom(netip.MustParseAddr(prefix), uint16(1000+n))})
		}
		if err := liveRuleset().load([]firewall.Port{ssh}, append(flows, flows[0])); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(command(t, "nft list set inet sentinel_firewall "+set), prefix+" . "); got != maxFlows {
			t.Errorf("%s holds %d of %d", set, got, maxFlows)
		}
	}
	if out := command(t, "nft list ruleset"); strings.Count(out, "table ") != 1 || strings.Count(out, "let in") != 1 {
		t.Errorf("loading twice left more than one rule set:\n%.3000s", out)
	}
}

// Whoever runs sentinel in a container may have no larger buffer than everybody.
func TestManyPortsFitIntoOneTransaction(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	small := ruleset{func() (*nftables.Conn, error) { return nftables.New() }}
	var ports []firewall.Port
	for n := range maxPorts {
		ports = append(ports, tcp(uint16(9000+n)))
	}
	for name, r := range map[string]ruleset{"as root": liveRuleset(), "with the buffers of everybody": small} {
		if err := r.load(ports, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		have, ok, err := r.loaded()
		if err != nil || !ok || !whole(have, ports) || !slices.Equal(allowedBy(have), ports) {
			t.Errorf("%s: %v, %v, %d ports", name, ok, err, len(allowedBy(have)))
		}
	}
	h := newNeighbour(t, 1)
	for port, want := range map[string]bool{"9000": true, "9999": true, "8999": false} {
		serve(t, port)
		h.reaches(port, want)
	}
	if c, err := h.dial(net.JoinHostPort(h.gateway(), "10000"), silence); err == nil {
		c.Close()
		t.Error("a port behind the last is let in")
	}
}

// The kernel answers to all of a transaction before the first answer is read.
func TestAnswersToATransactionAreNotLost(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := liveRuleset().load(nil, nil); err != nil {
		t.Fatal(err)
	}
	conn, err := liveRuleset().dial()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		conn.AddRule(&nftables.Rule{Table: table(), Chain: chain(table()), Exprs: loopback()})
	}
	if err := conn.Flush(); err != nil {
		t.Error(err)
	}
}

// A definition may have a port twice, as its owner has written it.
func TestPortThatIsNamedTwiceIsWhole(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	if err := m.state.write([]firewall.Port{ssh, tcp(443), ssh}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if restored, err := m.Restore(t.Context(), source); restored != want || err != nil {
			t.Errorf("restored %v, %v; want %v", restored, err, want)
		}
	}
	for _, damage := range []string{"delete element inet sentinel_firewall open_ports { tcp . 443 }", "add element inet sentinel_firewall open_ports { tcp . 23 }"} {
		command(t, "nft "+damage)
		if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
			t.Errorf("%s: restored %v, %v", damage, restored, err)
		}
	}
}

// A definition with more ports than are read would be lost with the next boot.
func TestNoMorePortsAreLetInThanAreKept(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	var full []firewall.Port
	for n := range maxPorts {
		full = append(full, tcp(uint16(9000+n)))
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		if f := fault.From(err); f.Code != fault.FirewallFailed || !strings.Contains(f.Message, "It would let in 1001 ports") || !strings.Contains(f.Fix, StatePath) {
			t.Errorf("%s: %v, %s", what, err, f.Fix)
		}
	}
	if err := m.state.write(full); err != nil {
		t.Fatal(err)
	}
	refused("written", m.state.write(append(full, web)))
	_, err := do(t, source, m, firewall.EnableOptions{Trials: trials(m.Manager, time.Hour)})
	refused("switched on", err)
	if out := command(t, "nft list ruleset"); out != "" {
		t.Errorf("left behind:\n%.300s", out)
	}
	if restored, err := m.Restore(t.Context(), source); !restored || err != nil {
		t.Errorf("restored %v, %v", restored, err)
	}
	plan, err := firewall.PlanAllow(t.Context(), source, m, firewall.AllowOptions{Ports: []firewall.Port{web}, Trials: trials(m.Manager, time.Hour)})
	if err == nil {
		_, err = plan.Do(t.Context())
	}
	refused("let in", err)
	if have, _, err := m.rules.loaded(); err != nil || !slices.Equal(allowedBy(have), full) {
		t.Errorf("afterwards %d ports, %v", len(allowedBy(have)), err)
	}
}

// What could not be put back is not said to be.
func TestRestoreThatFailsHasRestoredNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newPlain(t)
	if err := m.state.write([]firewall.Port{ssh}); err != nil {
		t.Fatal(err)
	}
	m.rules = ruleset{(&fakeKernel{t: t, refuses: unix.EPERM}).dial}
	if restored, err := m.Restore(t.Context(), kernel(t)); restored || !errors.Is(err, unix.EPERM) {
		t.Errorf("restored %v, %v", restored, err)
	}
}

// Every connection that is open goes on, however many they are. Connection tracking has seen none
// of them, it is the other end that speaks first, and nothing keeps them alive from here.
func TestThousandsOfOpenConnectionsGoOn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	h := newNeighbour(t, 0)
	quiet := net.ListenConfig{KeepAlive: -1}
	l, err := quiet.Listen(t.Context(), "tcp", ":9000")
	if err != nil {
		t.Fatal(err)
	}
	echoAll(t, l)
	m := newPlain(t)
	open := make([]net.Conn, 3000)
	h.do(func() {
		for n := range open {
			host := h.gateway()
			if n%3 == 0 {
				host = h.gateway6()
			}
			if open[n], err = net.DialTimeout("tcp", net.JoinHostPort(host, "9000"), waitLimit); err != nil {
				t.Error(n, err)
				return
			}
			t.Cleanup(func() { open[n].Close() })
		}
	})
	if err != nil {
		return
	}
	for _, c := range open {
		echo(t, "before", c)
	}
	done := try(t, kernel(t), m, time.Hour)
	if !strings.Contains(done.Details, "open connections go on.") {
		t.Errorf("details %q", done.Details)
	}
	cut, limit := 0, 30*time.Second
	for _, c := range open {
		c.SetDeadline(time.Now().Add(limit))
		c.Write([]byte{'x'})
		if _, err := c.Read(make([]byte, 1)); err != nil {
			cut, limit = cut+1, time.Millisecond
		}
	}
	if cut > 0 {
		t.Errorf("%d of %d connections are cut", cut, len(open))
	}
}
