// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
)

const passwd = "root:x:0:0:root:/root:/bin/bash\ntoor:x:0:0::/root:/bin/sh\nmira:x:1000:1000:Mira,,,:/home/mira:/bin/bash\n" +
	"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\nbig:x:4294967294:1::/:/bin/sh\n"

func TestAccountsNameUsersByTheirFirstName(t *testing.T) {
	got := namesIn([]byte(passwd))
	want := Names{0: "root", 1000: "mira", 65534: "nobody", 4294967294: "big"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Name(1000) != "mira" || got.Name(7) != "7" || Names(nil).Name(0) != "0" {
		t.Errorf("names %q, %q, %q", got.Name(1000), got.Name(7), Names(nil).Name(0))
	}
}

func TestAccountLinesThatAreNoneAreSkipped(t *testing.T) {
	for _, bad := range []string{"", "\n\n", "root", "root:x", "root:x:0", ":x:0:0::/:/bin/sh", "+::::::", "a:x:-1:0::/:", "a:x:one:0::/:", "a:x:4294967296:0::/:", "# root:x:"} {
		if got := namesIn([]byte(bad)); len(got) != 0 {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestBadAccountLineDoesNotHideTheNext(t *testing.T) {
	for _, bad := range []string{"bad", "a:x:one:0::/:", ""} {
		if got := namesIn([]byte(bad + "\n" + passwd)); len(got) != 4 {
			t.Errorf("after %q: %v", bad, got)
		}
	}
}

func TestCutAccountsNameNobodyWrong(t *testing.T) {
	want := namesIn([]byte(passwd))
	for cut := range len(passwd) {
		for uid, name := range namesIn([]byte(passwd[:cut])) {
			if want[uid] != name {
				t.Errorf("the first %d bytes name %d %q", cut, uid, name)
			}
		}
	}
}

func TestAccountsFileMayBeMissingButNotForbidden(t *testing.T) {
	root := t.TempDir()
	if got, err := Read(root); got == nil || len(got) != 0 || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(root, "etc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(root); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unreadable file: %v, %v", got, err)
	}
	got, err := Read("../../../testdata/hosts/laptop")
	if err != nil || got.Name(1000) != "mira" || got.Name(0) != "root" {
		t.Errorf("the laptop: %v, %v", got, err)
	}
}

// Opening a FIFO that nobody writes to would block forever.
func TestAccountsThatAreNoFileAreNotRead(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "etc/passwd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(root); got != nil || !errors.Is(err, hostfile.ErrNotRegular) {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzAccounts(f *testing.F) {
	f.Add(passwd)
	f.Add("a:x:4294967295:0\x00:b\nc:d:00:e")
	f.Fuzz(func(t *testing.T, text string) {
		for uid, name := range namesIn([]byte(text)) {
			if uid < 0 || uid >= 1<<32 || name == "" || strings.ContainsAny(name, ":\n") {
				t.Errorf("%d is %q", uid, name)
			}
		}
	})
}
