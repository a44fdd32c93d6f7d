// SPDX-License-Identifier: Apache-2.0

package connectscan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/portscan"
	"sentinel/internal/testenv"
)

func ports(t testing.TB, text string) []uint16 {
	t.Helper()
	set, err := portscan.ParsePorts(text)
	if err != nil {
		t.Fatal(err)
	}
	return set.List()
}

// listen opens n ports of this machine, lowest first.
func listen(t testing.TB, address string, n int) []uint16 {
	t.Helper()
	var list []uint16
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		testenv.Need(t, err == nil, fmt.Sprintf("a socket that listens at %s: %v", address, err))
		t.Cleanup(func() { l.Close() })
		list = append(list, uint16(l.Addr().(*net.TCPAddr).Port))
	}
	slices.Sort(list)
	return list
}

func TestStatesOfThisMachine(t *testing.T) {
	for _, address := range []string{"127.0.0.1", "::1"} {
		opened := listen(t, address, 3)
		which := append(slices.Clone(opened), 1, 2, 3, 4, 5)
		slices.Sort(which)
		reported := 0
		r, err := New(NetDialer{}).Scan(t.Context(), portscan.Job{
			Address: netip.MustParseAddr(address), Ports: which, Local: true, Progress: func(done int) { reported = max(reported, done) },
		})
		if err != nil || !slices.Equal(r.Open, opened) || r.Closed != 5 || r.Filtered != 0 || reported != len(which) {
			t.Errorf("%s: %+v, %v, progress %d; open are %v", address, r, err, reported, opened)
		}
	}
}

// All 65535 ports: every open one is found, and none that the scan itself opened.
func TestManyPorts(t *testing.T) {
	opened := listen(t, "127.0.0.1", 40)
	before := runtime.NumGoroutine()
	r, err := New(NetDialer{}).Scan(t.Context(), portscan.Job{Address: netip.MustParseAddr("127.0.0.1"), Ports: ports(t, "all"), Local: true})
	if err != nil || r.Known() != 65535 || r.Filtered != 0 {
		t.Fatalf("%d known, %d filtered, %v", r.Known(), r.Filtered, err)
	}
	for _, p := range opened {
		if !slices.Contains(r.Open, p) {
			t.Errorf("port %d is open and was not found", p)
		}
	}
	testenv.WaitFor(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

// A fake answers after a given time.
type fake struct {
	answer func(port uint16, try int) (uint16, error)
	after  func(port uint16, try int) time.Duration
	mu     sync.Mutex
	tries  map[uint16]int
	busy   atomic.Int64
	most   atomic.Int64
}

// Dial implements [Dialer], with errors as those of the net package.
func (f *fake) Dial(ctx context.Context, to netip.AddrPort) Attempt {
	began := time.Now()
	local, err := f.dial(ctx, to)
	if err != nil {
		return failed(ctx, err, time.Since(began))
	}
	return Attempt{Outcome: Open, Local: local}
}

func (f *fake) dial(ctx context.Context, to netip.AddrPort) (uint16, error) {
	n := f.busy.Add(1)
	defer f.busy.Add(-1)
	for m := f.most.Load(); n > m && !f.most.CompareAndSwap(m, n); m = f.most.Load() {
	}
	f.mu.Lock()
	if f.tries == nil {
		f.tries = map[uint16]int{}
	}
	f.tries[to.Port()]++
	try := f.tries[to.Port()]
	f.mu.Unlock()
	if f.after != nil {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(f.after(to.Port(), try)):
		}
	}
	return f.answer(to.Port(), try)
}

type late struct{ error }

func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true }

var errLate = &net.OpError{Op: "dial", Err: late{errors.New("i/o timeout")}}

func wrapped(n syscall.Errno) error { return fmt.Errorf("dial: %w", n) }

func job(t testing.TB, which string) portscan.Job {
	return portscan.Job{Address: netip.MustParseAddr("192.0.2.7"), Ports: ports(t, which)}
}

func TestAnswersBecomeStates(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		after  time.Duration
		want   portscan.Result
	}{
		"refused":                 {wrapped(syscall.ECONNREFUSED), time.Millisecond, portscan.Result{Closed: 1}},
		"reset":                   {wrapped(syscall.ECONNRESET), time.Millisecond, portscan.Result{Open: []uint16{80}}},
		"silence":                 {errLate, Timeout, portscan.Result{Filtered: 1, Silent: 1}},
		"silence by the kernel":   {wrapped(syscall.ETIMEDOUT), Timeout, portscan.Result{Filtered: 1}},
		"a router":                {wrapped(syscall.EHOSTUNREACH), time.Second / 10, portscan.Result{Filtered: 1}},
		"a router of the network": {wrapped(syscall.ENETUNREACH), time.Second / 10, portscan.Result{Filtered: 1}},
		"the own firewall":        {wrapped(syscall.EPERM), 0, portscan.Result{Filtered: 1}},
		"nothing told":            {errors.New("odd"), 0, portscan.Result{Filtered: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(uint16, int) (uint16, error) { return 0, c.answer }, after: func(uint16, int) time.Duration { return c.after }}
			r, err := Engine{f}.Scan(t.Context(), job(t, "80"))
			if err != nil || !slices.Equal(r.Open, c.want.Open) || r.Closed != c.want.Closed || r.Filtered != c.want.Filtered {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		})
	}
}

func TestThatThereIsNoWayEndsTheScan(t *testing.T) {
	for name, n := range map[string]syscall.Errno{"network": syscall.ENETUNREACH, "down": syscall.ENETDOWN, "zone": syscall.EINVAL, "host": syscall.EHOSTUNREACH} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(uint16, int) (uint16, error) { return 0, wrapped(n) }}
			r, err := Engine{f}.Scan(t.Context(), job(t, "1-500"))
			if !errors.Is(err, portscan.ErrNoRoute) || r.Known() > 1 && n != syscall.EHOSTUNREACH || len(r.Open) > 0 || r.Filtered > 0 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		})
	}
}

// One port of many is a firewall's doing.
func TestOneUnreachablePortIsFiltered(t *testing.T) {
	f := &fake{answer: func(p uint16, _ int) (uint16, error) {
		if p == 7 {
			return 0, wrapped(syscall.EHOSTUNREACH)
		}
		return 0, wrapped(syscall.ECONNREFUSED)
	}}
	synctest.Test(t, func(t *testing.T) {
		if r, err := (Engine{f}).Scan(t.Context(), job(t, "1-10")); err != nil || r.Closed != 9 || r.Filtered != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// Resources that run short are requested again, with fewer connections at a time.
func TestScarcityIsOvercome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{after: func(uint16, int) time.Duration { return 5 * time.Millisecond }}
		f.answer = func(uint16, int) (uint16, error) {
			if f.busy.Load() > 20 {
				return 0, wrapped(syscall.EMFILE)
			}
			return 0, wrapped(syscall.ECONNREFUSED)
		}
		r, err := Engine{f}.Scan(t.Context(), job(t, "1-3000"))
		if err != nil || r.Closed != 3000 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestLastingScarcityIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(uint16, int) (uint16, error) { return 0, wrapped(syscall.EADDRNOTAVAIL) }}
		start := time.Now()
		r, err := Engine{f}.Scan(t.Context(), job(t, "1-300"))
		if !errors.Is(err, syscall.EADDRNOTAVAIL) || r.Known() != 0 || time.Since(start) > 2*exhaustedLimit {
			t.Errorf("%+v, %v after %v", r, err, time.Since(start))
		}
	})
}

// A thousand filtered ports take little more than one.
func TestSilentPortsAreAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(uint16, int) (uint16, error) { return 0, errLate }, after: func(uint16, int) time.Duration { return Timeout }}
		start := time.Now()
		r, err := Engine{f}.Scan(t.Context(), job(t, "1-1024"))
		if took := time.Since(start); err != nil || r.Filtered != 1024 || took > 3*time.Second {
			t.Errorf("%+v, %v after %v", r, err, took)
		}
	})
}

// On a network that loses packets, silent ports are asked again.
func TestLostPacketsHideNoOpenPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{
			after: func(p uint16, try int) time.Duration {
				switch {
				case p%10 == 0 && try == 1:
					return Timeout // both packets lost
				case p%10 == 1:
					return time.Second + time.Millisecond // the first packet lost
				default:
					return time.Millisecond
				}
			},
			answer: func(p uint16, try int) (uint16, error) {
				if p%10 == 0 && try == 1 {
					return 0, errLate
				}
				return 50000, nil
			},
		}
		r, err := Engine{f}.Scan(t.Context(), job(t, "1-200"))
		if err != nil || len(r.Open) != 200 || r.Filtered != 0 {
			t.Errorf("%d open, %d filtered, %v", len(r.Open), r.Filtered, err)
		}
	})
}

// limited answers 250 times a second, as macOS does for its own closed ports;
// what it leaves out is sent again after a second.
func limited() *fake {
	f := &fake{answer: func(uint16, int) (uint16, error) { return 0, wrapped(syscall.ECONNREFUSED) }}
	var mu sync.Mutex
	second, told := int64(0), 0
	budget := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now().Unix(); now != second {
			second, told = now, 0
		}
		told++
		return told <= 250
	}
	f.answer = func(uint16, int) (uint16, error) {
		if budget() {
			return 0, wrapped(syscall.ECONNREFUSED)
		}
		<-time.After(time.Second)
		if budget() {
			return 0, wrapped(syscall.ECONNREFUSED)
		}
		<-time.After(Timeout - time.Second)
		return 0, errLate
	}
	return f
}

func TestHostThatLimitsItsRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, err := Engine{limited()}.Scan(t.Context(), job(t, "1-1024"))
		if took := time.Since(start); err != nil || r.Closed != 1024 || took > 8*time.Second {
			t.Errorf("%+v, %v after %v", r, err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), portscan.TimeLimit)
		defer cancel()
		r, err = Engine{limited()}.Scan(ctx, job(t, "all"))
		if !errors.Is(err, context.DeadlineExceeded) || r.Filtered != 0 || r.Closed < 8000 || len(r.Open) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A scan that is cancelled soon reports what it has found.
func TestEndOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := &fake{
			after: func(p uint16, _ int) time.Duration {
				if p <= 50 {
					return time.Millisecond
				}
				return time.Hour
			},
			answer: func(p uint16, _ int) (uint16, error) {
				if p == 22 {
					return 50000, nil
				}
				return 0, wrapped(syscall.ECONNREFUSED)
			},
		}
		start := time.Now()
		r, err := Engine{f}.Scan(ctx, job(t, "1-5000"))
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(r.Open, []uint16{22}) || r.Closed != 49 || r.Filtered != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(start); took > time.Second+tick || f.busy.Load() != 0 {
			t.Errorf("it took %v, and %d connections are under way", took, f.busy.Load())
		}
		if f.most.Load() > maxWindow {
			t.Errorf("%d connections at once", f.most.Load())
		}
	})
}

// Two connections of the scan that met each other are no open ports.
func TestScanDoesNotFindItself(t *testing.T) {
	f := &fake{answer: func(p uint16, try int) (uint16, error) {
		switch {
		case p == 1000 && try == 1:
			return 1001, nil
		case p == 1001 && try == 1:
			return 1000, nil
		case p == 1002 && try == 1:
			return 1002, nil
		case p == 1003:
			return 50000, nil
		default:
			return 0, wrapped(syscall.ECONNREFUSED)
		}
	}}
	j := job(t, "1000-1004")
	j.Local = true
	r, err := Engine{f}.Scan(t.Context(), j)
	if err != nil || !slices.Equal(r.Open, []uint16{1003}) || r.Closed != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

func BenchmarkLocalPorts(b *testing.B) {
	j := portscan.Job{Address: netip.MustParseAddr("127.0.0.1"), Ports: ports(b, "all"), Local: true}
	for b.Loop() {
		if r, err := New(NetDialer{}).Scan(b.Context(), j); err != nil || r.Known() != 65535 {
			b.Fatal(r, err)
		}
	}
}
