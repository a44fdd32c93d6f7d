// SPDX-License-Identifier: Apache-2.0

package netstat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func lines(sockets []Socket) []string {
	var list []string
	for _, s := range sockets {
		list = append(list, fmt.Sprintf("%s %s %v %v %d %q", s.Protocol, s.State, s.Local, s.Remote, s.PID, s.Command))
	}
	return list
}

func TestSockets(t *testing.T) {
	for protocol, want := range map[network.Protocol][]string{
		network.TCP: {
			`tcp ESTABLISHED 192.0.2.105:59739 198.51.100.109:993 935 "Mail"`,
			`tcp CLOSE_WAIT [fe80::1%en0]:49152 [fe80::9%en0]:22 936 "ssh"`,
			`tcp LISTEN [::]:7000 invalid AddrPort 855 "My 2nd: App x 1"`,
			`tcp TIME_WAIT 192.0.2.105:59740 198.51.100.109:993 0 ""`,
			`tcp CLOSED 0.0.0.0:0 invalid AddrPort 77 "idle"`,
		},
		network.UDP: {
			`udp LISTEN 0.0.0.0:5353 invalid AddrPort 298 ""`,
			`udp ESTABLISHED [2001:db8::105]:64161 [2001:db8::95]:443 2501 ""`,
		},
	} {
		got, err := Sockets(t.Context(), replay.New(t, "testdata/"+string(protocol)+".txtar"), protocol)
		if diff := cmp.Diff(want, lines(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

func TestInterfaces(t *testing.T) {
	got, err := Interfaces(t.Context(), replay.New(t, "testdata/interfaces.txtar"))
	none, some := uint64(0), uint64(31)
	want := []Interface{
		{"lo0", 174982, 0, 25774844, 174982, 0, 25774844, &none},
		{"gif0", 0, 0, 0, 0, 0, 0, &none},
		{"en0", 5921903123, 2, 1<<64 - 1, 14314573, 1, 18228234970, &some},
		{"fw0", 0, 0, 346, 0, 0, 0, nil},
		{"bridge100", 0, 0, 0, 0, 0, 0, &none},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

type printing struct {
	sysexec.Result
	err error
}

func (p printing) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return p.Result, p.err
}

func printed(stdout string, exit int) printing {
	return printing{Result: sysexec.Result{Stdout: []byte(stdout), Exit: exit}}
}

const (
	links = "Name Mtu Network Address Ipkts Ierrs Ibytes Opkts Oerrs Obytes Coll\n"
	lo0   = "lo0 16384 <Link#1> 1 0 2 3 0 4 0\n"
	table = "Active Internet connections (including servers)\nProto Recv-Q Send-Q  Local Address  Foreign Address  (state)\n"
)

func TestFailures(t *testing.T) {
	for name, p := range map[string]printing{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded}, "refused": printed("", 1),
		"noise": printed("netstat: sysctl: net.inet.tcp.pcblist_n: Operation not permitted\n", 0), "killed": printed(links+lo0, 137),
		"cut row": printed(links+"lo0 16384 <Link#1> 1 0 2 3 0\n"+table+"tcp4 0 0 *.22 192.0.2\n", 0),
		"letters": printed(links+"lo0 16384 <Link#1> 1 0 2 3 0 x 0\n"+table+"tcp4 0 0 2001:db8::1:22 *.* LISTEN\n", 0),
	} {
		if got, err := Interfaces(t.Context(), p); err == nil {
			t.Errorf("%s: %+v without an error", name, got)
		}
		if got, err := Sockets(t.Context(), p, network.TCP); err == nil {
			t.Errorf("%s: %+v without an error", name, lines(got))
		}
	}
	for name, out := range map[string]string{"empty": "", "no bytes": "Name Mtu Network Address Ipkts Ierrs Opkts Oerrs Coll\n", "no row": links} {
		if got, err := Interfaces(t.Context(), printed(out, 0)); err == nil {
			t.Errorf("%s: %+v without an error", name, got)
		}
	}
	if got, err := Sockets(t.Context(), printed("", 0), network.UDP); err != nil || len(got) != 0 {
		t.Errorf("no socket at all: %+v, %v", got, err)
	}
}

func TestRecordedOutputs(t *testing.T) {
	type facts struct {
		interfaces, tcp, udp int
		check                string
	}
	want := map[string]facts{
		"ib-2012.txt":               {interfaces: 4, check: "{en0 20328868 0 13309516362 14810885 0 11363839527"},
		"ib-apple-silicon-2026.txt": {interfaces: 7, check: "{lo0 13426 0 3540480 13426 0 3540480"},
		"idlbn-ohai.txt":            {interfaces: 8, check: "{fw0 0 0 0 0 0 1038"},
		"anv-p-tcp-modern.txt":      {tcp: 5, check: `tcp LISTEN 0.0.0.0:8080 invalid AddrPort 855 "Brave Browser He"`},
		"anv-p-udp-modern.txt":      {udp: 2, check: `udp ESTABLISHED 192.168.0.105:64161 108.177.119.95:443 855 "Brave Browser He"`},
	}
	for _, r := range testenv.RecordedOutputs(t, "netstat") {
		interfaces, _ := parseInterfaces(r.Raw)
		tcp, _ := parseSockets(r.Raw, network.TCP)
		udp, _ := parseSockets(r.Raw, network.UDP)
		w, known := want[r.Name]
		if text := string(r.Raw); !known { // by its columns
			w.interfaces, w.tcp, w.udp = len(interfaces), len(tcp), len(udp)
			if !strings.Contains(text, "Ibytes") && w.interfaces > 0 || !strings.Contains(text, "process:pid") && !strings.Contains(text, " pid ") && w.tcp+w.udp > 0 {
				t.Errorf("%s: %v, %v, %v without their columns", r.Name, interfaces, lines(tcp), lines(udp))
			}
		}
		all := fmt.Sprint(interfaces, lines(tcp), lines(udp))
		if len(interfaces) != w.interfaces || len(tcp) != w.tcp || len(udp) != w.udp || !strings.Contains(all, w.check) {
			t.Errorf("%s: %d interfaces, %d TCP, %d UDP: %s", r.Name, len(interfaces), len(tcp), len(udp), all)
		}
	}
}

func FuzzSockets(f *testing.F) {
	f.Add(table + "tcp46 0 0 *.22 *.* LISTEN 1 2 3 4 a b:5 x\n")
	f.Add("Proto Recv-Q Send-Q  Local Address Foreign Address (state) process:pid state\nudp4 0 0 *.22 *.* 1 2 3 4 a b:5 x\n")
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseSockets([]byte(raw), network.TCP)
		for _, s := range got {
			if err == nil && (!s.Local.IsValid() || s.PID < 0) {
				t.Errorf("accepted %+v", s)
			}
		}
	})
}

func FuzzInterfaces(f *testing.F) {
	f.Add(links + lo0)
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseInterfaces([]byte(raw))
		if (err == nil) != (len(got) > 0) && err == nil {
			t.Errorf("nothing is no table")
		}
		for _, i := range got {
			if i.Name == "" {
				t.Errorf("accepted %+v", i)
			}
		}
	})
}
