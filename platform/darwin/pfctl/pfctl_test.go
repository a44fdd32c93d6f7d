// SPDX-License-Identifier: Apache-2.0

package pfctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const altq = "No ALTQ support in kernel\nALTQ related functions disabled\n"

// prints is a Runner with the same output for every program.
type prints sysexec.Result

func (p prints) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return sysexec.Result(p), nil
}

func said(exit int, stdout, stderr string) Tool {
	return New(prints{Exit: exit, Stdout: []byte(stdout), Stderr: []byte(stderr)})
}

func TestParseEnabled(t *testing.T) {
	for text, want := range map[string]bool{
		"Status: Disabled                              Debug: Urgent\n\nState Table": false,
		"Status: Disabled for 0 days 02:37:56\n":                                     false,
		"Status: Enabled for 8 days 03:22:04           Debug: Urgent\n":              true,
		altq + "Status: Enabled for 0 days 00:00:00           Debug: Urgent\n":       true,
	} {
		if got, err := ParseEnabled([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", altq, "Status:", "Status: Unknown\n", "Enabled\n"} {
		if _, err := ParseEnabled([]byte(text)); err == nil {
			t.Errorf("%q is a status", text)
		}
	}
}

func TestParseTable(t *testing.T) {
	verbose := "   192.0.2.20\n\tCleared:     Mon Aug 20 09:29:46 2018\n\tIn/Block:    [ Packets: 0                  Bytes: 0                  ]\n   2001:db8::7\n"
	for text, want := range map[string][]string{
		"": nil, "   192.0.2.20\n": {"192.0.2.20"}, altq + "   192.0.2.20\n   2001:db8::7\n": {"192.0.2.20", "2001:db8::7"}, verbose: {"192.0.2.20", "2001:db8::7"},
	} {
		got, err := ParseTable([]byte(text))
		if diff := cmp.Diff(want, texts(got)); diff != "" || err != nil {
			t.Errorf("%q: %s %v", text, diff, err)
		}
	}
	for _, text := range []string{"   192.0.2.0/24\n", "  !192.0.2.1\n", "   192.0.2.1", "   192.0.2.\n", "pfctl: Table does not exist.\n"} {
		if got, err := ParseTable([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func texts(list []netip.Addr) []string {
	var all []string
	for _, a := range list {
		all = append(all, a.String())
	}
	return all
}

func TestParseToken(t *testing.T) {
	for text, want := range map[string]uint64{
		"pf enabled\nToken : 14463938713434281103\n": 14463938713434281103,
		altq + "pf enabled\nToken : 7\n":             7,
		"Token : 18446744073709551615\n":             1<<64 - 1,
	} {
		if got, err := ParseToken([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "pf enabled\n", "Token : \n", "Token : -1\n", "Token : 18446744073709551616\n", "Token : 14463938", "Token : 7 8\n"} {
		if got, err := ParseToken([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestParseReferences(t *testing.T) {
	const head = "TOKENS:\nPID      Process Name                 TOKEN                    TIMESTAMP\n"
	for text, want := range map[string][]uint64{
		"No pf starter references held\n": nil,
		head:                              nil,
		head + "4077     pfctl                        9084387343160548126      0 days 00:00:00\n4063     pfctl                        15053025338191571182     12 days 00:00:00\n": {9084387343160548126, 15053025338191571182},
		head + "4077     my vpn 12                    18446744073709551615     0 days 00:00:00\n":                                                                                  {1<<64 - 1},
	} {
		got, err := ParseReferences([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %s %v", text, diff, err)
		}
	}
	for _, text := range []string{"", "TOKENS:\n", head + "4077     pfctl                        90843873431\n", head + "4077 pfctl x 0 days 00:00:00\n"} {
		if got, err := ParseReferences([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestParseRules(t *testing.T) {
	text := altq + "scrub-anchor \"com.apple/*\" all fragment reassemble\nanchor \"com.apple/*\" all\n  block drop  quick from <x> to any\n}\npfctl: DIOCGETRULES: Invalid argument\n\n"
	want := []string{`scrub-anchor "com.apple/*" all fragment reassemble`, `anchor "com.apple/*" all`, "block drop quick from <x> to any"}
	if diff := cmp.Diff(want, ParseRules([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func TestParseKilled(t *testing.T) {
	if n, err := ParseKilled([]byte(altq + "killed 12 states from 1 sources and 0 destinations\n")); n != 12 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, text := range []string{"", altq, "killed states\n", "killed -1 states from\n", "killed 3 src nodes from 1 sources\n"} {
		if n, err := ParseKilled([]byte(text)); err == nil {
			t.Errorf("%q: %d", text, n)
		}
	}
}

func TestNoticesAreNoErrors(t *testing.T) {
	const warning = "pfctl: Use of -f option, could result in flushing of rules\npresent in the main ruleset added by the system at startup.\nSee /etc/pf.conf for further details.\n\n"
	one := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	for name, err := range map[string]error{
		"load":      said(0, "", warning+altq).Load(t.Context(), "a/b", "block all"),
		"add":       said(0, "", altq+"1 table created.\n1/1 addresses added.\n").AddTo(t.Context(), "a/b", "x", one),
		"collision": said(0, "", "pfctl: warning: namespace collision with global table x.\n1/1 addresses added.\n").AddTo(t.Context(), "a/b", "x", one),
		"delete":    said(0, "", "0/1 addresses deleted.\n").DeleteFrom(t.Context(), "a/b", "x", one),
		"missing":   said(1, "", altq+"pfctl: Table does not exist.\n").DeleteFrom(t.Context(), "a/b", "x", one),
		"release":   said(0, "", "pf disabled\n").Release(t.Context(), 7),
		"one of":    said(0, "", "disable request successful. 2 more pf enable reference(s) remaining, pf still enabled.\n").Release(t.Context(), 7),
		"flush":     said(0, "", altq+"rules cleared\n").FlushRules(t.Context(), "a/b"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFailuresAreToldApart(t *testing.T) {
	for text, want := range map[string]error{
		"pfctl: /dev/pf: Permission denied\n":            fs.ErrPermission,
		altq + "pfctl: Table does not exist.\n":          ErrMissing,
		"pfctl: Anchor or Ruleset does not exist.\n":     ErrMissing,
		altq + "pfctl: DIOCGETRULES: Invalid argument\n": ErrMissing,
		"pfctl: pf not enabled\n":                        ErrNotHeld,
		"pfctl: pf: token invalid\n":                     ErrNotHeld,
	} {
		if err := said(1, "", text).Release(t.Context(), 7); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"stdin:3: syntax error\npfctl: Syntax error in config file: pf rules not loaded\n": "stdin:3: syntax error; Syntax error in config file: pf rules not loaded",
		"pfctl: pf already enabled\n": "pf already enabled",
		"":                            "no message",
		"pfctl: \x1b[2J\n":            "�[2J",
	} {
		var e *Error
		if err := said(1, "", text).Load(t.Context(), "a", "x"); !errors.As(err, &e) || e.Message != want || e.Exit != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTheMainRulesetIsNotTouched(t *testing.T) {
	for _, err := range []error{said(0, "", "").FlushRules(t.Context(), ""), said(0, "", "").FlushTables(t.Context(), "")} {
		if err == nil {
			t.Error("the main ruleset is flushed")
		}
	}
	for _, bad := range []netip.Addr{{}, netip.MustParseAddr("fe80::1%en0")} {
		if err := said(0, "", "").AddTo(t.Context(), "a", "x", []netip.Addr{bad}); err == nil {
			t.Errorf("%v is added", bad)
		}
	}
	if _, err := said(0, "", "").Kill(t.Context(), netip.Addr{}); err == nil {
		t.Error("the connections of no address are killed")
	}
}

func TestAnchors(t *testing.T) {
	got, err := said(0, "  com.apple/200.AirDrop\n  com.apple/200.AirDrop/Bonjour\n", altq).Anchors(t.Context(), "com.apple")
	if diff := cmp.Diff([]string{"com.apple/200.AirDrop", "com.apple/200.AirDrop/Bonjour"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got, err := said(0, "", "Anchor 'x' not found.\n").Anchors(t.Context(), "x"); len(got) != 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// recorded maps each recorded output to the expected result.
func TestRecordedOutputs(t *testing.T) {
	want := map[string]string{
		"all-enabled-8days-2020.txt":           "on; rules 4",
		"anchor-missing-invalid-argument.txt":  "missing",
		"anchor-rules-airdrop.txt":             "rules 2",
		"anchor-rules-alf-stealth.txt":         "rules 4",
		"anchor-rules-com.apple.txt":           "rules 2",
		"anchor-wildcard-invalid-argument.txt": "missing; rules 2",
		"anchors-verbose.txt":                  "anchors 4",
		"disable.txt":                          "",
		"enable-E-token-test-sample.txt":       "token 14463938713434281103",
		"enable-E-token-verbose-load.txt":      "token 18446743525445205896",
		"enable-already-enabled.txt":           "error",
		"flush-all-and-load.txt":               "error",
		"info-disabled-for-duration.txt":       "off",
		"info-disabled-full-26.5.2.txt":        "off",
		"info-disabled.txt":                    "off",
		"info-enabled-full-26.5.2.txt":         "on",
		"load-syntax-error-11.4.txt":           "error",
		"load-syntax-error.txt":                "error",
		"load-warning-no-error.txt":            "",
		"not-root.txt":                         "not root",
		"rdr-in-com.apple-anchor-2026.txt":     "",
		"references-none-26.5.2.txt":           "references []",
		"references-one-26.5.2.txt":            "references [15053025338191571182]",
		"references-third-party-26.5.2.txt":    "references [3557565746035151565]",
		"references-two-26.5.2.txt":            "references [9084387343160548126 15053025338191571182]",
		"release-X-last-26.5.2.txt":            "",
		"release-X-stale-pf-on-26.5.2.txt":     "not held",
		"states-empty.txt":                     "",
		"table-add-anchor-2026.txt":            "",
		"table-delete-anchor-2026.txt":         "",
		"table-delete-with-altq-warning.txt":   "",
		"table-show-anchor-2026.txt":           "table 1",
		"table-show-networks.txt":              "table error",
		"table-show-verbose.txt":               "table 3",
	}
	for _, r := range testenv.RecordedOutputs(t, "pfctl") {
		got := understood(r.Name, r.Raw)
		if w, known := want[r.Name]; known && got != w {
			t.Errorf("%s: %q, want %q", r.Name, got, w)
		}
		delete(want, r.Name)
	}
}

// understood sums up an output; the recording does not tell which stream a line came from.
func understood(name string, raw []byte) string {
	var parts []string
	note := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if err := failure(sysexec.Result{Stderr: raw}); err != nil {
		var e *Error
		switch {
		case errors.Is(err, fs.ErrPermission):
			note("not root")
		case errors.Is(err, ErrMissing):
			note("missing")
		case errors.Is(err, ErrNotHeld):
			note("not held")
		case errors.As(err, &e):
			note("error")
		}
	}
	if on, err := ParseEnabled(raw); err == nil {
		note("%s", map[bool]string{true: "on", false: "off"}[on])
	}
	if token, err := ParseToken(raw); err == nil {
		note("token %d", token)
	}
	if tokens, err := ParseReferences(raw); err == nil {
		note("references %d", tokens)
	}
	rules, anchors := ParseRules(raw), ParseAnchors(raw)
	switch {
	case strings.HasPrefix(name, "table-show"):
		if list, err := ParseTable(raw); err != nil {
			note("table error")
		} else {
			note("table %d", len(list))
		}
	case strings.HasPrefix(name, "anchors-"):
		note("anchors %d", len(anchors))
	case len(rules) > 0:
		note("rules %d", len(rules))
	}
	return strings.Join(parts, "; ")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"Status: Enabled for 8 days 03:22:04           Debug: Urgent\n", "   192.0.2.20\n   2001:db8::7\n", "pf enabled\nToken : 14463938713434281103\n",
		"TOKENS:\nPID      Process Name                 TOKEN                    TIMESTAMP\n4063     pfctl                        15053025338191571182     0 days 00:00:00\n",
		"anchor \"com.apple/*\" all\npass quick all\n", "killed 12 states from 1 sources and 0 destinations\n", "  com.apple\n", "pfctl: Table does not exist.\n", "stdin:3: syntax error\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ParseEnabled(raw)
		ParseToken(raw)
		ParseAnchors(raw)
		failure(sysexec.Result{Stderr: raw})
		if tokens, err := ParseReferences(raw); err == nil && len(tokens) > bytes.Count(raw, []byte("\n"))+1 {
			t.Errorf("%q: %d", raw, tokens)
		}
		if n, err := ParseKilled(raw); err == nil && n < 0 {
			t.Errorf("%q: %d", raw, n)
		}
		rules := ParseRules(raw)
		if again := ParseRules([]byte(strings.Join(rules, "\n"))); !slices.Equal(rules, again) {
			t.Errorf("%q: %q and %q", raw, rules, again)
		}
		list, err := ParseTable(raw)
		if err != nil {
			return
		}
		shown := ""
		for _, a := range list {
			shown += "   " + a.String() + "\n"
		}
		if again, err := ParseTable([]byte(shown)); err != nil || !slices.Equal(list, again) {
			t.Errorf("%q: %v and %v, %v", raw, list, again, err)
		}
	})
}
