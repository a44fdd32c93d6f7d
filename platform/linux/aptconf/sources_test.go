// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"slices"
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
		}
	})
}
