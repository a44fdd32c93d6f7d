// SPDX-License-Identifier: Apache-2.0

package extensions

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtensionsThatAreListed(t *testing.T) {
	list, err := System([]byte("1 extension(s)\n--- com.apple.system_extension.endpoint_security\nenabled\tactive\tteamID\tbundleID (version)\tname\t[state]\n" +
		"*\t*\tEXAMPLE123\tcom.example.guard (4.1/410)\tGuard\t[activated enabled]\n"))
	if diff := cmp.Diff([]Extension{{"EXAMPLE123", "com.example.guard", "activated enabled"}}, list); diff != "" || err != nil {
		t.Error(err, diff)
	}
	names, err := Kernel([]byte("Index Refs Address Size Wired Name\n 1 185 0 0 0 com.apple.kpi.bsd (25) X <>\n 2 1 0xff 0x1 0x1 com.example.driver (1) Y <1>\n"))
	if diff := cmp.Diff([]string{"com.example.driver"}, names); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, text := range []string{"", "nothing", "x extension(s)"} {
		if _, err := System([]byte(text)); !errors.Is(err, ErrUnknownOutput) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := Kernel([]byte(text)); !errors.Is(err, ErrUnknownOutput) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzLists(f *testing.F) {
	f.Add("1 extension(s)\n*\t*\tT\tb (1)\tn\t[s]\n 1 1 0 0 0 com.example\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := System([]byte(text))
		for _, e := range list {
			if !strings.Contains(text, e.Bundle) {
				t.Errorf("made up %+v", e)
			}
		}
		names, _ := Kernel([]byte(text))
		for _, name := range names {
			if !strings.Contains(text, name) {
				t.Errorf("made up %q", name)
			}
		}
	})
}
