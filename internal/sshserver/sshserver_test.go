// SPDX-License-Identifier: Apache-2.0

package sshserver

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{
		"sshd": {true, true}, "sshd-session": {true, false}, "sshd-auth": {true, false}, "dropbear": {true, true},
		"": {}, "ssh": {}, "sshd-keygen-wra": {}, "dropbearkey": {},
	} {
		if got := [2]bool{Is(name), Listens(name)}; got != want {
			t.Errorf("%q: serves and listens %v, want %v", name, got, want)
		}
	}
	if got := strings.Join(Names(), " "); got != "sshd sshd-session sshd-auth dropbear" {
		t.Errorf("the names are %q", got)
	}
}

func TestTitled(t *testing.T) {
	for name, want := range map[string]bool{"sshd": true, "sshd-session": true, "sshd-auth": true, "dropbear": false, "": false} {
		if got := Titled(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestAwaitsLogin(t *testing.T) {
	for _, c := range []struct {
		name, title string
		want        bool
	}{
		{"sshd", "sshd: a [priv]", false},
		{"sshd", "sshd: a@ttys001", false},
		{"sshd", "sshd: a [net]", true},
		{"sshd", "sshd: a [net] ", true},
		{"sshd", "/usr/sbin/sshd -i", true},
		{"sshd", "sshd: /usr/sbin/sshd [listener] 0 of 10-100 startups", true},
		{"sshd-session", "sshd-session: [accepted]", true},
		{"sshd-session", "/usr/libexec/sshd-session -D -R", true},
		{"sshd-session", "", false},
		{"sshd-auth", "", true},
		{"dropbear", "/usr/sbin/dropbear -R -p 22 -F", false},
		{"dropbear", "/usr/sbin/dropbear -i", false},
		{"", "", false},
	} {
		if got := AwaitsLogin(c.name, strings.Fields(c.title)); got != c.want {
			t.Errorf("%s, %q: awaits a login %v, want %v", c.name, c.title, got, c.want)
		}
	}
}
