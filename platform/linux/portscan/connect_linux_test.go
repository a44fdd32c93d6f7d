// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/portscan"
	"sentinel/internal/portscan/connectscan"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/testnet"
)

func ports(t testing.TB, text string) []uint16 {
	t.Helper()
	set, err := portscan.ParsePorts(text)
	if err != nil {
		t.Fatal(err)
	}
	return set.List()
}

func scan(t testing.TB, address, which string) portscan.Result {
	t.Helper()
	a := netip.MustParseAddr(address)
	r, err := connectscan.New(Dialer{}).Scan(t.Context(), portscan.Job{Address: a, Ports: ports(t, which), Local: a.IsLoopback()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// each asks for the state of every port by itself, all at the same time.
func each(t *testing.T, address, which string) map[uint16]string {
	t.Helper()
	list := ports(t, which)
	states := make([]string, len(list))
	var asked sync.WaitGroup
	for i, p := range list {
		asked.Go(func() {
			r, err := connectscan.New(Dialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr(address), Ports: []uint16{p}})
			switch {
			case err != nil || r.Known() != 1:
				states[i] = fmt.Sprint(r, err)
			case len(r.Open) == 1:
				states[i] = "open"
			case r.Closed == 1:
				states[i] = "closed"
			default:
				states[i] = "filtered"
			}
		})
	}
	asked.Wait()
	byPort := map[uint16]string{}
	for i, p := range list {
		byPort[p] = states[i]
	}
	return byPort
}

// nmapStates is what nmap says about each port. It lists every one by itself as
// long as there are few of a kind.
func nmapStates(t *testing.T, kind, address, which string) map[uint16]string {
	t.Helper()
	args := []string{kind, "-T5", "-n", "-Pn", "-p", which, "-oX", "-", address}
	if strings.Contains(address, ":") {
		args = append(args, "-6")
	}
	raw, err := exec.Command(testenv.Program(t, "nmap", "nmap"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var run struct {
		Ports []struct {
			ID    uint16 `xml:"portid,attr"`
			State struct {
				State string `xml:"state,attr"`
			} `xml:"state"`
		} `xml:"host>ports>port"`
		Extra []struct{} `xml:"host>ports>extraports"`
	}
	if err := xml.Unmarshal(raw, &run); err != nil || len(run.Extra) > 0 {
		t.Fatalf("%v\n%s", err, raw)
	}
	states := map[uint16]string{}
	for _, p := range run.Ports {
		states[p.ID] = p.State.State
	}
	return states
}

// A firewall stands before ports 1010 to 1059: each ten of them differently.
const firewalled = `table inet wall {
	chain input {
		type filter hook input priority 0; policy accept
		tcp dport 1010-1019 drop
		tcp dport 1020-1024 reject with tcp reset
		tcp dport 1030-1034 reject with icmpx type admin-prohibited
		tcp dport 1035-1039 reject with icmpx type host-unreachable
		tcp dport 1040-1044 reject with icmpx type port-unreachable
	}
}`

func TestStatesOfPortsAreThoseThatNmapSees(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules(firewalled)
	far.Listen(testnet.Close, 1000, 1001, 1012, 1022, 1032, 1042)
	far.Listen(testnet.KeepOpen, 1002)
	far.Listen(testnet.Flood, 1003)
	far.Listen(testnet.Reset, 1004)
	const which = "1000-1044"
	for _, address := range []string{"192.0.2.2", "2001:db8:0::2"} {
		address := netip.MustParseAddr(address).String()
		got := each(t, address, which)
		// Connections alone tell nmap nothing about ICMP; its packets do.
		if want := nmapStates(t, "-sS", address, which); !cmp.Equal(got, want) {
			t.Errorf("%s, against nmap -sS:\n%s", address, cmp.Diff(want, got))
		}
		want := nmapStates(t, "-sT", address, which)
		for p := uint16(1040); p < 1045; p++ {
			if want[p] == "closed" {
				want[p] = "filtered" // nmap -sT takes "port unreachable" for the refusal of the host
			}
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%s, against nmap -sT:\n%s", address, cmp.Diff(want, got))
		}
		all := scan(t, address, which)
		if want := []uint16{1000, 1001, 1002, 1003, 1004}; !slices.Equal(all.Open, want) || all.Closed != 15 || all.Filtered != 25 {
			t.Errorf("%s: %+v", address, all)
		}
	}
}

// A host that is not there answers nothing, whether this machine finds that out on its own network or
// a router says so; one behind a firewall does, unless that drops everything.
func TestWhetherAHostAnswers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	if r := scan(t, "192.0.2.2", "1-50"); r.Closed != 50 || r.Silent != 0 {
		t.Errorf("there: %+v", r)
	}
	far.Rules(strings.Replace(strings.Replace(firewalled, "1035-1039", "1-50", 1), "1010-1019", "51-99", 1))
	if r := scan(t, "192.0.2.2", "1-50"); r.Filtered != 50 || r.Silent != 0 {
		t.Errorf("refuses: %+v", r)
	}
	if r := scan(t, "192.0.2.2", "51-99"); r.Filtered != 49 || r.Silent != 49 {
		t.Errorf("drops: %+v", r)
	}
	far.Run("ip addr flush dev right0")
	for address, what := range map[string]string{"192.0.2.2": "not there", "2001:db8:0::2": "not there, over IPv6"} {
		if r := scan(t, netip.MustParseAddr(address).String(), "1-50"); r.Filtered != 50 || r.Silent != 50 {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func TestStatesOfLocalPortsBehindAFirewall(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	me := testnet.ThisHost(t)
	me.Rules(firewalled)
	me.Listen(testnet.Close, 1000, 1012, 1032)
	for _, address := range []string{"127.0.0.1", "::1"} {
		got := scan(t, address, "1000-1044")
		if !slices.Equal(got.Open, []uint16{1000}) || got.Closed != 19 || got.Filtered != 25 {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

func TestNoOpenPortIsMissedInTwentyRuns(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	me := testnet.ThisHost(t)
	var want []uint16
	for len(want) < 400 {
		p := uint16(1 + rand.N(65535))
		if !slices.Contains(want, p) {
			me.Listen(testnet.Close, p)
			want = append(want, p)
		}
	}
	slices.Sort(want)
	for run := range 20 {
		if got := scan(t, "127.0.0.1", "all"); !slices.Equal(got.Open, want) || got.Known() != 65535 || got.Filtered != 0 {
			t.Errorf("run %d: %d open, %d closed, %d filtered: %s", run, len(got.Open), got.Closed, got.Filtered, cmp.Diff(want, got.Open))
		}
	}
}

// With four local ports to choose from, every other connection meets itself.
func TestAConnectionWithItselfIsNoOpenPort(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40003"), 0o644); err != nil {
		t.Fatal(err)
	}
	testnet.ThisHost(t).Listen(testnet.Close, 40005)
	for range 50 {
		if got := scan(t, "127.0.0.1", "39990-40010"); !slices.Equal(got.Open, []uint16{40005}) || got.Closed != 20 {
			t.Fatalf("%+v", got)
		}
	}
}

func TestOneOpenPortIsFoundAmongAThousandFilteredOnes(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules("table inet wall { chain input { type filter hook input priority 0; tcp dport != 700 drop; }\n}")
	far.Listen(testnet.Close, 700)
	if got := scan(t, "192.0.2.2", "1-1024"); !slices.Equal(got.Open, []uint16{700}) || got.Filtered != 1023 {
		t.Errorf("%+v", got)
	}
}

// firstLost drops the first packet of every connection.
const firstLost = `table inet loss {
	set seen { type inet_service; flags dynamic; size 65535; }
	chain input {
		type filter hook input priority 0; policy accept
		tcp dport 700-799 tcp flags syn tcp sport != @seen add @seen { tcp sport } drop
	}
}`

func TestAnAnswerToTheSecondPacketCounts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules(firstLost)
	far.Listen(testnet.Close, 700, 750, 799)
	got := scan(t, "192.0.2.2", "600-899")
	if !slices.Equal(got.Open, []uint16{700, 750, 799}) || got.Closed != 297 {
		t.Errorf("%+v", got)
	}
	if lost := far.Run("nft list set inet loss seen"); !strings.Contains(lost, "elements") {
		t.Errorf("nothing was lost: %s", lost)
	}
}

// Where half of all packets are lost, two are not enough for every port.
func TestSilentPortsAreAskedAgainWherePacketsAreLost(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules(`table inet loss {
	chain input {
		type filter hook input priority 0; policy accept
		tcp flags syn numgen random mod 100 < 40 drop
	}
}`)
	far.Listen(testnet.Close, ports(t, "1000-1049")...)
	got := scan(t, "192.0.2.2", "1000-1049")
	// One packet in 2.5 is lost: a port stays silent six times with a probability of 0.4 %.
	if len(got.Open) < 48 || got.Known() != 50 {
		t.Errorf("%d open, %d filtered", len(got.Open), got.Filtered)
	}
}

func TestAScanMakesDoWithFewFiles(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Listen(testnet.Close, 1, 500, 1999)
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	files.Cur = 70
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if got := scan(t, "192.0.2.2", "1-2000"); !slices.Equal(got.Open, []uint16{1, 500, 1999}) || got.Closed != 1997 {
		t.Errorf("%+v", got)
	}
	var held []*os.File
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		held = append(held, f)
	}
	held[0].Close() // for one connection at a time
	if got := scan(t, "192.0.2.2", "490-510"); !slices.Equal(got.Open, []uint16{500}) || got.Closed != 20 {
		t.Errorf("with one file: %+v", got)
	}
	var another *os.File
	testenv.WaitFor(t, "the other end, which is this process, has closed the connection that it took", func() bool {
		var err error
		another, err = os.Open("/dev/null")
		return err == nil
	})
	defer another.Close()
	_, err := connectscan.New(Dialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr("192.0.2.2"), Ports: []uint16{500}})
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("without any file: %v", err)
	}
	for _, f := range held {
		f.Close()
	}
}

func TestAScanThatIsStoppedTellsWhatItHas(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	far := testnet.NewHost(t)
	testnet.Connect(testnet.ThisHost(t), far, 0)
	far.Rules("table inet wall { chain input { type filter hook input priority 0; tcp dport 1000-65535 drop; }\n}")
	far.Listen(testnet.Close, 700)
	job := portscan.Job{Address: netip.MustParseAddr("192.0.2.2"), Ports: ports(t, "all")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done []int
	job.Progress = func(n int) {
		done = append(done, n)
		if n >= 2000 {
			cancel()
		}
	}
	got, err := connectscan.New(Dialer{}).Scan(ctx, job)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !slices.Equal(got.Open, []uint16{700}) || got.Closed != 998 || got.Filtered < 1000 || got.Known() > 20000 {
		t.Errorf("%+v", got)
	}
	if len(done) == 0 || !slices.IsSorted(done) || done[len(done)-1] < 1999 {
		t.Errorf("progress %d, last %v", len(done), done[max(0, len(done)-3):])
	}
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	if _, err := connectscan.New(Dialer{}).Scan(cancelled, job); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnAddressWithoutRoute(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, address := range []string{"203.0.113.7", "2001:db8::7", "fe80::1"} {
		_, err := connectscan.New(Dialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr(address), Ports: []uint16{80}})
		if !errors.Is(err, portscan.ErrNoRoute) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A system without IPv6 is told from one that has run out of files.
func TestNoSocketForAnAddress(t *testing.T) {
	for err, want := range map[error]connectscan.Outcome{unix.EAFNOSUPPORT: connectscan.NoRoute, unix.EMFILE: connectscan.Exhausted, unix.ENOBUFS: connectscan.Exhausted} {
		if got := noSocket(err); got.Outcome != want || !errors.Is(got.Err, err) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}
