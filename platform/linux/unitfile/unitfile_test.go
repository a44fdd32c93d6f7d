// SPDX-License-Identifier: Apache-2.0

package unitfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesAreSplitOutsideOfQuotes(t *testing.T) {
	for text, want := range map[string][]string{
		`/bin/sh -c 'a b "c"' "d\"e" ''`: {"/bin/sh", "-c", `a b "c"`, `d"e`, ""},
		"  ":                             nil, `a\ b`: {"a b"}, `"open`: {"open"},
	} {
		if diff := cmp.Diff(want, Words(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestSettingsOfSections(t *testing.T) {
	var got []string
	Settings("# x\n[Unit]\nA = 1\n; y\n[Service]\nB=2 \\\n  # within\n  3\nno setting\nB=\n", func(section, name, value string) {
		got = append(got, section+" "+name+"="+value)
	})
	if diff := cmp.Diff([]string{"Unit A=1", "Service B=2    3", "Service B="}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVariablesOfAFile(t *testing.T) {
	var got []string
	Variables("# A=1\n;B=2\n C = \"x y\" \nno\nD='z'\n=e\nF=\n", func(name, value string) { got = append(got, name+"="+value) })
	if diff := cmp.Diff([]string{"C=x y", "D=z", "=e", "F="}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzUnit(f *testing.F) {
	f.Add("[Service]\nExecStart=/bin/sh -c 'a \\\n b'\n")
	f.Fuzz(func(t *testing.T, text string) {
		Settings(text, func(_, name, value string) {
			if strings.Contains(name, "=") || len(Words(value)) > len(value) {
				t.Errorf("%q of %q", name, value)
			}
		})
	})
}
