// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tree is files in memory.
type tree map[string]string

func (t tree) Read(name string) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (t tree) Names(dir string) ([]string, error) {
	var names []string
	for name := range t {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// read reads one file.
func read(text string) (Options, error) {
	o := Options{}
	return o, o.AddFile(tree{"/apt.conf": text}, "/apt.conf")
}

func TestAddReadsBothForms(t *testing.T) {
	for text, want := range map[string]Options{
		`APT::Periodic::Enable "1";`:                                      {"apt::periodic::enable": "1"},
		"APT { Periodic { Enable \"0\"; Other \"7\"; }; };":               {"apt::periodic::enable": "0", "apt::periodic::other": "7"},
		"// APT::X \"1\";\n# Y \"2\";\n/* Z \"3\"; */ A::B \"4\"; // end": {"a::b": "4"},
		`A::B "1"; A::B "2";`:                                             {"a::b": "2"},
		`A::B no; A::C "semi;colon {x}";`:                                 {"a::b": "no", "a::c": "semi;colon {x}"},
		`DPkg::Post-Invoke { "a"; "b"; };`:                                {"dpkg::post-invoke::#": "2", "dpkg::post-invoke::#00000": "a", "dpkg::post-invoke::#00001": "b"},
		`Dir "/x"; Dir::Etc { Main "y"; }`:                                {"dir": "/x", "dir::etc::main": "y"},
		"A { B \"1\" }":                                                   {"a::b": "1"},
		"#Clear a comment\n# include another\nA::B \"1\";":                {"a::b": "1"},
		"A::B \"1\"; A::B::C \"2\"; A::BC \"3\";\n#clear a::b;":           {"a::bc": "3"},
		"": {},
	} {
		got, err := read(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestItemsOfAList(t *testing.T) {
	for text, want := range map[string][]string{
		`A::L { "x"; "y"; }; a::l:: "z"; A::L2:: "no";`:                   {"x", "y", "z"},
		"A::L { \"x\"; };\n#clear A::L;\nA::L { \"y\"; };":                {"y"},
		"A::L { \"x\"; };\n#clear A;":                                     {},
		"B { \"1\"; \"2\"; }; A::L { \"x\"; };\n#clear B;\nA::L:: \"y\";": {"x", "y"},
		`A::L { name "x"; deep { er "y"; }; };`:                           {"x"},
		`A::L "x"; A::L:: "";`:                                            {},
		"A { L { " + strings.Repeat(`"x"; `, 11) + "}; };":                slices.Repeat([]string{"x"}, 11),
	} {
		o, err := read(text)
		if diff := cmp.Diff(want, o.Items("A::L")); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestAddRefusesWhatIsCutOff(t *testing.T) {
	for _, text := range []string{"A {", "}", "#included \"x\";", "#clear a b;", "#include;", "A \"1\"", "{ A \"1\"; }", strings.Repeat("a {", 100)} {
		if _, err := read(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOnTakesWhatAptTakesForYes(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "7": true, "yes": true, "True": true, "always": true, "0x1": true, "0": false, "0x0": false, "no": false, "FALSE": false, "": false, "off": false} {
		if got := (Options{"a::b": value}).On("A::B"); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if (Options{}).On("A::B") {
		t.Error("what is not set is on")
	}
}

func TestWhatIsIncludedCounts(t *testing.T) {
	files := tree{"/a": "#include \"/b\";\nX::B \"a\";\n #include /d/;", "/b": "X::A \"b\"; X::B \"b\";", "/d/one": "X::C \"1\";", "/d/two.conf": "X::D \"2\";", "/d/no.save": "X::E \"3\";"}
	got := Options{}
	if err := got.AddFile(files, "/a"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Options{"x::a": "b", "x::b": "a", "x::c": "1", "x::d": "2"}, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]error{"#include \"/none\";": fs.ErrNotExist, "#include \"b\";": ErrRelative, "#include \"/apt.conf\";": ErrFormat} {
		if _, err := read(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("APT { Periodic { Enable \"0\"; }; }; // x\nA::B \"1\";"))
	f.Add([]byte("/* A { \"\" ; }"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := read(string(raw))
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrRelative) && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		for name := range o {
			if name != strings.ToLower(name) || len(o) > maxOptions {
				t.Errorf("%q", name)
			}
		}
	})
}
