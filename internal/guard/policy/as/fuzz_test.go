// SPDX-License-Identifier: Apache-2.0

package as

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a", "/a/../b", "%252e", "file:///x", "~/x", `\..\x`, "a. /b"} {
		f.Add(seed)
	}
	p := Paths{Home: "/home/nobody", Dir: "/srv/nothing", folds: func(string) bool { return false }}
	f.Fuzz(func(t *testing.T, text string) {
		places, err := p.Read(text)
		if err != nil {
			return
		}
		if len(places) == 0 {
			t.Fatal("no reading and no error")
		}
		for _, at := range places {
			if !filepath.IsAbs(at.Path) || filepath.Clean(at.Path) != at.Path || strings.ContainsRune(at.Path, 0) {
				t.Errorf("%q is read as %q", text, at.Path)
			}
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{"example.org", "0x7f.1", "[::1]:80", "fe80::1%eth0", "\u2460.\u3002", "2002:7f00:1::"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := Host(text)
		if err == nil && len(hosts) == 0 {
			t.Fatal("no reading and no error")
		}
		for _, h := range hosts {
			if strings.ContainsAny(h, " /@%\\[]") || h != strings.ToLower(h) {
				t.Errorf("%q is read as %q", text, h)
			}
			if a, err := netip.ParseAddr(h); err == nil && a.Is4In6() {
				t.Errorf("%q is read as %q", text, h)
			}
		}
	})
}

// FuzzURL holds the host against that of net/url, wherever that reads one.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{"http://example.org/a/../b?c#d", "https://a@b:1/", "data:x", "http://[::1]:8/", "http://x/%252e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		links, err := URL(text)
		if err != nil {
			return
		}
		if len(links) == 0 {
			t.Fatal("no reading and no error")
		}
		u, err := url.Parse(text)
		if err != nil || links[0].Host == "" {
			return
		}
		want, err := hostOnly(bracketed(u.Hostname()))
		if err != nil || links[0].Host != want[0] {
			t.Errorf("%q has the host %q, net/url says %q (%v)", text, links[0].Host, u.Hostname(), err)
		}
	})
}

func FuzzShell(f *testing.F) {
	for _, seed := range []string{"a 'b' \"c\"; d", "sudo sh -c 'x'", "a>b 2>&1", "$(x)", "env A=b c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		commands, err := Shell(text)
		if err == nil && len(commands) == 0 && strings.ContainsAny(strings.SplitN(text, "#", 2)[0], "abcxyz") {
			t.Errorf("%q starts nothing", text)
		}
		// A quoted word is that word, whatever it holds.
		if !strings.ContainsAny(text, "'\x00") && len(text) < 1000 {
			got, err := Shell("x '" + text + "'")
			if err != nil || len(got) != 1 || got[0][1] != text {
				t.Errorf("'%q' is read as %v, %v", text, got, err)
			}
		}
	})
}

func FuzzSQL(f *testing.F) {
	for _, seed := range []string{"SELECT 'a' FROM t -- b\nLIMIT 5", "WITH x AS (SELECT 1) SELECT 2", "a[1] $$b$$ /* c */", "SELECT TOP (5) x", "count(*)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statements, err := SQL(text)
		if err != nil {
			return
		}
		for _, s := range statements {
			if len(s.Kinds()) == 0 {
				t.Errorf("%q does nothing", text)
			}
			if !s.Unbounded(1000) && s.Unbounded(1000000) {
				t.Errorf("%q: a higher bound forbids it", text)
			}
		}
		// What stands in a comment or a string changes no judgement.
		if len(statements) != 1 || statements[0].Unbounded(10) {
			return
		}
		if again, err := SQL("/* LIMIT 1 */ " + statements[0].String()); err == nil && (len(again) != 1 || again[0].Unbounded(10)) {
			t.Errorf("%q is bounded, %q is not", text, statements[0])
		}
	})
}
