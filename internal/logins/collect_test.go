// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sentinel/internal/answer"
	"sentinel/internal/sessions"
	"sentinel/internal/statefile"
)

// made is a machine of values.
type made struct {
	log      Log
	past     []Record
	accounts []Account
	err      error
}

func (m made) Log(context.Context, time.Time) (Log, error)        { return m.log, m.err }
func (m made) Past(context.Context) ([]Record, Notes, error)      { return m.past, nil, m.err }
func (m made) Accounts(context.Context) ([]Account, Notes, error) { return m.accounts, nil, m.err }
func ago(d time.Duration) time.Time                               { return epoch.Add(-d) }
func sshLine(back time.Duration, format string, args ...any) Line {
	return Line{At: ago(back), Program: "sshd", Text: fmt.Sprintf(format, args...), PID: int(back)}
}

func collect(t *testing.T, m made, state string) *Report {
	t.Helper()
	r, err := Collect(t.Context(), m, Options{Since: ago(24 * time.Hour), Now: epoch, State: state})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// guessing is an address that failed some times, a second apart, and then perhaps got in.
func guessing(address string, failures int, gotIn bool) (list []Line) {
	for n := range failures {
		list = append(list, sshLine(2*time.Hour-time.Duration(n)*time.Second, "Failed password for invalid user u%d from %s port %d ssh2", n, address, 1000+n))
	}
	if gotIn {
		list = append(list, sshLine(time.Hour, "Accepted password for mira from %s port 99 ssh2", address))
	}
	return list
}

func TestWhoGotInAfterManyFailuresIsFirst(t *testing.T) {
	var lines []Line
	lines = append(lines, guessing("203.0.113.9", 37, true)...)
	lines = append(lines, guessing("203.0.113.10", 4, true)...)                                              // somebody who mistypes
	lines = append(lines, guessing("203.0.113.11", 50, false)...)                                            // who never got in
	lines = append(lines, sshLine(3*time.Hour, "Accepted password for mira from 203.0.113.11 port 99 ssh2")) // before the failures
	r := collect(t, made{log: Log{Name: "journal", Lines: lines}, accounts: []Account{{Name: "u0"}}}, "")
	if len(r.Intrusions) != 1 {
		t.Fatalf("%+v", r.Intrusions)
	}
	want := Intrusion{
		Address: "203.0.113.9", User: "mira", Method: "password", At: "2026-11-23T11:00:00Z",
		Attempts: Attempts{Failures: 37, Users: []string{"u0", "u1", "u2", "u3", "u4"}, UsersTotal: 37, Services: []string{"ssh"}, First: "2026-11-23T10:00:00Z", Last: "2026-11-23T10:00:36Z"},
	}
	if diff := cmp.Diff(want, r.Intrusions[0]); diff != "" {
		t.Error(diff)
	}
	if *r.AddressesTotal != 3 || r.ByAddress[0].Address != "203.0.113.11" || *r.Failures != 91 || *r.FailuresLastHour != 0 {
		t.Errorf("%+v", r)
	}
	if u := r.ByUser[0]; u.User != "u0" || u.Failures != 3 || u.Addresses != 3 || u.Exists == nil || !*u.Exists || *r.ByUser[1].Exists {
		t.Errorf("%+v", r.ByUser[:2])
	}
	if *r.LastTotal != 3 || r.Last[0].From != "203.0.113.9" && r.Last[0].From != "203.0.113.10" {
		t.Errorf("%+v", r.Last)
	}
	r.Cut(2)
	raw, err := json.Marshal(r)
	if err != nil || !strings.HasPrefix(string(raw), `{"succeeded_after_failures":[{"address":"203.0.113.9","user":"mira"`) {
		t.Errorf("%v: %.200s", err, raw)
	}
}

// Servers that take only keys log no attempt at their usual level; each connection is one.
func TestConnectionsWithoutAttemptsCountOnce(t *testing.T) {
	same := func(text string) Line { return Line{At: ago(time.Minute), Program: "sshd", Text: text, PID: 5} }
	r := collect(t, made{log: Log{Lines: []Line{
		same("Invalid user admin from 203.0.113.9 port 1000"), same("Failed none for invalid user admin from 203.0.113.9 port 1000 ssh2"),
		same("Connection closed by invalid user admin 203.0.113.9 port 1000 [preauth]"),
		same("Invalid user x from 203.0.113.9 port 1001"), same("Failed password for invalid user x from 203.0.113.9 port 1001 ssh2"), same("Failed password for invalid user x from 203.0.113.9 port 1001 ssh2"),
		same("Connection closed by authenticating user root 203.0.113.9 port 1002 [preauth]"),
		same("Failed none for mira from 203.0.113.9 port 1003 ssh2"), same("Accepted publickey for mira from 203.0.113.9 port 1003 ssh2: RSA x"),
	}}}, "")
	if *r.Failures != 4 || *r.FailuresLastHour != 4 || len(r.Intrusions) != 0 || r.ByAddress[0].UsersTotal != 3 {
		t.Errorf("%d failures, %+v", *r.Failures, r.ByAddress)
	}
}

func TestRecordsJoinTheLog(t *testing.T) {
	r := collect(t, made{
		log: Log{Lines: []Line{sshLine(time.Hour, "Accepted publickey for mira from 198.51.100.7 port 1 ssh2: ED25519 SHA256:x"), sshLine(time.Minute, "Accepted publickey for backup from 198.51.100.8 port 1 ssh2")}},
		past: []Record{
			{User: "mira", Terminal: "pts/0", From: netip.MustParseAddr("198.51.100.7"), At: ago(time.Hour - 2*time.Second), Until: ago(30 * time.Minute)},
			{User: "eve", Terminal: "tty1", At: ago(99 * time.Hour), Open: true},
		},
	}, "")
	want := []Login{
		{User: "backup", At: "2026-11-23T11:59:00Z", From: "198.51.100.8", Service: "ssh", Method: "publickey"},
		{User: "mira", At: "2026-11-23T11:00:00Z", From: "198.51.100.7", Service: "ssh", Method: "publickey", Terminal: "pts/0", Until: "2026-11-23T11:30:00Z"},
		{User: "eve", At: "2026-11-19T09:00:00Z", Terminal: "tty1"},
	}
	for i := range r.Last {
		r.Last[i].at = time.Time{}
	}
	if diff := cmp.Diff(want, r.Last, cmp.AllowUnexported(Login{})); diff != "" {
		t.Error(diff)
	}
	if *r.SessionsTotal != 1 || r.Sessions[0].User != "eve" {
		t.Errorf("%+v", r.Sessions)
	}
}

func TestTimesThatCannotBeAreCounted(t *testing.T) {
	r := collect(t, made{log: Log{Name: "/var/log/btmp", From: ago(time.Hour), Events: []Event{
		Failure(epoch.Add(time.Hour), "ssh", "x", netip.MustParseAddr("203.0.113.9")), Failure(time.Time{}, "ssh", "x", netip.MustParseAddr("203.0.113.9")),
		Failure(ago(48*time.Hour), "ssh", "old", netip.MustParseAddr("203.0.113.9")), Failure(ago(time.Minute), "ssh", "x\x1b[2J\u202e", netip.MustParseAddr("203.0.113.9")),
	}}}, "")
	if *r.Failures != 1 || len(r.Unavailable) != 2 || !strings.Contains(r.Unavailable[0].Reason, "2 records") || !strings.Contains(r.Unavailable[1].Reason, "rotated") {
		t.Errorf("%+v", r)
	}
	if strings.ContainsAny(r.ByUser[0].User, "\x1b\u202e") {
		t.Errorf("%q", r.ByUser[0].User)
	}
}

func TestWhatCannotBeReadIsNotNone(t *testing.T) {
	r := collect(t, made{err: &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}}, filepath.Join(t.TempDir(), "state"))
	if r.Failures != nil || r.New != nil || len(r.Unavailable) != 4 || r.AddressesTotal != nil || r.UsersTotal != nil || r.SessionsTotal != nil || r.LastTotal != nil || r.KeysTotal != nil || r.ChangesTotal != nil {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Collect(ctx, made{}, Options{Now: epoch}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// aged makes what is kept an hour older.
func aged(t *testing.T, state string) {
	t.Helper()
	kept, err := statefile.Read[statefile.File[State]](state, maxState)
	if err != nil {
		t.Fatal(err)
	}
	kept.Last.At = epoch.Add(-time.Hour)
	if err := statefile.Write(state, kept, maxState); err != nil {
		t.Fatal(err)
	}
}

func TestNewAccountsAndKeysAreThoseSinceTheLastRun(t *testing.T) {
	state := filepath.Join(t.TempDir(), "logins.json")
	key := func(fingerprint string) Key {
		return NewKey("mira", "ssh-ed25519", fingerprint, "c", "/home/mira/.ssh/authorized_keys", ago(999*time.Hour))
	}
	mira := Account{Name: "mira", UID: 1000, Keys: []Key{key("SHA256:a"), key("SHA256:b")}}
	first := collect(t, made{accounts: []Account{{Name: "root", Admin: true}, mira, {Name: "old", UID: 7}}}, state)
	if first.New != nil || len(first.Unavailable) != 1 || first.Unavailable[0].Field != "new" {
		t.Errorf("%+v", first)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	aged(t, state)
	unread := Account{Name: "mira", UID: 1000, KeysUnread: true}
	if r := collect(t, made{accounts: []Account{{Name: "root", Admin: true}, unread, {Name: "old", UID: 7}}}, state); len(r.New.Keys)+len(r.New.Accounts)+len(r.New.Gone) != 0 {
		t.Errorf("%+v", r.New)
	}
	aged(t, state)
	mira.Keys, mira.Admin = append(mira.Keys, key("SHA256:c")), true
	collect(t, made{accounts: []Account{{Name: "root", Admin: true}, mira, {Name: "eve", UID: 0, Admin: true}}}, state)
	r := collect(t, made{accounts: []Account{{Name: "root", Admin: true}, mira, {Name: "eve", UID: 0, Admin: true}}}, state)
	want := &News{Since: "2026-11-23T11:00:00Z", Accounts: []string{"eve"}, Gone: []string{"old"}, Admins: []string{"mira", "eve"}, Keys: []Key{key("SHA256:c")}}
	if diff := cmp.Diff(want, r.New, cmp.AllowUnexported(Key{})); diff != "" { // also the second time in a conversation
		t.Error(diff)
	}
	if err := os.WriteFile(state, []byte(`{"version":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, made{accounts: []Account{mira}}, state); r.New != nil || len(r.Unavailable) != 1 || !strings.Contains(r.Unavailable[0].Reason, "expected form") {
		t.Errorf("%+v", r)
	}
}

// A user who changes all keys again and again, where one file cannot be read, takes the record from nobody.
func TestKeysOfOneUserDoNotFillTheState(t *testing.T) {
	path, last := filepath.Join(t.TempDir(), "logins.json"), State{}
	ann := Account{Name: "ann", UID: 1000, Keys: []Key{{Fingerprint: "SHA256:ann"}}}
	lost := 0
	for run := range 30 {
		eve := Account{Name: "eve-who-has-a-name-of-32-letters", UID: 1001, KeysUnread: true}
		for i := range 1000 {
			eve.Keys = append(eve.Keys, Key{Fingerprint: fmt.Sprintf("SHA256:%036d-%06d", run, i)})
		}
		last, lost = stateOf(last, []Account{eve, ann}, epoch)
		if err := statefile.Write(path, statefile.NewFile(statefile.Runs[State]{Last: last, Before: &last}), maxState); err != nil {
			t.Fatal(err)
		}
		n := news(last, []Account{eve, ann})
		if len(n.Keys) > 0 {
			t.Fatalf("%d keys are new to the run after them", len(n.Keys))
		}
	}
	if len(last.Keys) != maxKept || lost != 1000 {
		t.Errorf("%d keys are kept, %d lost", len(last.Keys), lost)
	}
}

func TestChangesOfAccountsAndKeys(t *testing.T) {
	recent := NewKey("mira", "ssh-rsa", "SHA256:new", "", "/f", ago(time.Hour))
	r := collect(t, made{
		log:      Log{Lines: []Line{{At: ago(2 * time.Hour), Program: "useradd", Text: "new user: name=eve, UID=1001, GID=1001, home=/home/eve, shell=/bin/sh"}}},
		accounts: []Account{{Name: "eve", PasswordSet: epoch.Truncate(24 * time.Hour)}, {Name: "mira", PasswordSet: epoch.Truncate(24 * time.Hour), Keys: []Key{NewKey("mira", "ssh-rsa", "SHA256:old", "", "/f", ago(99*time.Hour)), recent}}},
	}, "")
	var got []string
	for _, c := range r.Changes {
		got = append(got, c.User+": "+c.What)
	}
	if diff := cmp.Diff([]string{"eve: created with UID=1001", "mira: created, or password changed, on that day"}, got); diff != "" || *r.KeysTotal != 1 || r.Keys[0].Fingerprint != "SHA256:new" {
		t.Errorf("%+v %s", r.Keys, diff)
	}
}

// Any user can have a record written, with any address and at the moment that they log in: it says nothing of a login
// that was logged, and its rows take none of others.
func TestRecordsThatAnybodyCanMakeAreClaims(t *testing.T) {
	const from = "198.51.100.7"
	at := ago(time.Hour - 2*time.Second)
	m := made{log: Log{Lines: []Line{sshLine(time.Hour, "Accepted publickey for eve from "+from+" port 1 ssh2: ED25519 SHA256:x")}}}
	for n := range 30 {
		m.past = append(m.past, Record{User: "eve", Terminal: "pts/9", From: netip.MustParseAddr("203.0.113.9"), At: ago(time.Duration(n) * time.Minute), Anybody: true})
	}
	m.past = append(m.past, Record{User: "eve", Terminal: "pts/8", From: netip.MustParseAddr(from), At: at, Until: at, Anybody: true}, Record{User: "eve", Terminal: "pts/7", At: at, Until: at, Anybody: true},
		Record{User: "eve", Terminal: "pts/0", From: netip.MustParseAddr(from), At: at, Until: ago(time.Minute)})
	r := collect(t, m, "")
	note := answer.Gap{Field: "last_logins", Reason: "32 logins are only claimed: programs that any user can run record such at pseudo-terminals, with any address"}
	if *r.LastTotal != 33 || !slices.Contains(r.Unavailable, note) {
		t.Errorf("%d, %v", *r.LastTotal, r.Unavailable)
	}
	r.Cut(4)
	real := slices.DeleteFunc(r.Last, func(l Login) bool { return l.Claimed })
	want := []Login{{User: "eve", At: "2026-11-23T11:00:00Z", From: from, Service: "ssh", Method: "publickey", Terminal: "pts/0", Until: "2026-11-23T11:59:00Z"}}
	if diff := cmp.Diff(want, real, cmpopts.IgnoreUnexported(Login{})); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"version":1,"last":{"at":"2026-11-23T12:00:00Z","accounts":{"root":0},"admins":["root"],"keys":[]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if s, err := statefile.Parse[statefile.File[State]](raw); err == nil && (s.None() || s.Version != 1) {
			t.Errorf("%q: %+v", raw, s)
		}
	})
}

func TestWhoIsOnWhereNothingSeesThemIsSaid(t *testing.T) {
	r := &Report{Unavailable: answer.Gaps{}}
	r.UseSessions(&sessions.Model{Unseen: []string{"with whom bash (PID 3) is connected is not seen from here"}})
	want := answer.Gaps{{Field: "sessions", Reason: "with whom bash (PID 3) is connected is not seen from here"}}
	if !slices.Equal(r.Unavailable, want) || *r.SessionsTotal != 0 {
		t.Errorf("%+v", r)
	}
}

// Who has a network of IPv6 fails from as many addresses as they like.
func TestManyAddressesAreCountedAndTheWorstKept(t *testing.T) {
	lines := guessing("2001:db8::ffff:1", 2, false)
	for n := range 3 * maxRanked {
		lines = append(lines, sshLine(time.Hour, "Failed password for invalid user v%d from 2001:db8::%x port 1 ssh2", n, n+1))
	}
	r := collect(t, made{log: Log{Lines: lines}}, "")
	if len(r.ByAddress) != maxRanked || *r.AddressesTotal != 3*maxRanked+1 || len(r.ByUser) != maxRanked || *r.UsersTotal != 3*maxRanked+2 || !r.Truncated {
		t.Errorf("%d of %d addresses, %d of %d users, truncated %v", len(r.ByAddress), *r.AddressesTotal, len(r.ByUser), *r.UsersTotal, r.Truncated)
	}
	if worst := r.ByAddress[0]; worst.Address != "2001:db8::ffff:1" || worst.Failures != 2 {
		t.Errorf("%+v", worst)
	}
	if *r.Failures != 3*maxRanked+2 {
		t.Errorf("%d failures", *r.Failures)
	}
}

// Who logs in, changes a password or adds keys without end hides nobody else who did, and all are counted.
func TestNobodyTakesTheRowsOfOthers(t *testing.T) {
	m := made{}
	key := func(user, comment string) Key {
		return NewKey(user, "ssh-ed25519", "SHA256:"+comment, "", "/home/"+user, ago(time.Minute))
	}
	eve := Account{Name: "eve"}
	for i := range 3000 {
		m.past = append(m.past, Record{User: "eve", Terminal: fmt.Sprint("pts/", i), At: ago(time.Duration(i) * time.Second), Open: i < 40})
		if i < 40 {
			m.log.Lines = append(m.log.Lines, Line{At: ago(time.Minute), Program: "passwd", Text: "pam_unix(passwd:chauthtok): password changed for eve"})
			eve.Keys = append(eve.Keys, key("eve", fmt.Sprint(i)))
		}
	}
	m.past = append(m.past, Record{User: "root", Terminal: "tty1", At: ago(2 * time.Hour), Open: true}, Record{User: "mira", Terminal: "tty2", At: ago(3 * time.Hour), Open: true})
	m.log.Lines = append(m.log.Lines, Line{At: ago(2 * time.Hour), Program: "passwd", Text: "pam_unix(passwd:chauthtok): password changed for mira"})
	m.accounts = []Account{eve, {Name: "mira", Keys: []Key{key("mira", "m")}}}
	r := collect(t, m, "")
	if *r.LastTotal != 3002 || *r.SessionsTotal != 42 || *r.ChangesTotal != 41 || *r.KeysTotal != 41 || !r.Truncated {
		t.Errorf("%d logins, %d sessions, %d changes, %d keys, cut: %v", *r.LastTotal, *r.SessionsTotal, *r.ChangesTotal, *r.KeysTotal, r.Truncated)
	}
	if last := r.Last[len(r.Last)-2:]; len(r.Last) != maxRanked || last[0].User != "root" || last[1].User != "mira" {
		t.Errorf("%d logins, the last %+v", len(r.Last), last)
	}
	r.Cut(10)
	users := func(n int, user func(int) string) (list []string) {
		for i := range n {
			list = append(list, user(i))
		}
		return list
	}
	eves := slices.Repeat([]string{"eve"}, 9)
	for what, c := range map[string]struct{ got, want []string }{
		"logins":   {users(len(r.Last), func(i int) string { return r.Last[i].User }), append(eves[:8:8], "root", "mira")},
		"sessions": {users(len(r.Sessions), func(i int) string { return r.Sessions[i].User }), append(eves[:8:8], "root", "mira")},
		"changes":  {users(len(r.Changes), func(i int) string { return r.Changes[i].User }), append(eves[:9:9], "mira")},
		"keys":     {users(len(r.Keys), func(i int) string { return r.Keys[i].User }), append(eves[:9:9], "mira")},
		"a page":   {users(3, func(i int) string { return Newest(r.Last, 3)[i].User }), []string{"eve", "root", "mira"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s %s", what, diff)
		}
	}
}

func TestListsThatAreUnknownStaySo(t *testing.T) {
	r := collect(t, made{err: errors.New("no")}, "")
	r.Cut(1)
	if r.Sessions != nil || r.Last != nil || r.Changes != nil || r.Keys != nil || r.Truncated {
		t.Errorf("%+v", r)
	}
}
