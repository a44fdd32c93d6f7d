// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"strings"
	"testing"
)

func pattern(line string) string { return string(appendPattern(nil, []byte(line))) }

func TestWhatDiffersIsMasked(t *testing.T) {
	for line, want := range map[string]string{
		"":                "",
		"  started\n":     "started",
		"worker 17 ended": "worker # ended",
		"Failed password for root from 203.0.113.7 port 51022 ssh2":       "Failed password for root from # port # ssh#",
		"from 2001:db8::7 and fe80::dead:beef%eth0":                       "from # and #%eth#",
		"request 550e8400-e29b-41d4-a716-446655440000 took 1.5s":          "request # took #s",
		"id=4f3a9c0012ab ok, container 9Xk2mQ71zz4P":                      "id=# ok, container #",
		"at 2026-03-04T05:06:07.123Z":                                     "at #T#Z",
		"05:06:07,123 [main] x":                                           "# [main] x",
		`open "/srv/a b": No such file, 'x' it's`:                         `open "#": No such file, '#' it's`,
		`say "\"quoted\" 5" now`:                                          `say "#" now`,
		`unclosed "5 and 6`:                                               `unclosed "# and #`,
		"eth0: link up, -5 °C, 0x1fa3, 90%":                               "eth#: link up, -# °C, #, #%",
		"segfault at 0 ip 00007f3c1a sp 00007ffd error 4 in libc.so.6[x]": "segfault at # ip # sp # error # in libc.so.#[x]",
		"Started session-42.scope - Session 42 of User ann.":              "Started session-#.scope - Session # of User ann.",
		"aa:bb:cc:00:53:01 joined":                                        "aa:bb:cc:# joined",
		"many     blanks":                                                 "many blanks",
		"größe 5":                                                         "größe #",
		strings.Repeat("x", maxPattern) + " 5":                            strings.Repeat("x", maxPattern),
	} {
		if got := pattern(line); got != want {
			t.Errorf("%q\n is %q\nwant %q", line, got, want)
		}
	}
}

func TestLinesThatDifferOtherwiseStayApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"nginx started", "nginx stopped"}, {"user ann failed", "user bob failed"}, {"disk sda failed", "disk failed sda"}, {"5 apples", "apples 5"}, {"error", "error 5"},
	} {
		if pattern(pair[0]) == pattern(pair[1]) {
			t.Errorf("%q and %q are one", pair[0], pair[1])
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"from 2001:db8::7 port 5", `a "b\"" 'c'`, "#-#.5", "1::2:-3+4", "\xff\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := appendPattern([]byte("12."), line)
		if !bytes.HasPrefix(got, []byte("12.")) || len(got) > 3+2*maxPattern {
			t.Errorf("%q is %q", line, got)
		}
		for _, c := range got[3:] {
			if isDigit(c) {
				t.Errorf("%q keeps a digit: %q", line, got)
			}
		}
	})
}
