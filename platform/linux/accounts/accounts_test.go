// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"errors"
	"fmt"
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
	got, err := parse(strings.NewReader(passwd))
	want := Names{0: "root", 1000: "mira", 65534: "nobody", 4294967294: "big"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got.Name(1000) != "mira" || got.Name(7) != "7" || Names(nil).Name(0) != "0" {
		t.Errorf("names %q, %q, %q", got.Name(1000), got.Name(7), Names(nil).Name(0))
	}
}

func TestAccountLinesThatAreNoneAreSkipped(t *testing.T) {
	for _, bad := range []string{"", "\n\n", "root", "root:x", "root:x:0", ":x:0:0::/:/bin/sh", "+::::::", "a:x:-1:0::/:", "a:x:one:0::/:", "a:x:4294967296:0::/:", "# root:x:"} {
		if got, err := parse(strings.NewReader(bad)); len(got) != 0 || err != nil {
			t.Errorf("%q: got %v, %v", bad, got, err)
		}
	}
}

func TestBadAccountLineDoesNotHideTheNext(t *testing.T) {
	for _, bad := range []string{"bad", "a:x:one:0::/:", ""} {
		if got, err := parse(strings.NewReader(bad + "\n" + passwd)); len(got) != 4 || err != nil {
			t.Errorf("after %q: %v, %v", bad, got, err)
		}
	}
}

func TestCutAccountsNameNobodyWrong(t *testing.T) {
	want, err := parse(strings.NewReader(passwd))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(passwd) {
		got, err := parse(strings.NewReader(passwd[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		for uid, name := range got {
			if want[uid] != name {
				t.Errorf("the first %d bytes name %d %q", cut, uid, name)
			}
		}
	}
}

func TestAccountsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxEntries + 10 {
		fmt.Fprintf(&b, "u%d:x:%d:0::/:\n", i, i)
	}
	if got, err := parse(strings.NewReader(b.String())); len(got) != maxEntries || err != nil {
		t.Errorf("%d accounts, %v", len(got), err)
	}
	if _, err := parse(strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
		t.Error("an endless line is no error")
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

// Opening a FIFO that nobody writes to would wait for ever.
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
		names, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for uid, name := range names {
			if uid < 0 || uid >= 1<<32 || name == "" || strings.ContainsAny(name, ":\n") {
				t.Errorf("%d is %q", uid, name)
			}
		}
	})
}
