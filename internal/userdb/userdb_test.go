// SPDX-License-Identifier: Apache-2.0

package userdb

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestAccountsAreReadLineByLine(t *testing.T) {
	users, bad := Passwd([]byte("root:x:0:0:root:/root:/bin/bash\n# a comment\n+::::::\n\nmira:x:1000:1000:Mira,,,:/home/mira:\nbroken:x:1\n:x:1:1:::\nbig:x:99999999999:1:::\nneg:x:-1:1:::\n"))
	want := []User{{"root", "x", 0, 0, "/root", "/bin/bash", 1}, {"mira", "x", 1000, 1000, "/home/mira", "", 5}}
	if diff := cmp.Diff(want, users) + cmp.Diff([]int{6, 7, 8, 9}, bad); diff != "" {
		t.Error(diff)
	}
	secrets, bad := Shadow([]byte("root:*:19800:0:99999:7:::\nmira::1\n"))
	if diff := cmp.Diff([]Secret{{"root", "*", 1, 19800}}, secrets) + cmp.Diff([]int{2}, bad); diff != "" {
		t.Error(diff)
	}
	ranges, bad := Subordinate([]byte("mira:100000:65536\n1001:165536:65536\nmira:x:1\nmira:1:-1\n"))
	if diff := cmp.Diff([]Range{{"mira", 100000, 65536}, {"1001", 165536, 65536}}, ranges) + cmp.Diff([]int{3, 4}, bad); diff != "" {
		t.Error(diff)
	}
	groups, bad := Groups([]byte("root:x:0:\nmira:x:1000:a,b\nx:y\n"))
	if diff := cmp.Diff([]Group{{"root", 0, []string{}, 1}, {"mira", 1000, []string{"a", "b"}, 2}}, groups) + cmp.Diff([]int{3}, bad); diff != "" {
		t.Error(diff)
	}
}

func TestAccountsAreBounded(t *testing.T) {
	raw := bytes.Repeat([]byte("u:x:1:0::/:\n"), maxLines+10)
	users, bad := Passwd(raw)
	if diff := cmp.Diff([]int{maxLines + 1}, bad); diff != "" || len(users) != maxLines {
		t.Errorf("%d accounts, malformed lines: %s", len(users), diff)
	}
	if users, bad := Passwd(bytes.Repeat([]byte("x"), 1<<20)); len(users) != 0 || len(bad) != 1 {
		t.Errorf("an endless line: %d accounts, malformed lines %v", len(users), bad)
	}
}

func TestPasswordsAreJudgedByTheirMethod(t *testing.T) {
	for field, want := range map[string]Strength{
		"": Empty, "*": Locked, "!": Locked, "!!": Locked, "!*": Locked, "*LK*": Locked, "x": Locked, "nonsense": Locked,
		"$y$j9T$salt$hash": Strong, "!$y$j9T$salt$hash": Strong, "$6$salt$hash": Strong, "$6$rounds=5000$salt$hash": Strong, "$2b$12$hash": Strong, "$5$salt$hash": Strong, "$7$hash": Strong, "$gy$a": Strong,
		"$1$salt$hash": Weak, "$3$$hash": Weak, "$sha1$1$salt$hash": Weak, "abJnggxhB/yWI": Weak, "_J9..rasmBYk8r9AiWNc": Weak, "$md5,rounds=1$a$b": Weak,
		"abJnggxhB/yWIrlRYlGmWNYs": Weak, "!abJnggxhB/yWIrlRYlGmWNYs": Weak, "not-a-password": Unknown, "{SSHA}abJnggxhB/yWI": Unknown,
		"$argon2id$v": Unknown, "$": Unknown,
	} {
		if got := StrengthOf(field); got != want {
			t.Errorf("%q: %v, want %v", field, got, want)
		}
	}
}

func TestLoginDefaultsTakeTheLastOfAName(t *testing.T) {
	got := LoginDefs([]byte("# UMASK 000\nUMASK\t\t022\nENCRYPT_METHOD SHA512 # x\nPASS_MAX_DAYS\n UMASK \"077\"\n"))
	want := map[string]Default{"UMASK": {"077", 5}, "ENCRYPT_METHOD": {"SHA512", 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzPasswd(f *testing.F) {
	f.Add([]byte("root:x:0:0:root:/root:/bin/bash\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		users, bad := Passwd(raw)
		if len(users)+len(bad) > bytes.Count(raw, []byte("\n"))+1 {
			t.Error("more accounts than lines")
		}
		for _, u := range users {
			if u.Name == "" || u.UID < 0 || strings.Contains(u.Shell, ":") {
				t.Errorf("%+v", u)
			}
		}
	})
}

func FuzzShadow(f *testing.F) {
	f.Add([]byte("root:$y$a$b$c:1:0:99999:7:::\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		secrets, _ := Shadow(raw)
		for _, s := range secrets {
			if StrengthOf(s.Hash) == Empty != (s.Hash == "") {
				t.Errorf("%q", s.Hash)
			}
		}
		groups, _ := Groups(raw)
		for _, g := range groups {
			if g.GID < 0 || slices.Contains(g.Members, "") {
				t.Errorf("%+v", g)
			}
		}
	})
}

func FuzzLoginDefs(f *testing.F) {
	f.Add([]byte("UMASK 022\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, d := range LoginDefs(raw) {
			if name == "" || strings.HasPrefix(name, "#") || d.Line < 1 {
				t.Errorf("%q: %+v", name, d)
			}
		}
	})
}

// The accounts of the test machines, as golden files.
func TestAccountsOfMachines(t *testing.T) {
	files, err := filepath.Glob("../../testdata/hosts/*/etc/passwd")
	if err != nil || len(files) == 0 {
		t.Fatalf("no machines: %v", err)
	}
	var got strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		users, bad := Passwd(raw)
		fmt.Fprintf(&got, "%s: malformed %v\n", strings.TrimPrefix(file, "../../testdata/hosts/"), bad)
		for _, u := range users {
			fmt.Fprintf(&got, "%d %+v\n", u.Line, u)
		}
	}
	const golden = "testdata/passwd.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
