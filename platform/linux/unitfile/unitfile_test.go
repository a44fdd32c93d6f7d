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
		`\x2ftmp\x2f.evil \057a\101`: {"/tmp/.evil", "/aA"}, `/usr/bin/env\s/x a\tb`: {"/usr/bin/env /x", "a\tb"}, `\u002fa\U0000002Fb\"\q`: {`/a/b"q`},
		`a\nb \x0a \012`: {`a\nb`, "x0a", "012"}, `\412 \400`: {"412", "400"}, `\x2 \xzz \x00 \9 \u12 \`: {"x2", "xzz", "x00", "9", "u12", `\`},
	} {
		if diff := cmp.Diff(want, Words(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestCommandsStandBetweenSemicolons(t *testing.T) {
	for text, want := range map[string][][]string{
		"": {}, ";": {}, " /a  b ": {{"/a", "b"}}, "/a ; /b c ;\t-/d": {{"/a"}, {"/b", "c"}, {"-/d"}}, "; /a ;": {{"/a"}}, "/a ;/b": {{"/a", ";/b"}}, "/a; /b": {{"/a;", "/b"}},
		`/a ";" ';' \; /b`: {{"/a", ";", ";", ";", "/b"}}, `/a \;b \x3b \`: {{"/a", ";b", ";", `\`}}, `"/a b";c " ; "`: {{"/a b;c", " ; "}},
	} {
		if diff := cmp.Diff(want, Commands(text)); diff != "" {
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

// systemd ends lines at more than a newline, and joins two only at a backslash that is not itself escaped.
func TestLinesEndWhereSystemdEndsThem(t *testing.T) {
	for text, want := range map[string][]string{
		"\ufeff[Service]\nA=1\n":                                 {"Service A=1"},
		"[Service]\nA=a\\\\\nB=2\nC=c\\\\\\\nD=4\n":              {`Service A=a\\`, "Service B=2", `Service C=c\\ D=4`},
		"[Service]\n# of the vendor\rA=1\nX-d=1\r[X-c]\rB=2\r\n": {"Service A=1", "Service X-d=1", "X-c B=2"},
		"[Service]\nX=1\\\n\x00A=\nX=1\\\r\n\x00A=\n":            {"Service X=1 A=", "Service X=1 A="},
		"# x\n[Service]\n\ufeffA=1\n\ufeffB=2\n":                 {"Service A=1", "Service \ufeffB=2"},
		"[Service]\x00# x\x00A=1\x00[X-c]\x00B=2":                {"Service A=1", "X-c B=2"},
		"[Service]\r\nA=1 \\\r\n  2\r\nB=3 \\\r\n\r\nC=4\r\nno":  {"Service A=1    2", "Service B=3", "Service C=4"},
	} {
		var got []string
		Settings(text, func(section, name, value string) { got = append(got, section+" "+name+"="+value) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestVariablesOfAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"# A=1\n;B=2\n C = \"x y\" \nno\nD='z'\n=e\nF=\n":         {"C=x y", "D=z", "F="},
		"=\\\nA=1\n==\\\nB=2\nno\\\nC=3\n#\\\nD=4\nE=/x\\":        {"A=1", "C=3", "D=4", "E=/x"},
		"A=a'b\nC=\\'d\nE='f\nG=h' 'i'\" j\"k'\nL=m \\  \nN=o \n": {"A=a'b", "C='d", "E=f\nG=hi jk'", "L=m  ", "N=o"},
		"# c\rA=1\r; it's the editor\rB=2\x00C=3":                 {"A=1", "B=2", "C=3"},
		"A=<<E\nB=2\n": {"A=<<E", "B=2"},
		"A=\\\n/x\\\n/y\nB=z\\\\\nC=1\n# c\\\nD=2\n":                       {"A=/x/y", `B=z\`, "C=1", "D=2"},
		"A=\"/t\" 'mp/'\\x\\ y\nB='a\\b'\nE=\"a\\b\\\"\"\nC=\"open\nD=2\n": {"A=/tmp/x y", `B=a\b`, `E=a\b"`, "C=open\nD=2\n"},
	} {
		var got []string
		Variables(text, func(name, value string) { got = append(got, name+"="+value) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func FuzzUnit(f *testing.F) {
	f.Add("[Service]\nExecStart=/bin/sh -c 'a \\\n b'\n")
	f.Fuzz(func(t *testing.T, text string) {
		Variables(text, func(name, _ string) {
			if strings.Contains(name, "=") {
				t.Errorf("a variable %q", name)
			}
		})
		Settings(text, func(_, name, value string) {
			if strings.Contains(name, "=") || len(Words(value)) > len(value) || len(Commands(value)) > len(value) || strings.Contains(strings.Join(Words(value), ""), "\n") {
				t.Errorf("%q of %q", name, value)
			}
		})
	})
}
