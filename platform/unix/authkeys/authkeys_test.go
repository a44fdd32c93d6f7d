// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"context"
	"os"
	"path/filepath"
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
		"\t" + strings.ReplaceAll(line, " ", "\t") + "\tmira@laptop\r\n": {plain},
		line: {{"ssh-ed25519", fingerprint, "", ""}},
		`command="echo \"a b\" ` + line + `",no-pty ` + line + " mira@laptop":    {{"ssh-ed25519", fingerprint, "mira@laptop", `command="echo \"a b\" ` + line + `",no-pty`}},
		"# " + line + "\n\n" + line + " mira@laptop\n" + line + " mira@laptop\n": {plain, plain},
		"ssh-rsa" + strings.TrimPrefix(line, "ssh-ed25519"):                      nil, // the key is of another type
		"ssh-ed25519 AAAA mira":                    nil,
		"ssh-ed25519":                              nil,
		`a b c ` + line:                            nil,
		strings.Repeat("x", maxLine) + " " + line:  nil,
		"\x00\xff\n" + line + " mira@laptop\n\x01": {plain},
	} {
		if diff := cmp.Diff(want, Parse([]byte(text))); diff != "" {
			t.Errorf("%.60q: %s", text, diff)
		}
	}
	if n := len(Parse([]byte(strings.Repeat(line+"\n", maxKeys+1)))); n != maxKeys {
		t.Errorf("%d keys", n)
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
		for _, k := range Parse(raw) {
			if k.Type == "" || !strings.HasPrefix(k.Fingerprint, "SHA256:") || len(k.Fingerprint) != 50 {
				t.Errorf("%+v", k)
			}
		}
	})
}
