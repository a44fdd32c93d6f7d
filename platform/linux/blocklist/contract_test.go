// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/blocklist/blocklisttest"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A kind is one way to block that the contract is checked for.
type kind struct {
	name string
	// flush is what another tool does that loses the own rules.
	flush []string
	// overtake puts an accept of somebody else's before the own rules.
	overtake []string
	// clean removes all rules.
	clean []string
	// maxAddresses is how many addresses are loaded at once.
	most int
	// each is how many addresses an Add has that is killed.
	each int
}

func backendOf(name string) blocklist.Backend {
	if name == "nftables" {
		return NewNftables()
	}
	return NewIptables(sysexec.Host{}, strings.TrimPrefix(name, "iptables-"))
}

func TestNftablesKeepsTheContract(t *testing.T) {
	contract(t, kind{
		name:     "nftables",
		flush:    []string{"nft flush ruleset"},
		overtake: []string{"nft insert rule inet sentinel input accept"},
		clean:    []string{"nft flush ruleset"},
		most:     20_000,
		each:     2500,
	})
}

func TestIptablesNftKeepsTheContract(t *testing.T) { contract(t, iptablesKind("nft")) }

func TestIptablesLegacyKeepsTheContract(t *testing.T) { contract(t, iptablesKind("legacy")) }

func iptablesKind(variant string) kind {
	k := kind{name: "iptables-" + variant, most: maxAddresses, each: 40}
	for _, program := range []string{"iptables-", "ip6tables-"} {
		p := program + variant
		k.flush = append(k.flush, p+" -F")
		k.overtake = append(k.overtake, p+" -I INPUT 1 -j ACCEPT")
		for _, command := range []string{" -F", " -X", " -t nat -F", " -P INPUT ACCEPT", " -P FORWARD ACCEPT"} {
			k.clean = append(k.clean, p+command)
		}
	}
	return k
}

// contract is what every blocklist.Backend promises, with real packets, and
// what those of Linux promise beside that.
func contract(t *testing.T, k kind) {
	for _, program := range []string{"nft", "iptables", "iptables-legacy", "ip6tables-legacy", "conntrack", "ip", "sysctl"} {
		testenv.Program(t, program, "nftables, iptables, conntrack, iproute2 or procps")
	}
	if !testenv.Isolated(t) {
		return
	}
	b := backendOf(k.name)
	w := newTestNetwork(t)
	w.open()
	blocklisttest.Contract(t, blocklisttest.Subject{
		Backend: b, Peers: peers, Strangers: strangers, Most: k.most,
		Clean: func(t *testing.T) {
			w.t = t
			commands(k.clean)(t)
		},
		Flush: commands(k.flush), Overtake: commands(k.overtake),
		Passes: w.passesFor, Stops: w.stopsFor,
	})
	for _, c := range []struct {
		name string
		test func(*testing.T, kind, blocklist.Backend, *testNetwork)
	}{
		{"open connections are cut", testOpen},
		{"beside other firewalls", testOthers},
		{"sent elsewhere by NAT", testTranslated},
		{"many processes at once", testCrowd},
		{"killed at any moment", testKilled},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			commands(k.clean)(t)
			c.test(t, k, b, w)
		})
	}
}

var (
	peers     = []netip.Addr{netip.MustParseAddr(peer4), netip.MustParseAddr(peer6)}
	strangers = []netip.Addr{netip.MustParseAddr(stranger4), netip.MustParseAddr(stranger6)}
)

// What the shared checks are made of is of use here too.
var (
	blocksOf = blocklisttest.Blocks
	numbered = blocklisttest.Numbered
	add      = blocklisttest.Add
	remove   = blocklisttest.Remove
	loaded   = blocklisttest.Loaded
	mustLoad = blocklisttest.MustLoad
)

func found(t *testing.T, b blocklist.Backend, effective bool, want ...netip.Addr) {
	t.Helper()
	blocklisttest.Found(t, b, strangers, effective, want...)
}

// commands runs them one after the other.
func commands(list []string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for _, command := range list {
			run(t, command)
		}
	}
}

func testOpen(t *testing.T, _ kind, b blocklist.Backend, w *testNetwork) {
	for network, to := range map[string]string{"tcp4": here4, "tcp6": here6, "tcp": "::"} {
		block := peers[0]
		if network == "tcp6" {
			block = peers[1]
		}
		stays := w.connect(network, to)
		add(t, b, time.Minute, block)
		if stays.flows(silence) {
			t.Errorf("%s: an open connection goes on", network)
		}
		if n, err := (ConnKiller{}).Kill(t.Context(), block); n != 1 || err != nil {
			t.Errorf("%s: cut %d, %v", network, n, err)
		}
		sees(t, stays.here, syscall.ECONNABORTED)
		remove(t, b, block)

		notified := w.connect(network, to)
		if n, err := (ConnKiller{}).Kill(t.Context(), block); n != 1 || err != nil {
			t.Errorf("%s: cut %d, %v", network, n, err)
		}
		add(t, b, time.Minute, block)
		sees(t, notified.here, syscall.ECONNABORTED)
		sees(t, notified.there, syscall.ECONNRESET)
		remove(t, b, block)
	}
}

// otherFirewalls are the rules that matter of ufw, firewalld and Docker: they
// accept what is established before anything else, at their own priorities, and forward what
// is published by DNAT.
var otherFirewalls = []string{
	"nft add table inet firewalld",
	"nft add chain inet firewalld filter_INPUT { type filter hook input priority filter + 10 ; policy accept ; }",
	"nft add rule inet firewalld filter_INPUT ct state established,related accept",
	"nft add chain inet firewalld mangle_PREROUTING { type filter hook prerouting priority mangle + 10 ; policy accept ; }",
	"nft add rule inet firewalld mangle_PREROUTING accept",
	"%s -N ufw-before-input", "%s -A INPUT -j ufw-before-input",
	"%s -A ufw-before-input -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "%s -A ufw-before-input -p udp -j ACCEPT",
	"%s -N DOCKER", "%s -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "%s -A FORWARD -o f0 -j DOCKER", "%s -A DOCKER -j ACCEPT",
	"%s -t nat -A PREROUTING -p udp --dport 7001 -j DNAT --to-destination :7000",
}

func testOthers(t *testing.T, k kind, b blocklist.Backend, w *testNetwork) {
	variant := "-nft"
	if k.name == "iptables-legacy" {
		variant = "-legacy"
	}
	for _, rule := range otherFirewalls {
		if !strings.HasPrefix(rule, "%s") {
			run(t, rule)
			continue
		}
		run(t, fmt.Sprintf(rule, "iptables"+variant))
		run(t, fmt.Sprintf(rule, "ip6tables"+variant))
	}
	run(t, "iptables"+variant+" -t nat -A PREROUTING -d 198.51.100.1 -p tcp --dport 80 -j DNAT --to-destination 203.0.113.2:80")
	w.open()
	open := w.connect("tcp4", here4)
	published := w.published()
	add(t, b, 0, peers...)
	loaded(t, b, true, peers...)
	w.closed()
	if open.flows(silence) {
		t.Error("an open connection goes on")
	}
	if published.flows(silence) {
		t.Error("an open connection to what is published goes on")
	}
	if n, err := (ConnKiller{}).Kill(t.Context(), peers[0]); n != 1 || err != nil {
		t.Errorf("cut %d, %v", n, err)
	}
	if flows := run(t, "conntrack -L"); strings.Contains(flows, peer4+" ") {
		t.Errorf("flows are left: %s", flows)
	}
}

// testTranslated sends to addresses of which rules of NAT make those of the peer, as kube-proxy does.
func testTranslated(t *testing.T, k kind, b blocklist.Backend, w *testNetwork) {
	const service4, service6 = "198.51.100.9", "2001:db8:1::9"
	variant := "-nft"
	if k.name == "iptables-legacy" {
		variant = "-legacy"
	}
	run(t, "iptables"+variant+" -t nat -A OUTPUT -d "+service4+" -j DNAT --to-destination "+peer4)
	run(t, "ip6tables"+variant+" -t nat -A OUTPUT -d "+service6+" -j DNAT --to-destination "+peer6)
	services := []path{{"out", "", here4, service4}, {"out", "", here6, service6}}
	for _, p := range services {
		w.passes(p)
	}
	add(t, b, 0, peers...)
	loaded(t, b, true, peers...)
	for _, p := range services {
		w.stops(p)
	}
	w.closed()
	remove(t, b, peers...)
	for _, p := range services {
		w.passes(p)
	}
}

// A child is this program once more, as a process that adds addresses: kind,
// first and number of them.
const childMark = "SENTINEL_TEST_BLOCKING_CHILD"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(childMark)); len(words) == 3 {
		os.Exit(child(words))
	}
	os.Exit(m.Run())
}

func child(words []string) int {
	n, err := strconv.Atoi(words[2])
	if err != nil {
		return 3
	}
	first := netip.MustParseAddr(words[1])
	var blocks []blocklist.Block
	for range n {
		blocks = append(blocks, blocklist.Block{Address: first, Left: time.Hour})
		first = first.Next()
	}
	os.Stdout.WriteString("ready\n")
	io.ReadFull(os.Stdin, make([]byte, 1))
	if err := backendOf(words[0]).Add(context.Background(), blocks); err != nil {
		os.Stdout.WriteString(err.Error())
		return 1
	}
	os.Stdout.WriteString("done\n")
	return 0
}

type running struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// ready starts a child and waits until only the word to begin is missing.
func ready(t *testing.T, name string, first netip.Addr, n int) running {
	t.Helper()
	c := running{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", childMark, name, first, n))
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := c.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("a child says %q, %v", line, err)
	}
	return c
}

func (c running) begin() { c.in.Write([]byte("x")) }

func testCrowd(t *testing.T, k kind, b blocklist.Backend, _ *testNetwork) {
	const crowd, each = 16, 5
	all := append(numbered(4, crowd/2*each), numbered(6, crowd/2*each)...)
	var children []running
	for i := range crowd {
		children = append(children, ready(t, k.name, all[i*each], each))
	}
	for _, c := range children {
		c.begin()
	}
	for _, c := range children {
		said, _ := io.ReadAll(c.out)
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("a child: %v: %s", err, said)
		}
	}
	loaded(t, b, true, all...)
	remove(t, b, all...)
	loaded(t, b, true)
}

// undisturbed is how long an Add takes in a process of its own, at most of
// three times.
func undisturbed(t *testing.T, k kind, b blocklist.Backend, first netip.Addr) time.Duration {
	t.Helper()
	longest := time.Duration(0)
	for range 3 {
		c := ready(t, k.name, first, k.each)
		began := time.Now()
		c.begin()
		line, err := c.out.ReadString('\n')
		longest = max(longest, time.Since(began))
		if err := errors.Join(err, c.cmd.Wait()); err != nil {
			t.Fatalf("a child says %q, %v", line, err)
		}
		for _, command := range k.flush {
			run(t, command)
		}
		loaded(t, b, false)
	}
	return longest
}

// reapOrphans waits until what a killed child has started is over. An
// iptables-restore goes on without it, and would add its addresses to a chain that the
// next round has flushed meanwhile.
func reapOrphans(t *testing.T) {
	t.Helper()
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}

// rounds is how many runs are killed.
var rounds = 100

// testKilled ends an Add at random moments, some of the time of a table that
// is yet to be made.
func testKilled(t *testing.T, k kind, b blocklist.Backend, _ *testNetwork) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	fresh := netip.MustParseAddr("10.1.0.1")
	longest := undisturbed(t, k, b, fresh)
	before, between, after, cut := 0, 0, 0, 0
	for round := range rounds {
		if round%4 == 0 {
			for _, command := range k.flush {
				run(t, command)
			}
		}
		had := len(mustLoad(t, b))
		c := ready(t, k.name, fresh, k.each)
		c.begin()
		pause(rand.N(longest * 3 / 2))
		c.cmd.Process.Kill()
		c.cmd.Wait()
		reapOrphans(t)
		var blocks []blocklist.Block
		effective := false
		var err error
		if blocks, effective, err = b.Loaded(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := len(blocks) - had
		switch {
		case n != k.each && n%batchSize != 0:
			t.Fatalf("round %d: %d of %d addresses are loaded", round, n, k.each)
		case n > 0 && !effective:
			t.Fatalf("round %d: addresses without rules", round)
		case n == 0:
			before++
		case n == k.each:
			after++
		default:
			between++
		}
		if c.cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			cut++
		}
		if round%4 == 3 {
			add(t, b, time.Hour, peers...)
			if found(t, b, true, peers...); t.Failed() {
				t.Fatalf("round %d: the next Add", round)
			}
			remove(t, b, peers...)
		}
		for range k.each {
			fresh = fresh.Next()
		}
	}
	t.Logf("killed %d of %d: %d before, %d between two thousands, %d after", cut, rounds, before, between, after)
	if before == 0 || after == 0 {
		t.Errorf("%d rounds before and %d after: the moments are badly chosen", before, after)
	}
}
