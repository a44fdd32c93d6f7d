// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var sourceFiles = map[string]struct {
	name, text string
	want       []Source
}{
	"lines": {"sources.list", "# deb http://a/debian x-security main\ndeb http://a/debian bookworm main # bookworm-security\ndeb-src http://a/debian bookworm-security main\ndeb [ arch=amd64 signed-by=/k ] http://b/d bookworm-security main\ndeb [arch=amd64\ndeb x\n",
		[]Source{{"http://a/debian", "bookworm"}, {"http://b/d", "bookworm-security"}}},
	"stanzas": {"debian.sources", "Types: deb deb-src\nURIs: http://a/x\n http://b/y\n# Suites: no\nSuites: s1 s2\n\nTypes: deb\nEnabled: no\nURIs: http://a/x\nSuites: off-security\n\ntypes: deb\nenabled: yes\nuris: http://c/z\nsuites: on-security\n\nTypes: deb-src\nURIs: http://a/x\nSuites: code-security",
		[]Source{{"http://a/x", "s1"}, {"http://a/x", "s2"}, {"http://b/y", "s1"}, {"http://b/y", "s2"}, {"http://c/z", "on-security"}}},
	"nothing": {"a.sources", "\n\n no\nTypes deb\n", nil},
}

func TestSourcesAreThoseThatAreOn(t *testing.T) {
	for name, c := range sourceFiles {
		if got := Sources(c.name, []byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

var (
	yesWords = []string{"yes", "YES", "true", "on", "with", "enable", "1", "0x1"}
	noWords  = []string{"no", "false", "off", "without", "0", "7", "maybe"}
)

// trusting is sources with a word after "trusted", in each form that apt takes.
func trusting(uri, word string) map[string]string {
	stanza := "Types: deb\nURIs: " + uri + "\nSuites: ./\n"
	return map[string]string{
		"a.list": "deb [trusted=" + word + "] " + uri + " ./\n", "b.list": "# x\n deb\t[ arch=amd64 trusted=\"" + word + "\" ] " + uri + " ./ # x\n",
		"c.list": "deb [trusted=no trusted=" + word + "] " + uri + " ./\n", "d.list": "deb [trusted=%" + fmt.Sprintf("%X", word[0]) + word[1:] + "] " + uri + " ./\n",
		"e.sources": stanza + "Trusted: " + word + "\n", "f.sources": stanza + "TRUSTED : " + word + "\n", "g.sources": stanza + "Trusted:\n# x\n " + word + "\n",
		"h.sources": stanza + "Trusted: no\n  \nTrusted:" + word,
	}
}

func TestSourcesThatAreTrustedWithoutASignature(t *testing.T) {
	for _, word := range append(yesWords, noWords...) {
		for name, text := range trusting("file:/x", word) {
			if got := Unchecked(name, []byte(text)); (len(got) == 1) != slices.Contains(yesWords, word) {
				t.Errorf("%s: %q: %v", name, text, got)
			}
		}
	}
	for text, want := range map[string][]Option{
		"deb [allow-insecure=on] http://x y\ndeb [allow-weak=1] http://x y\ndeb [allow-downgrade-to-insecure=1] http://x y\n": {
			{1, "deb [allow-insecure=on] http://x y"}, {2, "deb [allow-weak=1] http://x y"}, {3, "deb [allow-downgrade-to-insecure=1] http://x y"}},
		"deb [trusted=yes trusted=no] http://x y\n# deb [trusted=yes] http://x y\ndeb http://x/[trusted=yes] y\ndeb [trusted=yes\nDescription: [trusted=yes]\n": nil,
	} {
		if got := Unchecked("x.list", []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	stanza := "Types: deb\nURIs: http://x\nSuites: y\n"
	for text, want := range map[string][]Option{
		stanza + "Trusted:\n yes\n": {{4, "Trusted: yes"}}, "Enabled: without\n" + stanza + "Trusted: yes\n": nil, "Enabled: n\n" + stanza + "Trusted: yes\n": {{5, "Trusted: yes"}},
		stanza + "Trusted: yes\n no\n": nil, stanza + "Trusted: yes # x\n": nil, stanza + "Trusted: yes\nTrusted: no\n": nil,
	} {
		if got := Unchecked("x.sources", []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAnArchiveOfSecurityUpdates(t *testing.T) {
	for s, want := range map[Source]bool{
		{"http://security.debian.org/debian-security", "bookworm-security"}: true, {"http://security.debian.org", "buster/updates"}: true,
		{"http://mirror/debian-security", "buster/updates/"}: true, {"http://archive.ubuntu.com/ubuntu", "noble-security"}: true,
		{"https://esm.ubuntu.com/infra/ubuntu", "xenial-infra-security"}: true, {"http://mirror/my-security/debian", "bookworm"}: false,
		{"http://mirror/security.debian.org", "bookworm"}: false, {"http://deb.debian.org/debian", "bookworm-updates"}: false,
	} {
		if s.Security() != want {
			t.Errorf("%v: %v", s, !want)
		}
	}
}

func TestAnArchiveIsOfItsRelease(t *testing.T) {
	for suite, want := range map[string]bool{
		"bookworm-security": true, "bookworm": true, "bookworm/updates": true, "stable-security": true, "oldstable/updates": true,
		"buster/updates": false, "bullseye-security": false, "bookwormx-security": false, "sid": false,
	} {
		if got := (Source{"http://x", suite}).Of("bookworm"); got != want {
			t.Errorf("%s: %v", suite, got)
		}
	}
	if !(Source{"http://x", "buster/updates"}).Of("") {
		t.Error("of a release that is not known")
	}
}

func FuzzSources(f *testing.F) {
	for _, c := range sourceFiles {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range []string{"a.list", "a.sources"} {
			for _, s := range Sources(name, raw) {
				if s.URI == "" || s.Suite == "" {
					t.Errorf("%s: half a source: %+v", name, s)
				}
			}
			for _, o := range Unchecked(name, raw) {
				if o.Line < 1 || o.Line > strings.Count(string(raw), "\n")+1 {
					t.Errorf("%s: %+v", name, o)
				}
			}
		}
	})
}
