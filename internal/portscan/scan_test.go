// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/reach"
	"sentinel/internal/target"
)

type fakeEngine func(ctx context.Context, job Job) (Result, error)

func (fakeEngine) Name() string                                        { return "fake" }
func (f fakeEngine) Scan(ctx context.Context, job Job) (Result, error) { return f(ctx, job) }

type fakeMachine struct {
	listeners []Listener
	denied    bool
	err       error
	stuck     bool
}

func (m fakeMachine) Networks(context.Context) ([]netip.Prefix, error) {
	if m.err != nil {
		return nil, m.err
	}
	return prefixes(attached...), nil
}

func (m fakeMachine) Listeners(ctx context.Context, _ []uint16) ([]Listener, bool, error) {
	if m.stuck {
		<-ctx.Done()
		return nil, false, ctx.Err()
	}
	return m.listeners, m.denied, nil
}

type fakeResolver []string

func (f fakeResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return addresses(f...), nil
}

func request(t *testing.T, to, ports string) Request {
	t.Helper()
	h, err := target.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	set, err := ParsePorts(ports)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Target: h, Ports: set, Rows: DefaultRows}
}

// finds is an engine that finds some ports open and all others closed.
func finds(open ...uint16) fakeEngine {
	return func(_ context.Context, job Job) (Result, error) {
		r := Result{Open: []uint16{}}
		for _, p := range job.Ports {
			if slices.Contains(open, p) {
				r.Open = append(r.Open, p)
			} else {
				r.Closed++
			}
		}
		return r, nil
	}
}

func yes() *bool { b := true; return &b }
func no() *bool  { return new(bool) }

// judges lets some hosts in at port 80 and none at others.
func judges(context.Context) reach.Judge {
	return func(protocol string, local netip.AddrPort, _ string) reach.Verdict {
		if protocol == "tcp" && local.Port() == 80 {
			return reach.Verdict{Answer: reach.Reachable, Limited: true}
		}
		return reach.Verdict{Answer: reach.Filtered}
	}
}

// The name is of both loopback addresses, and each open port says at which of them it is.
func TestLocalhostIsScannedAtBothAddresses(t *testing.T) {
	m := fakeMachine{listeners: []Listener{{netip.MustParseAddrPort("127.0.0.1:22"), false, 7, "sshd"}, {netip.MustParseAddrPort("[::1]:22"), false, 8, "other"}, {netip.MustParseAddrPort("[::1]:25"), false, 9, "mail"}}}
	engine := fakeEngine(func(ctx context.Context, job Job) (Result, error) {
		if job.Address.Is4() {
			return finds(22)(ctx, job)
		}
		return finds(22, 25)(ctx, job)
	})
	for _, name := range []string{"localhost", "LOCALHOST.", "web.localhost"} {
		var told []int
		r := request(t, name, "20-29")
		r.Progress = func(percent int) { told = append(told, percent) }
		got, err := Scan(t.Context(), Sources{Resolver: fakeResolver{"127.0.0.1"}, Machine: m, Engine: engine}, r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Address{{"127.0.0.1", "up", 1, 9, 0}, {"::1", "up", 2, 8, 0}}, got.Addresses); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		var rows []string
		for _, p := range got.Ports {
			rows = append(rows, fmt.Sprintf("%d %s %s", p.Port, p.Address, p.ProcessName))
		}
		if want := []string{"22 127.0.0.1 sshd", "22 ::1 other", "25 ::1 mail"}; !slices.Equal(rows, want) {
			t.Errorf("%s: %q", name, rows)
		}
		if !got.Local || !got.Complete || got.PortsTotal != 20 || got.Scanned != 20 || got.OpenCount != 3 || got.ClosedCount != 17 || len(got.OtherAddresses) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A family that this machine has no route for was not scanned; the other is the answer.
func TestAFamilyWithoutARouteIsLeftOut(t *testing.T) {
	engine := fakeEngine(func(ctx context.Context, job Job) (Result, error) {
		if job.Address.Is6() {
			return Result{}, fmt.Errorf("%w (network is unreachable)", ErrNoRoute)
		}
		return finds(22)(ctx, job)
	})
	got, err := Scan(t.Context(), Sources{Resolver: fakeResolver{"2001:db8:5::9", "10.1.2.3"}, Machine: fakeMachine{}, Engine: engine, RouteCheck: strings.ToUpper}, request(t, "a.example", "22"))
	if err != nil || got.Address != "10.1.2.3" || !slices.Equal(got.OtherAddresses, []string{"2001:db8:5::9"}) || !got.Complete || got.OpenCount != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAHostThatAnswersNothingHasNoFilteredPorts(t *testing.T) {
	for name, c := range map[string]struct {
		to       string
		result   Result
		host     string
		filtered int
	}{
		"down":               {"10.1.2.77", Result{Filtered: 10, Silent: 10}, HostNoAnswer, 0},
		"a firewall refuses": {"10.1.2.77", Result{Filtered: 10, Silent: 9}, HostUp, 10},
		"one is closed":      {"10.1.2.77", Result{Filtered: 9, Silent: 9, Closed: 1}, HostUp, 9},
		"this machine":       {"10.1.2.3", Result{Filtered: 10, Silent: 10}, HostUp, 10},
	} {
		engine := fakeEngine(func(context.Context, Job) (Result, error) { return c.result, nil })
		got, err := Scan(t.Context(), Sources{Machine: fakeMachine{}, Engine: engine}, request(t, c.to, "20-29"))
		if err != nil || got.Host != c.host || got.Addresses[0].Host != c.host || got.FilteredCount != c.filtered {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		silent := c.host == HostNoAnswer
		if got.Complete == silent || silent != slices.Contains(got.Unavailable, answer.Gap{Field: "ports", Reason: "nothing answered at 10.1.2.77: the host is down, or a firewall drops everything"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestScanOfThisMachineNamesWhoListens(t *testing.T) {
	m := fakeMachine{denied: true, listeners: []Listener{
		{netip.MustParseAddrPort("0.0.0.0:22"), true, 7, "sshd"},
		{netip.MustParseAddrPort("[::]:22"), true, 8, "other"},
		{netip.MustParseAddrPort("[::]:80"), true, 9, "web\x1b[2J"},
		{netip.MustParseAddrPort("127.0.0.1:81"), false, 10, "local"},
		{netip.MustParseAddrPort("0.0.0.0:81"), true, 11, "all"},
		{netip.MustParseAddrPort("10.1.2.3:82"), true, 12, "elsewhere"},
		{netip.MustParseAddrPort("127.0.0.1:84"), true, 0, ""},
	}}
	got, err := Scan(t.Context(), Sources{Resolver: fakeResolver{"203.0.113.9", "127.0.0.1"}, Machine: m, Engine: finds(22, 80, 81, 82, 84), Reach: judges}, request(t, "a.example", "20-99"))
	if err != nil {
		t.Fatal(err)
	}
	got.ScanTimeMS = ""
	want := Report{
		Target: "a.example", Address: "127.0.0.1", Host: "up", Addresses: []Address{{"127.0.0.1", "up", 5, 75, 0}}, OtherAddresses: []string{"203.0.113.9"}, Local: true, PortRange: "20-99", Engine: "fake",
		Ports: []Port{
			{22, "open", "ssh", "tcp", "127.0.0.1", 7, "sshd", "0.0.0.0", yes(), reach.Filtered, false},
			{80, "open", "http", "tcp", "127.0.0.1", 9, "web�[2J", "::", yes(), reach.Reachable, true},
			{81, "open", "http-alt", "tcp", "127.0.0.1", 10, "local", "127.0.0.1", no(), "", false},
			{82, "open", "unknown", "tcp", "127.0.0.1", 0, "", "", nil, "", false},
			{84, "open", "unknown", "tcp", "127.0.0.1", 0, "", "127.0.0.1", yes(), reach.Filtered, false},
		},
		OpenCount: 5, OpenRanges: []string{}, ClosedCount: 75, Scanned: 80, PortsTotal: 80, Complete: true,
		Unavailable: answer.Gaps{{Field: "ports.pid", Reason: "processes of other users are not readable without root (on Linux CAP_SYS_PTRACE)"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanOfAnotherHostAsksForNoProcesses(t *testing.T) {
	got, err := Scan(t.Context(), Sources{Machine: fakeMachine{stuck: true}, Engine: finds(22)}, request(t, "10.1.2.77", "22"))
	if err != nil || got.Local || len(got.Unavailable) != 0 || got.Ports[0].Exposed != nil || got.Target != "10.1.2.77" || got.OtherAddresses != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAnswerFitsWhateverIsOpen(t *testing.T) {
	long := strings.Repeat("x", 64)
	for ports, step := range map[string]uint16{"all": 1, "1-65534": 2} {
		var open []uint16
		var m fakeMachine
		for p := uint16(1); p < 65530; p += step {
			open = append(open, p)
			if p < 1000 {
				m.listeners = append(m.listeners, Listener{netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), p), false, 4194304, long})
			}
		}
		engine := fakeEngine(func(_ context.Context, job Job) (Result, error) {
			return Result{Open: open, Closed: len(job.Ports) - len(open)}, nil
		})
		got, err := Scan(t.Context(), Sources{Machine: m, Engine: engine}, request(t, "127.0.0.1", ports))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(got)
		if err != nil || len(raw) > 19<<10 || len(got.Ports) < 50 || !got.Truncated || got.OpenCount != len(open) {
			t.Errorf("%d bytes, %d rows, %v", len(raw), len(got.Ports), err)
		}
		if step == 1 && !slices.Equal(got.OpenRanges, []string{fmt.Sprintf("%d-65529", len(got.Ports)+1)}) {
			t.Errorf("%d rows, then %q", len(got.Ports), got.OpenRanges)
		}
		if step == 2 && (len(got.OpenRanges) != maxRanges || len(got.Unavailable) != 1) {
			t.Errorf("%d ranges, %v", len(got.OpenRanges), got.Unavailable)
		}
		r := request(t, "127.0.0.1", ports)
		r.Brief = true
		brief, err := Scan(t.Context(), Sources{Machine: m, Engine: engine}, r)
		raw, merr := json.Marshal(brief)
		if err != nil || merr != nil || len(raw) > 7_800 || len(brief.Ports) < 20 || !brief.Truncated || brief.OpenCount != len(open) {
			t.Errorf("brief: %d bytes, %d rows, %v, %v", len(raw), len(brief.Ports), err, merr)
		}
		r.Rows, r.Brief = 0, false
		if all, err := Scan(t.Context(), Sources{Machine: m, Engine: engine}, r); err != nil || len(all.Ports) != len(open) || all.Truncated {
			t.Errorf("%d of %d rows, %v", len(all.Ports), len(open), err)
		}
	}
}

func TestScansThatEndEarly(t *testing.T) {
	some := Result{Open: []uint16{22}, Closed: 3}
	for _, c := range []struct {
		result Result
		err    error
		gap    string
		code   fault.Code
	}{
		{some, context.DeadlineExceeded, "6 of 10 ports have no known state: the time limit was reached; ask for fewer ports at a time", ""},
		{Result{Open: []uint16{}}, context.DeadlineExceeded, "10 of 10 ports have no known state: the time limit was reached; ask for fewer ports at a time", ""},
		{some, fmt.Errorf("open a connection: %w", syscall.EMFILE), "6 of 10 ports have no known state: open a connection: too many open files", ""},
		{some, nil, "6 of 10 ports have no known state: the scanner did not tell", ""},
		{some, ErrNoRoute, "6 of 10 ports have no known state: no route to the address", ""},
		{Result{}, fmt.Errorf("open a connection: %w", syscall.EMFILE), "", fault.Unavailable},
		{Result{}, fmt.Errorf("%w (network is unreachable)", ErrNoRoute), "", fault.Unavailable},
		{some, fault.New(fault.Unavailable, "There is no nmap."), "", fault.Unavailable},
	} {
		engine := fakeEngine(func(context.Context, Job) (Result, error) { return c.result, c.err })
		got, err := Scan(t.Context(), Sources{Machine: fakeMachine{}, Engine: engine, RouteCheck: func(a string) string { return "route " + a }}, request(t, "10.1.2.77", "20-29"))
		if c.code != "" {
			if err == nil || fault.From(err).Code != c.code {
				t.Errorf("%v: %+v, %v", c.err, got, err)
			}
			continue
		}
		if err != nil || got.Complete || len(got.Unavailable) != 1 || got.Unavailable[0] != (answer.Gap{Field: "ports", Reason: c.gap}) || got.Scanned != c.result.Known() {
			t.Errorf("%v: %+v, %v", c.err, got, err)
		}
	}
}

func TestAScanKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := fakeEngine(func(ctx context.Context, job Job) (Result, error) {
			<-ctx.Done()
			return Result{Open: []uint16{}, Filtered: 1}, ctx.Err()
		})
		start := time.Now()
		got, err := Scan(t.Context(), Sources{Machine: fakeMachine{}, Engine: waits}, request(t, "10.1.2.77", "20-29"))
		if err != nil || got.FilteredCount != 1 || got.Complete || time.Since(start) != TimeLimit || got.ScanTimeMS != "40000" {
			t.Errorf("%+v, %v after %v", got, err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := Scan(ctx, Sources{Machine: fakeMachine{}, Engine: waits}, request(t, "10.1.2.77", "20-29")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		start = time.Now()
		got, err = Scan(t.Context(), Sources{Machine: fakeMachine{stuck: true}, Engine: finds(22)}, request(t, "127.0.0.1", "20-29"))
		if err != nil || time.Since(start) != ownersLimit || got.Unavailable[0].Reason != "did not answer in time" {
			t.Errorf("%+v, %v after %v", got, err, time.Since(start))
		}
	})
}

func TestRefusedTargetsAreNotScanned(t *testing.T) {
	never := fakeEngine(func(context.Context, Job) (Result, error) {
		t.Error("it was scanned")
		return Result{}, nil
	})
	for _, c := range []struct {
		machine fakeMachine
		found   []string
		code    fault.Code
	}{
		{fakeMachine{}, []string{"203.0.113.7"}, fault.TargetNotAllowed},
		{fakeMachine{}, []string{"169.254.169.254", "fe80::1"}, fault.TargetNotAllowed},
		{fakeMachine{}, nil, fault.HostNotFound},
		{fakeMachine{err: syscall.EPERM}, []string{"127.0.0.1"}, fault.Unavailable},
	} {
		_, err := Scan(t.Context(), Sources{Resolver: fakeResolver(c.found), Machine: c.machine, Engine: never}, request(t, "a.example", "1"))
		if err == nil || fault.From(err).Code != c.code {
			t.Errorf("%v: %v", c.found, err)
		}
	}
}

func TestProgressIsToldOncePerPercent(t *testing.T) {
	var told []int
	r := request(t, "10.1.2.77", "1-1000")
	r.Progress = func(percent int) { told = append(told, percent) }
	engine := fakeEngine(func(_ context.Context, job Job) (Result, error) {
		for n := range len(job.Ports) + 1 {
			job.Progress(n)
		}
		return Result{Open: []uint16{}, Closed: len(job.Ports)}, nil
	})
	if _, err := Scan(t.Context(), Sources{Machine: fakeMachine{}, Engine: engine}, r); err != nil {
		t.Fatal(err)
	}
	if len(told) != 100 || told[0] != 1 || told[99] != 100 || !slices.IsSorted(told) {
		t.Errorf("%v", told)
	}
}
