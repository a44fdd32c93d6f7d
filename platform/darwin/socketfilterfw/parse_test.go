// SPDX-License-Identifier: Apache-2.0

package socketfilterfw

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

func TestStateInTheWordsOfEachVersion(t *testing.T) {
	for name, c := range map[string]struct {
		printed string
		want    State
		blocks  bool
	}{
		"on":                 {"Firewall is enabled. (State = 1)\n", State{Global: GlobalOn}, false},
		"off":                {"Firewall is disabled. (State = 0)\n", State{Global: GlobalOff}, false},
		"blocks, older":      {"Firewall is enabled. (State = 2)\n", State{Global: GlobalBlocksAll}, true},
		"blocks, newer":      {"Firewall is blocking all non-essential incoming connections. (State = 2)\n", State{Global: GlobalBlocksAll, BlockAll: new(true)}, true},
		"without a number":   {"Firewall is enabled.\n", State{Global: GlobalOn}, false},
		"block all, older":   {"Block all ENABLED! \n", State{Global: GlobalUnknown, BlockAll: new(true)}, true},
		"not block, older":   {"Block all DISABLED! \n", State{Global: GlobalUnknown, BlockAll: new(false)}, false},
		"block all, newer":   {"Firewall has block all state set to enabled.\n", State{Global: GlobalUnknown, BlockAll: new(true)}, true},
		"not block, newer":   {"Firewall has block all state set to disabled.\n", State{Global: GlobalUnknown, BlockAll: new(false)}, false},
		"block all, between": {"Firewall is set to block all non-essential incoming connections\n", State{Global: GlobalUnknown, BlockAll: new(true)}, true},
		"stealth, older":     {"Stealth mode enabled\n", State{Global: GlobalUnknown, Stealth: new(true)}, false},
		"no stealth, older":  {"Stealth mode disabled\n", State{Global: GlobalUnknown, Stealth: new(false)}, false},
		"stealth, newer":     {"Firewall stealth mode is on\n", State{Global: GlobalUnknown, Stealth: new(true)}, false},
		"no stealth, newer":  {"Firewall stealth mode is off\n", State{Global: GlobalUnknown, Stealth: new(false)}, false},
		"signed": {
			"Automatically allow built-in signed software ENABLED.\nAutomatically allow downloaded signed software DISABLED. \n",
			State{Global: GlobalUnknown, AllowSigned: new(true), AllowSignedApp: new(false)}, false,
		},
		"signed, older": {
			"Automatically allow signed built-in software ENABLED. \nAutomatically allow downloaded signed software ENABLED. \n",
			State{Global: GlobalUnknown, AllowSigned: new(true), AllowSignedApp: new(true)}, false,
		},
		"all in one": {
			"Firewall is disabled. (State = 0)\nFirewall has block all state set to disabled.\n" +
				"Automatically allow built-in signed software DISABLED.\nAutomatically allow downloaded signed software DISABLED.\nFirewall stealth mode is on\n",
			State{GlobalOff, new(false), new(true), new(false), new(false)}, false,
		},
		"an unknown number": {"Firewall is enabled. (State = 3)\n", State{Global: GlobalUnknown}, false},
		"no number":         {"Firewall is enabled. (State = x)\n", State{Global: GlobalUnknown}, false},
		"another language":  {"Die Firewall ist aktiviert. (Status = 1)\n", State{Global: GlobalUnknown}, false},
		"cut in the middle": {"Firewall is en", State{Global: GlobalUnknown}, false},
		"nothing":           {"", State{Global: GlobalUnknown}, false},
		"usage of the tool": {"usage: socketfilterfw [-c] [--getblockall] [--setblockall on | off]\n", State{Global: GlobalUnknown}, false},
		"noise of a log":    {"2026-09-01 10:00:00.000 socketfilterfw[1:2] x\nFirewall is enabled. (State = 1)\n", State{Global: GlobalOn}, false},
		"after a label":     {"Stealth mode:  Firewall stealth mode is on\n", State{Global: GlobalUnknown, Stealth: new(true)}, false},
	} {
		got := ParseState([]byte(c.printed))
		if !cmp.Equal(got, c.want) || got.BlocksAll() != c.blocks {
			t.Errorf("%s: blocks %t\n%s", name, got.BlocksAll(), cmp.Diff(c.want, got))
		}
	}
}

func TestAppsInEachForm(t *testing.T) {
	for name, c := range map[string]struct {
		printed string
		want    []App
	}{
		"macOS 26": {
			"Total number of apps = 2\n1 : /usr/sbin/smbd\n             (Allow incoming connections)\n2 : /Applications/Some App.app\n             (Block incoming connections)\n",
			[]App{{"/usr/sbin/smbd", RuleAllow}, {"/Applications/Some App.app", RuleBlock}},
		},
		"older": {
			"ALF: total number of apps = 2 \n\n1 :  /usr/sbin/smbd \n \t ( Allow incoming connections ) \n\n2 :  /opt/tool \n \t ( Block incoming connections ) \n\n",
			[]App{{"/usr/sbin/smbd", RuleAllow}, {"/opt/tool", RuleBlock}},
		},
		"short":         {"Total number of apps = 2\nSome App (state: 4)\nsshd-keygen-wrapper (state: 1)\n", []App{{"Some App", RuleUnknown}, {"sshd-keygen-wrapper", RuleUnknown}}},
		"none":          {"Total number of apps = 0\n", nil},
		"terminal text": {"Total number of apps = 1\n1 : /tmp/\x1b[2J\n (Allow incoming connections)\n", []App{{"/tmp/\x1b[2J", RuleAllow}}},
	} {
		got, err := ParseApps([]byte(c.printed))
		if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(c.want, got))
		}
	}
}

func TestWhatIsNoListOfAppsIsAnError(t *testing.T) {
	const entry = "1 : /usr/sbin/smbd\n (Allow incoming connections)\n"
	for name, printed := range map[string]string{
		"nothing":             "",
		"no count":            entry,
		"another language":    "Anzahl der Programme = 1\n" + entry,
		"cut after the count": "Total number of apps = 1\n",
		"cut in an entry":     "Total number of apps = 1\n1 : /usr/sbin/smbd\n",
		"fewer than counted":  "Total number of apps = 2\n" + entry,
		"more than counted":   "Total number of apps = 1\n" + entry + "2 : /x\n (Allow incoming connections)\n",
		"an unknown rule":     "Total number of apps = 1\n1 : /usr/sbin/smbd\n (Ask about connections)\n",
		"out of order":        "Total number of apps = 1\n7 : /usr/sbin/smbd\n (Allow incoming connections)\n",
		"a rule without app":  "Total number of apps = 0\n (Allow incoming connections)\n",
		"a negative count":    "Total number of apps = -1\n",
		// The name of the only program looks like a second entry.
		"a name like entries": "Total number of apps = 1\n1 : /tmp/x\n (Block incoming connections)\n2 : /usr/sbin/sshd\n (Allow incoming connections)\n",
	} {
		if got, err := ParseApps([]byte(printed)); err == nil {
			t.Errorf("%s: %v without an error", name, got)
		}
	}
}

func TestRuleOfOneProgram(t *testing.T) {
	for printed, want := range map[string]Rule{
		"Incoming connection to /usr/sbin/sshd is blocked \n":                        RuleBlock,
		"Incoming connection to /usr/sbin/sshd is permitted \n":                      RuleAllow,
		"Application at path ( /x ) is blocked from accepting incoming connections.": RuleBlock,
		"Incoming connection to /x is blocked /y is permitted \n":                    RuleAllow,
		"The application is not part of the firewall \n":                             RuleUnknown,
		"": RuleUnknown,
	} {
		if got := ParseRule([]byte(printed)); got != want {
			t.Errorf("%q: %v, want %v", printed, got, want)
		}
	}
}

// Every recorded output gives a valid value or none.
func TestRecordedOutputs(t *testing.T) {
	type facts struct {
		global int
		apps   int // -1 if it is not a list
	}
	known := map[string]facts{
		"all-getters-block-all.txt": {GlobalBlocksAll, -1}, "getglobalstate-disabled-2026.txt": {GlobalOff, -1},
		"getglobalstate-disabled-26.5.txt": {GlobalOff, -1}, "getglobalstate-enabled-26.5.txt": {GlobalOn, -1},
		"getstealthmode-off-26.5.txt": {GlobalUnknown, -1}, "getstealthmode-on.txt": {GlobalUnknown, -1},
		"harden-script-log-macos15.txt": {GlobalOn, -1}, "listapps-macos26.txt": {GlobalUnknown, 4}, "listapps-short.txt": {GlobalUnknown, 6},
		"set-not-root-macos26.txt": {GlobalUnknown, -1}, "setglobalstate-on-root-26.5.txt": {GlobalUnknown, -1}, "usage-10.10.txt": {GlobalUnknown, -1},
	}
	stealth := map[string]bool{
		"getstealthmode-off-26.5.txt": false, "getstealthmode-off.txt": false, "getstealthmode-on.txt": true,
		"all-getters-block-all.txt": true, "harden-script-log-macos15.txt": true,
	}
	for _, r := range testenv.RecordedOutputs(t, "socketfilterfw") {
		s := ParseState(r.Raw)
		apps, err := ParseApps(r.Raw)
		if want, ok := known[r.Name]; ok {
			if s.Global != want.global || (err == nil) != (want.apps >= 0) || err == nil && len(apps) != want.apps {
				t.Errorf("%s: %+v, %d apps, %v", r.Name, s, len(apps), err)
			}
		}
		if want, ok := stealth[r.Name]; ok && (s.Stealth == nil || *s.Stealth != want) {
			t.Errorf("%s: stealth %v, want %t", r.Name, s.Stealth, want)
		}
		if strings.HasPrefix(r.Name, "usage") && (s.BlockAll != nil || s.Stealth != nil || s.AllowSigned != nil) {
			t.Errorf("%s: %+v", r.Name, s)
		}
	}
}

func FuzzParseApps(f *testing.F) {
	f.Add([]byte("Total number of apps = 1\n1 : /usr/sbin/smbd\n (Allow incoming connections)\n"))
	f.Add([]byte("ALF: total number of apps = 1 \n\n1 :  /x \n \t ( Block incoming connections ) \n"))
	f.Add([]byte("Total number of apps = 1\nx (state: 4)\n"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		apps, err := ParseApps(printed)
		if err != nil {
			return
		}
		// A parsed state survives being printed and parsed again.
		var again strings.Builder
		fmt.Fprintf(&again, "Total number of apps = %d\n", len(apps))
		for i, a := range apps {
			if a.Name == "" || strings.TrimSpace(a.Name) != a.Name {
				t.Skip("no name of a program")
			}
			switch a.Rule {
			case RuleUnknown:
				fmt.Fprintf(&again, "%s (state: 1)\n", a.Name)
			case RuleAllow:
				fmt.Fprintf(&again, "%d : %s\n (Allow incoming connections)\n", i+1, a.Name)
			case RuleBlock:
				fmt.Fprintf(&again, "%d : %s\n (Block incoming connections)\n", i+1, a.Name)
			}
		}
		got, err := ParseApps([]byte(again.String()))
		if err != nil || !cmp.Equal(got, apps) {
			t.Errorf("%q: %v\n%s", again.String(), err, cmp.Diff(apps, got))
		}
	})
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte("Firewall is enabled. (State = 1)\nFirewall stealth mode is on\n"))
	f.Add([]byte("Block all ENABLED! \n"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		if s := ParseState(printed); s.Global < GlobalUnknown || s.Global > GlobalBlocksAll {
			t.Errorf("state %d", s.Global)
		}
	})
}
