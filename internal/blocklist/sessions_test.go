// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestSessionIsWhoLoggedIn(t *testing.T) {
	process := func(name, title string, uid int) SSHProcess { return SSHProcess{name, strings.Fields(title), uid} }
	connection := Connection{netip.MustParseAddrPort("[::ffff:192.0.2.1]:22"), netip.MustParseAddrPort("192.0.2.7:5000")}
	for name, c := range map[string]struct {
		holders []SSHProcess
		want    bool
	}{
		"a user":                 {[]SSHProcess{process("sshd", "sshd: ann [priv]", 0), process("sshd", "sshd: ann@pts/0", 1000)}, true},
		"a user of a Mac":        {[]SSHProcess{process("sshd", "sshd: a [priv]", 0), process("sshd", "sshd: a@ttys001", 501)}, true},
		"root":                   {[]SSHProcess{process("sshd", "sshd: root@pts/0", 0)}, true},
		"root of a Mac":          {[]SSHProcess{process("sshd-session", "sshd-session: root@ttys000", 0)}, true},
		"without a terminal":     {[]SSHProcess{process("sshd", "sshd: ann [priv]", 0), process("sshd", "sshd: ann@notty", 1000)}, true},
		"a newer sshd":           {[]SSHProcess{process("sshd-session", "sshd-session: ann [priv]", 0), process("sshd-session", "sshd-session: ann@pts/0", 1000)}, true},
		"dropbear":               {[]SSHProcess{process("dropbear", "/usr/sbin/dropbear -R -p 22", 0)}, true},
		"waiting":                {[]SSHProcess{process("sshd", "sshd: root [priv]", 0), process("sshd", "sshd: root [net]", 105)}, false},
		"waiting as nobody":      {[]SSHProcess{process("sshd", "sshd: unknown [priv]", 0), process("sshd", "sshd: unknown [net]", 105)}, false},
		"just accepted":          {[]SSHProcess{process("sshd", "sshd: [accepted]", 0), process("sshd", "sshd: [net]", 105)}, false},
		"accepted by a newer":    {[]SSHProcess{process("sshd-session", "sshd-session: [accepted]", 0)}, false},
		"just begun":             {[]SSHProcess{process("sshd", "/usr/sbin/sshd -D -R", 0)}, false},
		"a newer just begun":     {[]SSHProcess{process("sshd-session", "/usr/libexec/sshd-session -D -R", 0)}, false},
		"just begun, activated":  {[]SSHProcess{process("sshd", "sshd -i", 0)}, false},
		"in the server":          {[]SSHProcess{process("sshd", "sshd: /usr/sbin/sshd -D [listener] 1 of 10-100 startups", 0)}, false},
		"waiting in a newer one": {[]SSHProcess{process("sshd-session", "sshd-session: root [priv]", 0), process("sshd-auth", "sshd-auth: root [net]", 105)}, false},
		"a newer one's helper":   {[]SSHProcess{process("sshd-session", "sshd-session: a [priv]", 0), process("sshd-auth", "sshd-auth: a", 75)}, false},
		"somebody's process of that name": {
			[]SSHProcess{process("sshd", "sshd: root@pts/0", 1000)}, false,
		},
		"a title that cannot be read":         {[]SSHProcess{process("sshd", "", 0)}, true},
		"a process that cannot be described":  {[]SSHProcess{{}}, true},
		"a connection that nobody holds open": {nil, false},
	} {
		var want []Session
		if c.want {
			want = []Session{{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.7")}}
		}
		if got := Sessions(map[Connection][]SSHProcess{connection: c.holders}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Two sessions from one address to one address are one to protect.
func TestSessionsAreListedOnceAndInOrder(t *testing.T) {
	held := map[Connection][]SSHProcess{}
	for _, remote := range []string{"192.0.2.9:1", "192.0.2.7:2", "192.0.2.7:1", "[fe80::7%eth0]:1", "[2001:db8::7]:1"} {
		held[Connection{netip.MustParseAddrPort("192.0.2.1:22"), netip.MustParseAddrPort(remote)}] = []SSHProcess{{}}
	}
	var got []string
	for _, p := range ProtectSessions(Sessions(held)) {
		got = append(got, p.Prefix.String()+" is "+p.Why)
	}
	const why = " is the other end of a live SSH session"
	if want := []string{"192.0.2.7/32" + why, "192.0.2.9/32" + why, "2001:db8::7/128" + why, "fe80::7/128" + why}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
