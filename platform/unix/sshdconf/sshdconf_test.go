// SPDX-License-Identifier: Apache-2.0

package sshdconf

import (
	"errors"
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

const start = "/etc/ssh/sshd_config"

func TestTheFirstValueWins(t *testing.T) {
	for _, c := range []struct {
		name  string
		files tree
		want  map[string]string // "keyword value" and where
		match []string
		hole  error
	}{
		{"plain", tree{start: "PermitRootLogin no\npermitrootlogin yes\n"}, map[string]string{"permitrootlogin no": start}, nil, nil},
		{"equals sign, quotes and comments", tree{start: "# x yes\n\n Port = 2222 # not 22\nBanner=\"/etc/a b\"\nAllowUsers a\\ b 'c d'\n"},
			map[string]string{"port 2222": start, "banner /etc/a b": start, "allowusers a b c d": start}, nil, nil},
		{"former names", tree{start: "ChallengeResponseAuthentication yes\nKbdInteractiveAuthentication no\nPubkeyAcceptedKeyTypes x\n"},
			map[string]string{"kbdinteractiveauthentication yes": start, "pubkeyacceptedalgorithms x": start}, nil, nil},
		{"an include comes first where it stands first", tree{start: "Include sshd_config.d/*.conf\nX11Forwarding yes\n", "/etc/ssh/sshd_config.d/b.conf": "X11Forwarding maybe\n",
			"/etc/ssh/sshd_config.d/a.conf": "X11Forwarding no\n", "/etc/ssh/sshd_config.d/c.txt": "x y\n", "/etc/ssh/sshd_config.d/.d.conf": "x y\n"},
			map[string]string{"x11forwarding no": "/etc/ssh/sshd_config.d/a.conf"}, nil, nil},
		{"an include of nothing", tree{start: "Include /none/*.conf /none/x\nA b\n"}, map[string]string{"a b": start}, nil, nil},
		{"lists of glob(3)", tree{start: "Include x/[!0]*.conf y/[[:alpha:]]*\n", "/etc/ssh/x/evil.conf": "Match all\nA b\n", "/etc/ssh/x/0.conf": "A c\n", "/etc/ssh/y/z": "D e\n"}, map[string]string{"a b": "/etc/ssh/x/evil.conf", "d e": "/etc/ssh/y/z"}, []string{"/etc/ssh/x/evil.conf:2: a b (Match all)"}, nil},
		{"a block of Match", tree{start: "A b\nMatch User mira Address *\nA c\nMatch all\nD e\n"}, map[string]string{"a b": start, "d e": start},
			[]string{start + ":3: a c (Match User mira Address *)", start + ":5: d e (Match all)"}, nil},
		{"a Match ends with its file", tree{start: "Include a\nB c\n", "/etc/ssh/a": "Match User x\nB d\n"}, map[string]string{"b c": start},
			[]string{"/etc/ssh/a:2: b d (Match User x)"}, nil},
		{"an include within a Match", tree{start: "Match User x\nInclude a\n", "/etc/ssh/a": "B d\n"}, map[string]string{},
			[]string{"/etc/ssh/a:1: b d (Match User x)"}, nil},
		{"a file that cannot be read", tree{start: "A b\nInclude a\nC d\n", "/etc/ssh/a": "!"}, map[string]string{"a b": start}, nil, fs.ErrPermission},
		{"an open quote", tree{start: "A b\nC \"d\nE f\n"}, map[string]string{"a b": start}, nil, ErrSyntax},
		{"no keyword", tree{start: "= b\n"}, map[string]string{}, nil, ErrSyntax},
		{"a wildcard folder", tree{start: "Include /etc/*/x\nA b\n"}, map[string]string{}, nil, ErrPattern},
		{"a backslash in a folder", tree{start: "Include /etc/ssh/x\\.d/a\n", "/etc/ssh/x.d/a": "A b\n"}, map[string]string{}, nil, ErrPattern},
		{"an include of itself", tree{start: "A b\nInclude " + start + "\n"}, map[string]string{"a b": start}, nil, ErrTooMany},
		{"an include of itself twice", tree{start: "A b\nInclude " + start + " " + start + "\n"}, map[string]string{"a b": start}, nil, ErrTooMany},
	} {
		got, err := Read(c.files, start)
		if err != nil || !errors.Is(got.Hole, c.hole) {
			t.Errorf("%s: %v, hole %v, want %v", c.name, err, got.Hole, c.hole)
		}
		places := map[string]string{}
		for _, s := range got.Global {
			places[s.Keyword+" "+s.Value] = s.File
		}
		if diff := cmp.Diff(c.want, places); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		var matched []string
		for _, s := range got.Matched {
			matched = append(matched, s.String())
		}
		if diff := cmp.Diff(c.match, matched); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestPlacesAreWhatDecides(t *testing.T) {
	files := tree{start: "Include sshd_config.d/*.conf /srv/own /none/*\nInclude /srv/own\n", "/etc/ssh/sshd_config.d/a.conf": "A b\n", "/etc/ssh/sshd_config.d/no": "", "/srv/own": "!"}
	c, err := Read(files, start)
	want := []string{start, "/etc/ssh/sshd_config.d", "/etc/ssh/sshd_config.d/a.conf", "/srv", "/srv/own", "/none"}
	if diff := cmp.Diff(want, c.Places); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	if _, err := Read(tree{}, start); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestEffectiveSettingsAreThoseThatSshdPrints(t *testing.T) {
	c, err := Effective([]byte("port 22\npermitrootlogin without-password\nhostkey /a\nhostkey /b\nciphers a,b\n"))
	if err != nil || c.Global["permitrootlogin"].Value != "without-password" || c.Global["hostkey"].Value != "/a" {
		t.Errorf("got %+v, %v", c, err)
	}
	if got := c.Global["ciphers"].String(); got != "sshd -T: ciphers a,b" {
		t.Error(got)
	}
	for _, bad := range []string{"", "\n", "a \"b\n"} {
		if _, err := Effective([]byte(bad)); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOptionsOfTheProgramAreSettings(t *testing.T) {
	for text, want := range map[string]string{
		"PermitRootLogin=yes": "x.service: permitrootlogin yes", "ChallengeResponseAuthentication no": "x.service: kbdinteractiveauthentication no", "Ciphers = \"a,b\"": "x.service: ciphers a,b",
		"-T": "", "--help=1": "", "Match=all": "", "Include /x": "", "PermitRootLogin": "", "": "", "A 1\nB 2": "", "# x": "",
	} {
		s, ok := Option("x.service", text)
		if ok != (want != "") || ok && s.String() != want {
			t.Errorf("%q: %q, %v", text, s, ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Include a\nPermitRootLogin = \"no\"\n", "Match User x\nA 'b\\' c'\n")
	f.Add("Include *\n\x00", "Include sshd_config\n")
	f.Fuzz(func(t *testing.T, main, other string) {
		c, err := Read(tree{start: main, "/etc/ssh/a": other}, start)
		if main != "!" && err != nil {
			t.Error(err)
		}
		if len(c.Global)+len(c.Matched) > maxSettings {
			t.Error("more settings than allowed")
		}
		for keyword, s := range c.Global {
			if keyword != strings.ToLower(keyword) || s.Match != "" && !strings.EqualFold(s.Match, "all") || s.Line < 1 {
				t.Errorf("%q: %+v", keyword, s)
			}
		}
	})
}

func FuzzEffective(f *testing.F) {
	f.Add("port 22\npermitrootlogin no\n")
	f.Fuzz(func(t *testing.T, out string) {
		if c, err := Effective([]byte(out)); err == nil && len(c.Global) == 0 {
			t.Error("no settings and no error")
		}
	})
}

// What sshd prints wins over its files, which tell the place; what neither has is
// the default, unless a part that was not read may set it.
func TestSettingIsWhatIsInForce(t *testing.T) {
	printed := map[string]Setting{"x11forwarding": {Keyword: "x11forwarding", Value: "yes"}, "maxauthtries": {Keyword: "maxauthtries", Value: "9"}}
	files := Config{Global: map[string]Setting{"x11forwarding": {Keyword: "x11forwarding", Value: "no", File: "/f", Line: 1}}}
	torn := Config{Global: files.Global, Hole: ErrSyntax}
	for _, c := range []struct {
		name, keyword string
		server        Server
		want          string // "" when it is not known
	}{
		{"in both", "x11forwarding", Server{files, printed}, "/f:1: x11forwarding yes"},
		{"printed", "maxauthtries", Server{files, printed}, "sshd -T: maxauthtries 9"},
		{"in a file", "x11forwarding", Server{files, nil}, "/f:1: x11forwarding no"},
		{"in none", "maxauthtries", Server{files, nil}, "default of sshd: maxauthtries 6"},
		{"in none that was read", "maxauthtries", Server{torn, nil}, ""},
		{"in a file, before what was not read", "x11forwarding", Server{torn, nil}, "/f:1: x11forwarding no"},
		{"not printed, so not set", "banner", Server{torn, printed}, "default of sshd: banner 6"},
	} {
		got, known := c.server.Setting(c.keyword, "6")
		if known != (c.want != "") || known && got.String() != c.want {
			t.Errorf("%s: %v, %v, want %q", c.name, got, known, c.want)
		}
	}
}

// What was not read may set a thing first, or not: what follows is possible, and so is each subsystem.
func TestPossibleSettings(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"Subsystem a 1\nSubsystem b 2\nSubsystem a 3":                                         "a 1,b 2",
		"Subsystem a 1\nMatch User x\nSubsystem a 2\nMatch all\nSubsystem a 3\nSubsystem c 4": "a 1,c 4,a 2",
		"Subsystem a 1\n\"\nSubsystem a 2\nSubsystem b 3":                                     "a 1,a 2,b 3",
	} {
		c, err := Read(tree{start: text}, start)
		var got []string
		for _, s := range c.Possible("subsystem") {
			got = append(got, s.Value)
		}
		if err != nil || strings.Join(got, ",") != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
}
