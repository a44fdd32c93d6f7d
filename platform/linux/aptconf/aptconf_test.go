// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddReadsBothForms(t *testing.T) {
	for text, want := range map[string]Options{
		`APT::Periodic::Enable "1";`:                                      {"apt::periodic::enable": "1"},
		"APT { Periodic { Enable \"0\"; Other \"7\"; }; };":               {"apt::periodic::enable": "0", "apt::periodic::other": "7"},
		"// APT::X \"1\";\n# Y \"2\";\n/* Z \"3\"; */ A::B \"4\"; // end": {"a::b": "4"},
		`A::B "1"; A::B "2";`:                                             {"a::b": "2"},
		`A::B no; A::C "semi;colon {x}";`:                                 {"a::b": "no", "a::c": "semi;colon {x}"},
		`DPkg::Post-Invoke { "a"; "b"; };`:                                {},
		`Dir "/x"; Dir::Etc { Main "y"; }`:                                {"dir": "/x", "dir::etc::main": "y"},
		"A { B \"1\" }":                                                   {"a::b": "1"},
		"":                                                                {},
	} {
		got := Options{}
		err := got.Add([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestAddRefusesWhatIsCutOff(t *testing.T) {
	for _, text := range []string{"A {", "}", "A \"1\"", "{ A \"1\"; }", strings.Repeat("a {", 100)} {
		if err := (Options{}).Add([]byte(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOnTakesWhatAptTakesForYes(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "7": true, "yes": true, "True": true, "always": true, "0": false, "no": false, "FALSE": false, "": false, "off": false} {
		if got := (Options{"a::b": value}).On("A::B"); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if (Options{}).On("A::B") {
		t.Error("what is not set is on")
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("APT { Periodic { Enable \"0\"; }; }; // x\nA::B \"1\";"))
	f.Add([]byte("/* A { \"\" ; }"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := Options{}
		if err := o.Add(raw); err != nil && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
		for name := range o {
			if name != strings.ToLower(name) || len(o) > maxOptions {
				t.Errorf("%q", name)
			}
		}
	})
}
