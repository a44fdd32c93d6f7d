// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

func measured(t *testing.T, m *machine, rows int) (r Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = Measure(t.Context(), m, rows); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestRatesAreMeasuredAndLoopbackIsNotCounted(t *testing.T) {
	m := &machine{interfaces: [][]Interface{
		{{Name: "lo", Loopback: true, BytesIn: 7, BytesOut: 7}, {Name: "eth0", BytesIn: 1000, BytesOut: 50}, {Name: "wlan0", BytesIn: 10, BytesOut: 10}},
		{
			{Name: "lo", Loopback: true, BytesIn: 9007, BytesOut: 9007},
			{Name: "eth0", BytesIn: 2000, PacketsIn: 3, ErrorsIn: 1, DropsIn: 2, BytesOut: 100, PacketsOut: 4, ErrorsOut: 5, DropsOut: 6},
			{Name: "wlan0", BytesIn: 10, BytesOut: 8000},
		},
	}}
	got := measured(t, m, 0).Stats
	want := Stats{
		Interfaces: []InterfaceStats{
			{Name: "wlan0", BytesSent: 8000, BytesRecv: 10, DropsIn: new(uint64(0)), DropsOut: new(uint64(0)), SentPerSecond: new(int64(15980)), RecvPerSecond: new(int64(0))},
			{
				Name: "eth0", BytesSent: 100, BytesRecv: 2000, PacketsSent: 4, PacketsRecv: 3, ErrorsIn: 1, ErrorsOut: 5, DropsIn: new(uint64(2)), DropsOut: new(uint64(6)),
				SentPerSecond: new(int64(100)), RecvPerSecond: new(int64(2000)),
			},
			{Name: "lo", BytesSent: 9007, BytesRecv: 9007, Loopback: true, DropsIn: new(uint64(0)), DropsOut: new(uint64(0)), SentPerSecond: new(int64(18000)), RecvPerSecond: new(int64(18000))},
		},
		InterfacesTotal: 3, Connections: &ConnectionCounts{}, TotalBytesSent: 8100, TotalBytesRecv: 2010, WindowMS: 500,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDropsThatTheSystemDoesNotTellAreAbsent(t *testing.T) {
	one := []Interface{{Name: "en0", NoDropsIn: true, DropsOut: 3}, {Name: "fw0", NoDropsIn: true, NoDropsOut: true}}
	got := measured(t, &machine{interfaces: [][]Interface{one, one}}, 0)
	first, second := got.Stats.Interfaces[0], got.Stats.Interfaces[1]
	if first.DropsIn != nil || first.DropsOut == nil || *first.DropsOut != 3 || second.DropsIn != nil || second.DropsOut != nil {
		t.Errorf("%+v %+v", first, second)
	}
	want := answer.Gaps{{Field: "stats.interfaces.drops_in", Reason: "this system does not count packets that it drops on the way in"}}
	if diff := cmp.Diff(want, got.Unavailable); diff != "" {
		t.Error(diff)
	}
}

func TestRateIsAbsentWhereNoneCanBeTold(t *testing.T) {
	m := &machine{interfaces: [][]Interface{
		{{Name: "reset", BytesIn: 5000, BytesOut: 10}, {Name: "gone"}, {Name: "wrapped", BytesIn: math.MaxUint64}},
		{{Name: "reset", BytesIn: 10, BytesOut: 20}, {Name: "new", BytesIn: 1 << 40}, {Name: "wrapped", BytesIn: 5}},
	}}
	got := map[string][2]bool{}
	for _, i := range measured(t, m, 0).Stats.Interfaces {
		got[i.Name] = [2]bool{i.RecvPerSecond != nil, i.SentPerSecond != nil}
	}
	if diff := cmp.Diff(map[string][2]bool{"reset": {false, true}, "new": {false, false}, "wrapped": {false, true}}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzRate(f *testing.F) {
	f.Add(uint64(0), uint64(math.MaxUint64), int64(time.Second))
	f.Add(uint64(5), uint64(4), int64(1))
	f.Fuzz(func(t *testing.T, first, second uint64, elapsed int64) {
		r := rate(first, second, time.Duration(elapsed))
		if r != nil && (*r < 0 || second < first) {
			t.Errorf("%d to %d in %d: %d", first, second, elapsed, *r)
		}
	})
}

func TestInterfacesAreCutBusiestFirst(t *testing.T) {
	list := []Interface{
		{Name: "lo", Loopback: true, BytesIn: 1 << 50}, {Name: "b", BytesIn: 5}, {Name: "a", BytesOut: 5}, {Name: "quiet"}, {Name: "\x1b[31m", BytesIn: 9},
	}
	for rows, want := range map[int][]string{0: {"�[31m", "a", "b", "quiet", "lo"}, 2: {"�[31m", "a"}, 5: {"�[31m", "a", "b", "quiet", "lo"}} {
		s := measured(t, &machine{interfaces: [][]Interface{list, list}}, rows).Stats
		var got []string
		for _, i := range s.Interfaces {
			got = append(got, i.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || s.InterfacesTotal != 5 || s.Truncated != (rows == 2) || s.TotalBytesRecv != 14 {
			t.Errorf("%d rows of %d, truncated %v, %d bytes\n%s", rows, s.InterfacesTotal, s.Truncated, s.TotalBytesRecv, diff)
		}
	}
}

func TestConnectionsAreCountedByState(t *testing.T) {
	m := &machine{interfaces: [][]Interface{{}, {}}}
	for i, state := range []State{Established, Established, Listen, TimeWait, CloseWait, SynSent, SynReceived, FinWait1, FinWait2, LastAck, Closing, Closed} {
		m.sockets = append(m.sockets, socket(state, "192.0.2.1:1", "203.0.113.1:1", uint64(i)))
	}
	for range 3 {
		u := socket(Listen, "0.0.0.0:53", "0.0.0.0:0", 99)
		u.Protocol = UDP
		m.sockets = append(m.sockets, u)
	}
	got := measured(t, m, 0).Stats
	want := ConnectionCounts{Total: 15, TCP: 12, UDP: 3, Established: 2, Listen: 1, TimeWait: 1, CloseWait: 1, Other: 7}
	if diff := cmp.Diff(&want, got.Connections); diff != "" || got.Interfaces == nil {
		t.Errorf("interfaces %v\n%s", got.Interfaces, diff)
	}
}

func TestConnectionsThatCannotBeCountedAreAGap(t *testing.T) {
	m := &machine{interfaces: [][]Interface{{}, {}}, socketsErr: errors.New("not allowed"), sockets: []Socket{socket(Established, "192.0.2.1:1", "203.0.113.1:1", 1)}}
	got := measured(t, m, 0)
	if got.Stats.Connections != nil || len(got.Unavailable) != 1 || got.Unavailable[0].Field != "stats.connections" {
		t.Errorf("got %+v", got)
	}
}

func TestMeasureFailsWithoutCounters(t *testing.T) {
	for calls := range 2 {
		synctest.Test(t, func(t *testing.T) {
			if r, err := Measure(t.Context(), &machine{interfaces: make([][]Interface, calls)}, 0); err == nil {
				t.Errorf("%d readings: %+v", calls, r)
			}
		})
	}
}

func TestMeasureEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := Measure(ctx, &machine{interfaces: [][]Interface{{}, {}}}, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if r, err := Measure(ctx, leaving{&machine{interfaces: [][]Interface{{}, {}}}, cancel}, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// leaving is a machine whose caller cancels while sockets are counted.
type leaving struct {
	*machine
	leave func()
}

func (l leaving) Sockets(ctx context.Context, _ func(Socket)) error {
	l.leave()
	return ctx.Err()
}
