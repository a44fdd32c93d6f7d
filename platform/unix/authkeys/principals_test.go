// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

func TestPrincipalsAreReadAsSSHDDoes(t *testing.T) {
	for text, want := range map[string][]Principal{
		"":                              nil,
		"# x\n\n  mira\t\neve # me\n":   {{Name: "mira"}, {Name: "eve"}},
		"command=\"/opt/x y\",no-pty a": {{Name: "a", Options: `command="/opt/x y",no-pty`}},
	} {
		got, err := ParsePrincipals([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	if got, err := ParsePrincipals([]byte(strings.Repeat("a\n", maxKeys+2))); len(got) != maxKeys || err == nil || err.Error() != "principals beyond the first 200: 2" {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestFilesWithPrincipalsAreThoseOfTheConfiguration(t *testing.T) {
	for config, want := range map[string][]string{
		"": nil, "AuthorizedPrincipalsFile none\n": nil,
		"AuthorizedPrincipalsFile %h/.p\nMatch User x\nAuthorizedPrincipalsFile /etc/p/%u\n": {"%h/.p", "/etc/p/%u"},
	} {
		got, err := Principals(testenv.Plant(t, map[string]string{"etc/ssh/sshd_config": config}))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", config, err, diff)
		}
	}
}

func FuzzParsePrincipals(f *testing.F) {
	f.Add("command=\"x\" mira\n# x\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParsePrincipals([]byte(text))
		if len(list) > maxKeys || err != nil && len(list) != maxKeys {
			t.Errorf("%d, %v", len(list), err)
		}
		for _, p := range list {
			if p.Name == "" || strings.ContainsAny(p.Name, " \t\n#") {
				t.Errorf("%+v", p)
			}
		}
	})
}
