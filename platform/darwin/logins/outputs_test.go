// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/logins"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// The form is that of log(1); the texts are those of OpenSSH.
const shown = `{"timezoneName":"","messageType":"Info","eventType":"logEvent","processImagePath":"\/usr\/sbin\/sshd","eventMessage":"Failed password for root from 198.51.100.7 port 4711 ssh2","processID":812,"userID":0,"timestamp":"2026-11-20 03:00:01.123456+0000"}
{"messageType":"Info","processImagePath":"\/Users\/eve\/sshd","eventMessage":"Accepted password for root from 10.0.0.1 port 22 ssh2","processID":9,"timestamp":"2026-11-20 03:00:02.123456+0000"}
not an entry
{"processImagePath":"/usr/bin/sudo","eventMessage":"mira : 3 incorrect password attempts ; TTY=ttys001","processID":813,"timestamp":"2026-11-20 03:00:03.000000+0100"}
{"count":3,"finished":1}
`

func TestTheLogIsReadByThePathsOfPrograms(t *testing.T) {
	got, whole := parseLog([]byte(shown))
	want := []logins.Line{
		{At: time.Date(2026, 11, 20, 3, 0, 1, 123456000, time.UTC), Program: "sshd", Text: "Failed password for root from 198.51.100.7 port 4711 ssh2", PID: 812},
		{At: time.Date(2026, 11, 20, 2, 0, 3, 0, time.UTC), Program: "sudo", Text: "mira : 3 incorrect password attempts ; TTY=ttys001", PID: 813},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" || !whole {
		t.Errorf("whole: %v %s", whole, diff)
	}
	if _, whole := parseLog([]byte(shown[:300])); whole {
		t.Error("what was cut off is called whole")
	}
}

// Any user can run sshd, with a configuration of their own, and have it log what it likes of whom. sudo runs as
// root whoever called it, and says itself who that was.
func TestALineOfSshdIsThatOfItsUser(t *testing.T) {
	const line = `{"processImagePath":"/usr/%s","eventMessage":"Accepted password for root from 203.0.113.66 port 7 ssh2","processID":9,%s"timestamp":"2026-11-20 03:00:02.123456+0000"}` + "\n"
	for _, c := range []struct {
		program, user, by string
		believed          bool
	}{
		{"sbin/sshd", `"userID":0,`, "", true},
		{"libexec/sshd-session", `"userID":75,`, "", true},
		{"libexec/sshd-session", "", "", true},
		{"sbin/sshd", `"userID":501,`, "501", false},
		{"libexec/sshd-session", `"userID":501,`, "501", false},
		{"libexec/sshd-auth", `"userID":4294967294,`, "4294967294", false},
		{"bin/login", `"userID":501,`, "501", false},
		{"bin/sudo", `"userID":501,`, "", false},
		{"bin/su", `"userID":501,`, "", false},
	} {
		got, _ := parseLog(fmt.Appendf(nil, line, c.program, c.user))
		if len(got) != 1 || got[0].By != c.by {
			t.Errorf("%s %s: %+v", c.program, c.user, got)
			continue
		}
		if _, ok := logins.Parse(got[0]); ok != c.believed {
			t.Errorf("%s %s: believed is %v", c.program, c.user, ok)
		}
	}
}

// The form is that of last(1) of FreeBSD and macOS.
const lastLogins = `mira       ttys001                         Fri Nov 20 09:12   still logged in
mira       ttys002  198.51.100.7           Fri Nov 20 08:12 - 08:40  (00:28)
eve        ttys003  laptop.example.net     Thu Nov 19 08:12 - 09:00  (1+00:48)
mira       console                         Sun Nov 30 08:12 - crash (02:00)
reboot     ~                               Sun Nov 30 08:00

wtmp begins Sat Oct 11 10:00
`

func TestLoginsHaveTheirYear(t *testing.T) {
	got, ended := parseLast([]byte(lastLogins), now)
	want := []logins.Record{
		{User: "mira", Terminal: "ttys001", At: time.Date(2026, 11, 20, 9, 12, 0, 0, time.UTC), Open: true},
		{User: "mira", Terminal: "ttys002", From: netip.MustParseAddr("198.51.100.7"), At: time.Date(2026, 11, 20, 8, 12, 0, 0, time.UTC), Until: time.Date(2026, 11, 20, 8, 40, 0, 0, time.UTC)},
		{User: "eve", Terminal: "ttys003", At: time.Date(2026, 11, 19, 8, 12, 0, 0, time.UTC), Until: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)},
		{User: "mira", Terminal: "console", At: time.Date(2025, 11, 30, 8, 12, 0, 0, time.UTC), Until: time.Date(2025, 11, 30, 10, 12, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || !ended {
		t.Errorf("ended: %v %s", ended, diff)
	}
}

func TestAccountsOfADirectory(t *testing.T) {
	values, err := parseList([]byte("_www                    70\nmira                    501\nodd\n"))
	if diff := cmp.Diff(map[string]string{"_www": "70", "mira": "501"}, values); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := parseList([]byte("\n")); err == nil {
		t.Error("no accounts are no error")
	}
	users := usersOf(map[string]string{"mira": "/Users/mira /System/Volumes/Data/Users/mira"}, map[string]string{"mira": "501", "odd": "x"})
	if len(users) != 1 || users[0].Name != "mira" || users[0].UID != 501 || users[0].Home != "/Users/mira" {
		t.Errorf("%+v", users)
	}
}

func FuzzOutputs(f *testing.F) {
	f.Add([]byte(shown))
	f.Add([]byte(lastLogins))
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines, _ := parseLog(raw)
		for _, l := range lines {
			if l.Program == "" || l.At.IsZero() {
				t.Errorf("%+v", l)
			}
		}
		records, _ := parseLast(raw, now)
		for _, r := range records {
			if r.User == "" || r.At.After(now.Add(24*time.Hour)) {
				t.Errorf("%+v", r)
			}
		}
	})
}
