// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/internal/userdb"
)

const (
	line        = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKLXODIb6PZbd4uSCHtNdRxxqkKGLwIOSz51efNsTY2Z"
	fingerprint = "SHA256:SGiZyCiyrIS8rDYaheC2Dns/sDA1nsBGTO4aJF9xbNA" // by ssh-keygen -lf
)

func TestKeysOfAFile(t *testing.T) {
	plain := Key{"ssh-ed25519", fingerprint, "mira@laptop", ""}
	for text, want := range map[string][]Key{
		line + " mira@laptop\n": {plain},
		"\t" + strings.ReplaceAll(line, " ", "\t") + "\tmira@laptop\r\n":       {plain},
		line[:30] + "\f" + line[30:40] + "\v\r" + line[40:] + " mira@laptop\n": {plain}, // this and the next two as ssh-keygen -l has them
		line + "\x00 another\n":                                                         {{"ssh-ed25519", fingerprint, "", ""}},
		"rsa-sha2-512 AAAAB3NzaC1yc2EAAAABAQ== r":                                       {{"ssh-rsa", "SHA256:vxYqKQmGoa7npuMV6JxUozU0YlhSe8qy3tKzYsjZM7g", "r", ""}},
		"ED25519" + strings.TrimPrefix(line, "ssh-ed25519") + " mira@laptop":            {plain},
		line[:30] + "\u00a0" + line[30:]:                                                nil,
		`environment="A=` + strings.Repeat("a", 100<<10) + `" ` + line + " mira@laptop": {{"ssh-ed25519", fingerprint, "mira@laptop", `environment="A=` + strings.Repeat("a", 100<<10) + `"`}},
		line: {{"ssh-ed25519", fingerprint, "", ""}},
		`command="echo \"a b\" ` + line + `",no-pty ` + line + " mira@laptop":    {{"ssh-ed25519", fingerprint, "mira@laptop", `command="echo \"a b\" ` + line + `",no-pty`}},
		"# " + line + "\n\n" + line + " mira@laptop\n" + line + " mira@laptop\n": {plain, plain},
		"ssh-rsa" + strings.TrimPrefix(line, "ssh-ed25519"):                      nil, // the key is of another type
		"ssh-ed25519 AAAA mira": nil,
		"ssh-ed25519":           nil,
		`a b c ` + line:         nil,
		"\x00\xff\n" + line + " mira@laptop\n\x01": {plain},
	} {
		got := Parse([]byte(text))
		if diff := cmp.Diff(want, got.Keys); diff != "" || got.Unread() != nil {
			t.Errorf("%.60q: %v %s", text, got.Unread(), diff)
		}
	}
}

// What is left out is told, and what sshd would leave out is not.
func TestKeysBeyondTheBoundAreCounted(t *testing.T) {
	l := Parse([]byte(strings.Repeat(line+"\n", maxKeys) + "# none\n\nssh-ed25519 none\n" + line + "\n" + line + "\n"))
	if err := l.Unread(); len(l.Keys) != maxKeys || err == nil || err.Error() != "keys beyond the first 200: 2" {
		t.Errorf("%d keys, %v", len(l.Keys), err)
	}
}

func TestKeysOfUsers(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/ssh/sshd_config":            "AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/keys/%u %h/.more\n",
		"home/mira/.ssh/authorized_keys": line + " home\n",
		"home/mira/.more":                line + " more\n",
		"etc/ssh/keys/mira":              line + " etc\n",
		"home/eve/.ssh/none":             "",
		"secret":                         line + " secret\n",
	})
	for _, err := range []error{
		os.Symlink("/../../../secret", filepath.Join(root, "home/eve/.ssh/authorized_keys")),
		syscall.Mkfifo(filepath.Join(root, "home/eve/.more"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][]string{}
	Of(t.Context(), root, []userdb.User{{Name: "mira", Home: "/home/mira"}, {Name: "eve", Home: "/home/eve/"}, {Name: "none", Home: "/nonexistent"}, {Name: "daemon", Home: "/"}, {Name: "odd", Home: ""}},
		func(u userdb.User, files []File, err error) {
			for _, f := range files {
				got[u.Name] = append(got[u.Name], f.Name+" "+f.Keys[0].Comment)
			}
			if err != nil {
				got[u.Name] = append(got[u.Name], "unread")
			}
		})
	want := map[string][]string{"mira": {"/home/mira/.ssh/authorized_keys home", "/etc/ssh/keys/mira etc", "/home/mira/.more more"}, "eve": {"unread"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each file of which something is left out is named, and each account.
func TestKeysThatAreLeftOutAreUnread(t *testing.T) {
	many := strings.Repeat(line+"\n", maxKeys+1)
	root := testenv.Plant(t, map[string]string{"home/mira/.ssh/authorized_keys": many, "home/mira/.ssh/authorized_keys2": many})
	users := slices.Repeat([]userdb.User{{Name: "none", Home: "/nonexistent"}}, maxUsers+1)
	users[0] = userdb.User{Name: "mira", Home: "/home/mira"}
	keys, unread := 0, []string{}
	Of(t.Context(), root, users, func(u userdb.User, files []File, err error) {
		for _, f := range files {
			keys += len(f.Keys)
		}
		if err != nil {
			unread = append(unread, u.Name+" "+err.Error())
		}
	})
	want := []string{
		"mira /home/mira/.ssh/authorized_keys: keys beyond the first 200: 1; /home/mira/.ssh/authorized_keys2: keys beyond the first 200: 1", "none those of the first 2000 accounts are read",
	}
	if diff := cmp.Diff(want, unread); diff != "" || keys != 2*maxKeys {
		t.Errorf("%d keys, %s", keys, diff)
	}
}

func TestAUserAfterTheEndIsUnread(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Of(ctx, t.TempDir(), []userdb.User{{Name: "mira", Home: "/home/mira"}}, func(_ userdb.User, files []File, err error) {
		if err == nil || files != nil {
			t.Errorf("%v, %v", files, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`command="a" ` + line + " c\n#\n" + line))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, k := range Parse(raw).Keys {
			if k.Type == "" || !strings.HasPrefix(k.Fingerprint, "SHA256:") || len(k.Fingerprint) != 50 {
				t.Errorf("%+v", k)
			}
		}
	})
}

// Files that only some connections have keys from count, and what is not read is said.
func TestNamesOfFilesWithKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                          ".ssh/authorized_keys .ssh/authorized_keys2",
		"AuthorizedKeysFile none\n": "",
		"AuthorizedKeysFile /a\nAuthorizedKeysFile /b\n":                            "/a",
		"Match User *\nAuthorizedKeysFile /opt/%u/k\n":                              "/opt/%u/k .ssh/authorized_keys .ssh/authorized_keys2",
		"AuthorizedKeysFile /a\nMatch User x\nAuthorizedKeysFile /a /b\n":           "/a /b",
		"Include /etc/ssh/*/a.conf\nAuthorizedKeysFile /a\nAuthorizedKeysFile /b\n": "/a /b .ssh/authorized_keys .ssh/authorized_keys2: an Include has a wildcard in the name of a folder, which is not followed",
		"Match User x\nAuthorizedKeysFile " + strings.Repeat("/a ", 1000) + "/b\n":  "/a /b .ssh/authorized_keys .ssh/authorized_keys2",
		"Match User x\nTrustedUserCAKeys /ca\nAuthorizedKeysCommand none\n":         ".ssh/authorized_keys .ssh/authorized_keys2 TrustedUserCAKeys",
	} {
		root := testenv.Plant(t, map[string]string{"etc/ssh/sshd_config": text})
		list, err := Patterns(root)
		got := strings.Join(append(list, Elsewhere(root)...), " ")
		if err != nil {
			got += ": " + err.Error()
		}
		if got != want {
			t.Errorf("%.60q: %q, want %q", text, got, want)
		}
	}
	if list, err := Patterns(t.TempDir()); err != nil || strings.Join(list, " ") != byDefault {
		t.Errorf("without a configuration: %v, %v", list, err)
	}
	var many strings.Builder
	for i := range 2 * maxPatterns {
		many.WriteString("Match all\nAuthorizedKeysFile /" + strings.Repeat("x", i+1) + "\nMatch User a\nAuthorizedKeysFile /y" + strings.Repeat("x", i) + "\n")
	}
	if list, err := Patterns(testenv.Plant(t, map[string]string{"etc/ssh/sshd_config": many.String()})); len(list) != maxPatterns || err == nil {
		t.Errorf("%d names, %v", len(list), err)
	}
}
