// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tree is files by name; one with the content "!" cannot be read.
type tree map[string]string

func (t tree) Read(name string) ([]byte, error) {
	content, ok := t[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case content == "!":
		return nil, fs.ErrPermission
	default:
		return []byte(content), nil
	}
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

const start = "/etc/sudoers"

func show(g Grant) string {
	tag := ""
	if g.NoPassword {
		tag = "NOPASSWD "
	}
	return fmt.Sprintf("%d %s as %q: %s%s", g.Line, g.Users, g.RunAs, tag, g.Command)
}

func TestGrantsAreWhatSudoWouldRead(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
		hole error
	}{
		{"root\tALL=(ALL:ALL) ALL\n", []string{`1 root ALL as "ALL:ALL": ALL`}, nil},
		{"mira ALL = NOPASSWD: /bin/a -x, PASSWD: /bin/b, /bin/c\n", []string{`1 mira ALL as "": NOPASSWD /bin/a -x`, `1 mira ALL as "": /bin/b`, `1 mira ALL as "": /bin/c`}, nil},
		{"a, b h1, h2 = (root, bin) NOPASSWD:SETENV: ALL, !/bin/su\n", []string{`1 a, b h1, h2 as "root, bin": NOPASSWD ALL`}, nil},
		{"mira ALL=NOPASSWD: /bin/a : h2 = /bin/b\n", []string{`1 mira ALL as "": NOPASSWD /bin/a`, `1 mira ALL as "": /bin/b`}, nil},
		{"mira h1=/bin/a : ALL=(ALL) NOPASSWD: /bin/b, /bin/c\n", []string{`1 mira h1 as "": /bin/a`, `1 mira h1 as "ALL": NOPASSWD /bin/b`, `1 mira h1 as "ALL": NOPASSWD /bin/c`}, nil},
		{"mira ALL=NOPASSWD: !!ALL, !!!/bin/su\n", []string{`1 mira ALL as "": NOPASSWD ALL`}, nil},
		{"Cmnd_Alias A = !!/bin/a, !/bin/b\nmira ALL=A\n", []string{`2 mira ALL as "": /bin/a`}, nil},
		{"Cmnd_Alias A = /bin/a, B : B = /bin/b\nmira ALL=NOPASSWD: A\n", []string{`2 mira ALL as "": NOPASSWD /bin/a`, `2 mira ALL as "": NOPASSWD /bin/b`}, nil},
		{"mira ALL=NOPASSWD: \\\n  /bin/a, \\\n  /bin/b\n", []string{`1 mira ALL as "": NOPASSWD /bin/a`, `1 mira ALL as "": NOPASSWD /bin/b`}, nil},
		{"#1000 ALL=NOPASSWD: ALL # for now\n", []string{`1 #1000 ALL as "": NOPASSWD ALL`}, nil},
		{"# mira ALL=NOPASSWD: ALL\n#\n", nil, nil},
		{"root ALL=(ALL) ALL # keep \\\nmira ALL=NOPASSWD: ALL\n", []string{`1 root ALL as "ALL": ALL`, `2 mira ALL as "": NOPASSWD ALL`}, nil},
		{"root ALL=/bin/a \"# keep \\\nmira ALL=NOPASSWD: ALL\n", []string{`1 root ALL as "": /bin/a "`, `2 mira ALL as "": NOPASSWD ALL`}, nil},
		{"Cmnd_Alias A = /bin/a # x \\\nmira ALL=NOPASSWD: A\n", []string{`2 mira ALL as "": NOPASSWD /bin/a`}, nil},
		{"#1000 ALL=\\\n NOPASSWD: ALL\n", []string{`1 #1000 ALL as "": NOPASSWD ALL`}, nil},
		{"# mira \\\nmira ALL=ALL\n", []string{`2 mira ALL as "": ALL`}, nil},
		{"mira ALL=(root) sha256:abc= /bin/a, CWD=/x TIMEOUT=5 NOPASSWD: /bin/b\n", []string{`1 mira ALL as "root": /bin/a`, `1 mira ALL as "root": NOPASSWD /bin/b`}, nil},
		{"mira ALL=() NOPASSWD: ALL\n", []string{`1 mira ALL as ":": NOPASSWD ALL`}, nil},
		{`mira ALL=NOPASSWD: /bin/a x\:y\,z, /bin/b "c\:d"` + "\n", []string{`1 mira ALL as "": NOPASSWD /bin/a x\:y\,z`, `1 mira ALL as "": NOPASSWD /bin/b "c\:d"`}, nil},
		{`mira ALL=NOPASSWD: /bin/b "c:d"` + "\n", []string{`1 mira ALL as "": NOPASSWD /bin/b "c`}, ErrSyntax},
		{"root ALL=/bin/a \\\\# \\\nmira ALL=ALL\n", []string{`1 root ALL as "": /bin/a \\`, `2 mira ALL as "": ALL`}, nil},
		{"root ALL=/bin/a \\\\\nmira ALL=ALL\n", []string{`1 root ALL as "": /bin/a \\`, `2 mira ALL as "": ALL`}, nil},
		{"root ALL=/bin/a \\#x \\\n, /bin/b\nmira ALL=ALL # \\", []string{`1 root ALL as "": /bin/a \#x`, `1 root ALL as "": /bin/b`, `3 mira ALL as "": ALL`}, nil},
		{"root ALL=ALL #-x \\\nmira ALL=ALL\n", []string{`1 root ALL as "": ALL`, `2 mira ALL as "": ALL`}, nil},
		{"root ALL=ALL #1 \\\nmira ALL=NOPASSWD: ALL\n", nil, ErrSyntax},
		{"#1 see the ticket\nmira ALL=ALL\r\n", []string{`2 mira ALL as "": ALL`}, ErrSyntax},
		{"\"a # = b\" ALL=ALL\n", []string{`1 "a # = b" ALL as "": ALL`}, nil},
		{"Defaults passprompt=\"\\\" # \\\n\"\nUser_Alias U = \"a # b\", c\\\r\n, d # \\\nmira ALL=ALL\n", []string{`5 mira ALL as "": ALL`}, nil},
		{"mira ALL=/bin/a \"x, NOPASSWD: ALL\n", []string{`1 mira ALL as "": /bin/a "x`, `1 mira ALL as "": NOPASSWD ALL`}, nil},
		{"mira ALL=/bin/a x= (y, NOPASSWD: ALL\n", []string{`1 mira ALL as "": /bin/a x= (y`, `1 mira ALL as "": NOPASSWD ALL`}, nil},
		{"mira ALL=(a, b : c) /bin/a, (\"root\") NOPASSWD : sudoedit /x, list\n", []string{`1 mira ALL as "a, b : c": /bin/a`, `1 mira ALL as "\"root\"": NOPASSWD sudoedit /x`, `1 mira ALL as "\"root\"": NOPASSWD list`}, nil},
		{"Cmnd_Alias A = ALL\nmira ALL=NOPASSWD: A : H = /bin/b\n", []string{`2 mira ALL as "": NOPASSWD ALL`, `2 mira ALL as "": /bin/b`}, nil},
		{"mira ALL=\"/bin/a\", ALL\n", []string{`1 mira ALL as "": ALL`}, ErrSyntax},
		{"Defaultsx ALL=ALL\n", []string{`1 Defaultsx ALL as "": ALL`}, nil},
		{"User_Alias U = a, b\nHost_Alias H = c\nRunas_Alias R = d\nU H=(R) ALL\n", []string{`4 U H as "R": ALL`}, nil},
		{"Cmnd_Alias A = B\nCmnd_Alias B = A\nmira ALL=A\n", nil, ErrTooMany},
		{"nonsense\n", nil, ErrSyntax},
		{"mira=ALL\n", nil, ErrSyntax},
		{"mira ALL=(root ALL\n", nil, ErrSyntax},
		{"mira ALL=NOPASSWD:\n", nil, ErrSyntax},
		{"@include /etc/sudoers\nmira ALL=ALL\n", nil, ErrTooMany},
		{"@include /etc/s-%h\n", nil, ErrHost},
		{"@include \"/none\"\n", nil, fs.ErrNotExist},
	} {
		p, err := Read(tree{start: c.text}, start)
		if err != nil || !errors.Is(p.Hole, c.hole) {
			t.Errorf("%q: %v, hole %v, want %v", c.text, err, p.Hole, c.hole)
		}
		if errors.Is(c.hole, ErrTooMany) {
			continue
		}
		var got []string
		for _, g := range p.Grants {
			got = append(got, show(g))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

func TestIncludedFilesAreThoseThatSudoTakes(t *testing.T) {
	p, err := Read(tree{
		start:                "Defaults use_pty, !authenticate\nDefaults:mira  !requiretty\n@includedir /etc/sudoers.d\n#include local\n",
		"/etc/sudoers.d/b":   "b ALL=ALL",
		"/etc/sudoers.d/a":   "a ALL=ALL",
		"/etc/sudoers.d/c.d": "c ALL=ALL",
		"/etc/sudoers.d/e~":  "e ALL=ALL",
		"/etc/sudoers.d/f":   "!",
		"/etc/local":         "l ALL=ALL",
	}, start)
	if err != nil || !errors.Is(p.Hole, fs.ErrPermission) {
		t.Errorf("%v, hole %v", err, p.Hole)
	}
	var users []string
	for _, g := range p.Grants {
		users = append(users, g.Users+" "+g.File)
	}
	want := []string{"a ALL /etc/sudoers.d/a", "b ALL /etc/sudoers.d/b", "l ALL /etc/local"}
	if diff := cmp.Diff(want, users); diff != "" {
		t.Error(diff)
	}
	defaults := []Default{{Scope: "", Options: []string{"use_pty", "!authenticate"}, File: start, Line: 1}, {Scope: ":mira", Options: []string{"!requiretty"}, File: start, Line: 2}}
	if diff := cmp.Diff(defaults, p.Defaults); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(tree{}, start); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A comment after the name must not make a directory one that is not there: that
// would be no rules, and no word of it.
func TestNamesOfIncludedFilesEndAsForSudo(t *testing.T) {
	for _, c := range []struct {
		line string
		hole error
		want []string
	}{
		{"@includedir more # drop-ins", nil, []string{"a ALL /etc/more/a", "z ALL /etc/sudoers"}},
		{"#includedir /etc/more # drop-ins \\", nil, []string{"a ALL /etc/more/a", "z ALL /etc/sudoers"}},
		{"@include \"more/a\" # x", nil, []string{"a ALL /etc/more/a", "z ALL /etc/sudoers"}},
		{"  @include\telse#x", nil, []string{"h ALL /etc/else#x", "z ALL /etc/sudoers"}},
		{" #include more/a", nil, []string{"z ALL /etc/sudoers"}},
		{"#includes more/a \\", nil, []string{"z ALL /etc/sudoers"}},
		{"@include more/a b", ErrSyntax, []string{"a ALL /etc/more/a", "z ALL /etc/sudoers"}},
		{"@include more/a \\", ErrSyntax, []string{"a ALL /etc/more/a", "z ALL /etc/sudoers"}},
		{"@includedir mo\\re", ErrSyntax, []string{"z ALL /etc/sudoers"}},
	} {
		p, err := Read(tree{start: c.line + "\nz ALL=ALL\n", "/etc/more/a": "a ALL=ALL", "/etc/else#x": "h ALL=ALL", "/etc/more/b.d": ""}, start)
		if err != nil || !errors.Is(p.Hole, c.hole) {
			t.Errorf("%q: %v, hole %v", c.line, err, p.Hole)
		}
		var got []string
		for _, g := range p.Grants {
			got = append(got, g.Users+" "+g.File)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.line, diff)
		}
	}
}

func TestOptionsAreThoseBehindWhomTheyAreFor(t *testing.T) {
	p, err := Read(tree{start: "Defaults:\"a b\", c badpass_message=(x, !authenticate # , use_pty\n"}, start)
	want := []Default{{Scope: `:"a b",c`, Options: []string{"badpass_message=(x", "!authenticate"}, File: start, Line: 1}}
	if diff := cmp.Diff(want, p.Defaults); err != nil || p.Hole != nil || diff != "" {
		t.Errorf("%v, hole %v: %s", err, p.Hole, diff)
	}
}

// Aliases that name each other many times over must not take for ever.
func TestAliasesThatExplodeAreGivenUp(t *testing.T) {
	for _, text := range []string{
		"Cmnd_Alias A = " + strings.Repeat("A, ", 1000) + "A\n" + strings.Repeat("mira ALL=A\n", 5000),
		"Cmnd_Alias A = " + strings.Repeat("/bin/a, ", 1000) + "/bin/a\n" + strings.Repeat("mira ALL=A\n", 5000),
	} {
		if p, err := Read(tree{start: text}, start); err != nil || !errors.Is(p.Hole, ErrTooMany) || len(p.Grants) > maxRules {
			t.Errorf("%v, hole %v, %d grants", err, p.Hole, len(p.Grants))
		}
	}
}

func TestAsWhomTellsRootFromOthers(t *testing.T) {
	for as, want := range map[string]bool{"": true, "root": true, "ALL": true, "ALL:ALL": true, "#0": true, "bin, root": true, "ADMINS": true, "postgres": false, ":adm": false, ":": false, "bin:root": false} {
		if got := (Grant{RunAs: as}).AsRoot(); got != want {
			t.Errorf("(%s): %v", as, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Cmnd_Alias A = /bin/a, B : B = /bin/b\nmira ALL=(root) NOPASSWD: A, !B : h = ALL\n", "Defaults !authenticate\n")
	f.Add("root ALL=ALL # \\\nmira ALL=\\\n/bin/a \"\\#, NOPASSWD: ALL\n", "Defaults:\"a b\" x=\"\\\"#\\\n\"\n")
	f.Add("@include b\n@includedir .\n", "a \\\nb=c\n")
	f.Fuzz(func(t *testing.T, main, other string) {
		p, err := Read(tree{start: main, "/etc/b": other}, start)
		if main != "!" && err != nil {
			t.Error(err)
		}
		if len(p.Grants) > maxRules || len(p.Files) > maxFiles+1 {
			t.Errorf("%d grants from %d files", len(p.Grants), len(p.Files))
		}
		for _, g := range p.Grants {
			if g.Command == "" || strings.HasPrefix(g.Command, "!") || g.Line < 1 || g.File == "" {
				t.Errorf("%+v", g)
			}
		}
	})
}
