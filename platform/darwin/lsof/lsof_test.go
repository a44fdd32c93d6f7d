// SPDX-License-Identifier: Apache-2.0

package lsof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func lines(sockets []Socket) []string {
	var list []string
	for _, s := range sockets {
		list = append(list, fmt.Sprintf("%d %s %d %s %s %v %v", s.PID, s.Command, s.UID, s.Protocol, s.State, s.Local, s.Remote))
	}
	return list
}

func TestSockets(t *testing.T) {
	got, err := Sockets(t.Context(), replay.New(t, "testdata/root.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"697 UserEventAgent 0 udp LISTEN 0.0.0.0:0 invalid AddrPort",
		"853 Code Helper 501 tcp LISTEN 127.0.0.1:16607 invalid AddrPort",
		"853 Code Helper 501 tcp ESTABLISHED [2001:db8::7]:49152 [2001:db8:1::9]:443",
		"854 mDNSResponder 65 udp LISTEN [::]:5353 invalid AddrPort",
		"854 mDNSResponder 65 udp ESTABLISHED [fe80::1]:123 [fe80::9]:123",
	}
	if list := lines(got); !slices.Equal(list, want) {
		t.Errorf("%s", strings.Join(list, "\n"))
	}
}

type printing struct {
	sysexec.Result
	err error
}

func (p printing) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return p.Result, p.err
}

func printed(stdout, stderr string, exit int) printing {
	return printing{Result: sysexec.Result{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: exit}}
}

const one = "p1\ncx\nf3\ntIPv4\nPTCP\nn*:22\nTST=LISTEN\n"

func TestNothingFoundIsNoFailure(t *testing.T) {
	for name, p := range map[string]printing{
		"nothing": printed("", "", 1), "a warning": printed("", "lsof: WARNING: can't stat() hfs file system /Volumes/x\n", 1), "one protocol": printed(one, "", 1),
	} {
		got, err := Sockets(t.Context(), p)
		if err != nil || name == "one protocol" && len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, p := range map[string]printing{
		"missing": {err: errors.New("no such file")}, "hanging": {err: context.DeadlineExceeded},
		"silent": printed("", "", 0), "blank": printed("\n", "lsof: WARNING: x\n", 0),
		"refused": printed("", "lsof: illegal option -- F\n", 1), "killed": printed(one, "", 137),
		"table": printed("COMMAND PID USER\nsshd 1 root\n", "", 0), "bad PID": printed("px\n", "", 0), "bad user": printed("p1\ncx\nuroot\n", "", 0), "noise": printed("2026-01-01 noise\n"+one, "", 0),
	} {
		if got, err := Sockets(t.Context(), p); err == nil {
			t.Errorf("%s: %v without an error", name, got)
		}
	}
}

// The number of nobody is printed with a sign or without.
func TestWhoseProcessItIs(t *testing.T) {
	for user, want := range map[string][2]bool{
		"u0\n": {true, false}, "u499\n": {true, false}, "u-2\n": {true, false}, "u4294967294\n": {true, false},
		"u500\n": {false, true}, "u2000000000\n": {false, true}, "": {false, false},
	} {
		got, err := parse([]byte(strings.Replace(one, "cx\n", "cx\n"+user, 1)))
		if err != nil || len(got) != 1 || [2]bool{got[0].OfSystem(), got[0].OfPerson()} != want {
			t.Errorf("%q: %+v, %v", user, got, err)
		}
	}
}

func TestNamesDoNotForgeFields(t *testing.T) {
	got, err := parse([]byte(`p7` + "\n" + `ca\nb\x1b[31m\x20c\xc3\xa9\x` + "\nf3\ntIPv4\nPTCP\nn*:22\nTST=LISTEN\n"))
	if err != nil || len(got) != 1 || got[0].Command != `a\nb\x1b[31m cé\x` {
		t.Errorf("%v, %v", lines(got), err)
	}
}

func TestRecordedOutputs(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "lsof") {
		got, err := parse(r.Raw)
		switch {
		case r.Name == "nP-i-FpctPn.txt":
			listens := func(s Socket) bool { return s.Command == "ntpd" && s.State == network.Listen && s.Local.Port() == 123 }
			if err != nil || len(got) != 17 || !slices.ContainsFunc(got, listens) {
				t.Errorf("%s: %d sockets, %v\n%s", r.Name, len(got), err, strings.Join(lines(got), "\n"))
			}
		case (err == nil) != (len(r.Raw) > 0 && r.Raw[0] == 'p'): // else it is the table form
			t.Errorf("%s: %v without an error", r.Name, lines(got))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(one)
	f.Add("p1\ncx\nf3\ntIPv6\nd0x1\nPUDP\nn[::1]:1->[::1]:2\n")
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parse([]byte(raw))
		for _, s := range got {
			if err != nil || s.PID <= 0 || !s.Local.IsValid() || strings.ContainsRune(s.Command, '\n') {
				t.Errorf("accepted %+v, %v", s, err)
			}
		}
	})
}
