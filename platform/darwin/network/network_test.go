// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
)

func play(t *testing.T, files ...string) sysexec.Runner {
	t.Helper()
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = "testdata/" + file + ".txtar"
	}
	return replay.New(t, paths...)
}

func lines(c network.Connections) (list []string) {
	for _, f := range c.Flows {
		list = append(list, fmt.Sprintf("%d %s %s %s %s", f.PID, f.ProcessName, f.Source, f.Destination, f.Status))
	}
	for _, l := range c.Listening {
		list = append(list, fmt.Sprintf("%d %s %s %s", l.PID, l.ProcessName, l.Protocol, l.Address))
	}
	return list
}

func TestConnections(t *testing.T) {
	want := []string{
		"935 Brave Browser Helper 192.0.2.105:59739 198.51.100.109:993 ESTABLISHED",
		"0  192.0.2.105:59740 198.51.100.109:993 TIME_WAIT",
		"936 ssh [fe80::1%en0]:49152 [fe80::9%en0]:22 CLOSE_WAIT",
		"1 launchd tcp 0.0.0.0:22",
		"298 mDNSResponder udp [::]:5353",
		"1733 Google Chrome Helper udp [::]:5353",
	}
	var gaps answer.Gaps
	got, err := network.Collect(t.Context(), New(play(t, "tcp", "udp", "lsof"), 501), 0, &gaps)
	if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil || len(gaps) != 0 {
		t.Error(diff, err, gaps)
	}
}

func TestRootBelievesTheHolderOfASocket(t *testing.T) {
	source := New(play(t, "tcp", "udp", "lsof"), 0)
	var list []network.Socket
	err := source.Sockets(t.Context(), func(s network.Socket) { list = append(list, s) })
	if err != nil || len(list) != 6 {
		t.Fatal(list, err)
	}
	owners, denied, err := source.Owners(t.Context(), append(list, network.Socket{ID: 4711}))
	if denied || err != nil || owners[5] != (network.Owner{PID: 1733, Name: "Google Chrome Helper"}) || owners[4] != (network.Owner{}) {
		t.Errorf("%v, %v, %v", owners, denied, err)
	}
}

func TestCountsNeedNoOwners(t *testing.T) {
	var counts, bound int
	source := New(play(t, "tcp", "udp"), 501)
	err := source.Sockets(t.Context(), func(s network.Socket) {
		counts++
		if s.State == network.Listen && s.Remote.IsValid() {
			bound++
		}
	})
	if owners, denied, ownersErr := source.Owners(t.Context(), nil); err != nil || ownersErr != nil || denied || len(owners) != 0 || counts != 6 || bound != 3 {
		t.Errorf("%d sockets, %d bound, %v, %v", counts, bound, owners, err)
	}
}

func TestWithoutLsofTheOwnersOfNetstatAreLeft(t *testing.T) {
	var gaps answer.Gaps
	source := New(without{play(t, "tcp", "udp"), "/usr/sbin/lsof"}, 501)
	got, err := network.Collect(t.Context(), source, 0, &gaps)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(lines(got), "\n"); !strings.Contains(all, "935 Brave Browser He 192.0.2.105") || !strings.Contains(all, "0  [fe80::1%en0]") {
		t.Error(all)
	}
	if len(gaps) != 1 || gaps[0].Field != "flows.pid" {
		t.Errorf("%v", gaps)
	}
}

// without returns a machine that lacks a program.
type without struct {
	sysexec.Runner
	program string
}

func (w without) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path == w.program {
		return sysexec.Result{}, errors.New("no such file")
	}
	return w.Runner.Run(ctx, c)
}

func TestWithoutNetstatRootUsesLsofAndOthersSayWhy(t *testing.T) {
	var n int
	if err := New(play(t, "refused", "lsof"), 0).Sockets(t.Context(), func(network.Socket) { n++ }); err != nil || n != 3 {
		t.Errorf("root: %d sockets, %v", n, err)
	}
	err := New(play(t, "refused"), 501).Sockets(t.Context(), func(network.Socket) { t.Error("half a list") })
	if !errors.Is(err, errOwnOnly) {
		t.Error(err)
	}
	if err := New(without{play(t, "refused"), "/usr/sbin/lsof"}, 0).Sockets(t.Context(), nil); err == nil {
		t.Error("nothing to read is no error")
	}
}

func TestInterfaces(t *testing.T) {
	got, err := New(play(t, "interfaces"), 0).Interfaces(t.Context())
	want := []network.Interface{
		{Name: "lo0", Loopback: true, BytesIn: 11, PacketsIn: 10, ErrorsIn: 1, BytesOut: 13, PacketsOut: 12, ErrorsOut: 2, NoDropsIn: true},
		{Name: "en0", BytesIn: 18228234970, PacketsIn: 20, ErrorsIn: 3, BytesOut: 23, PacketsOut: 22, ErrorsOut: 4, DropsOut: 31, NoDropsIn: true},
		{Name: "lom0", NoDropsIn: true, NoDropsOut: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := New(without{nil, "/usr/sbin/netstat"}, 0).Interfaces(t.Context()); err == nil {
		t.Error("a missing program is no error")
	}
}

// A prints is what netstat prints for TCP.
type prints string

func (p prints) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if slices.Contains(c.Args, "tcp") {
		return sysexec.Result{Stdout: []byte(p)}, nil
	}
	return sysexec.Result{}, nil
}

// What has an address of this machine at its other end, or one of loopback, stays here.
func TestConnectionsThatStayHereAreTold(t *testing.T) {
	text := "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address          Foreign Address        (state)          rxbytes      txbytes  rhiwat  shiwat          process:pid    state  options           gencnt    flags   flags1 usecnt rtncnt fltrs\n"
	want := map[string]bool{"192.0.2.20.80": true, "127.0.0.1.9": true, "198.51.100.9.443": false}
	for remote := range want {
		text += "tcp4 0 0 192.0.2.20.59739 " + remote + " ESTABLISHED 19042 2908 131072 131600 web:35 00102 00020000 000000000005b500 00180081 04084900 2 0 000000\n"
	}
	seen := 0
	if err := New(prints(text), 0).Sockets(t.Context(), func(s network.Socket) {
		seen++
		if remote := fmt.Sprintf("%s.%d", s.Remote.Addr(), s.Remote.Port()); s.Internal != want[remote] {
			t.Errorf("%s: internal %v", remote, s.Internal)
		}
	}); err != nil || seen != len(want) {
		t.Errorf("%d sockets, %v", seen, err)
	}
}
