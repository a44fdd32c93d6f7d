// SPDX-License-Identifier: Apache-2.0

package userdb

import (
	"strings"
	"testing"
)

func TestNameSources(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"passwd: files sss\n":  "files sss",
		"passwd:files sss":     "files sss",
		" passwd :\tfiles\n":   "files",
		"# passwd: ldap\n":     "",
		"passwd: files # ldap": "files",
		"passwd: files [NOTFOUND=return] ldap\ngroup: winbind": "files ldap winbind",
		"passwd: files [ !UNAVAIL=return success=merge ] sss":  "files success=merge sss",
		"hosts: files dns\npasswd\nshadow: sss":                "",
	} {
		if got := strings.Join(NameSources([]byte(text), "passwd", "group"), " "); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzNameSources(f *testing.F) {
	f.Add("passwd: files [NOTFOUND=return] sss # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, source := range NameSources([]byte(text), "passwd") {
			if source == "" || strings.ContainsAny(source, "# \n") || !strings.Contains(text, source) {
				t.Errorf("%q: %q", text, source)
			}
		}
	})
}
