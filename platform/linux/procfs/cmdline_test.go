// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandLineSplitsAtEachNUL(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 nil,
		"\x00":                             nil,
		"\x00\x00\x00":                     nil,
		"sh\x00":                           {"sh"},
		"sh\x00-c\x00echo a b\x00":         {"sh", "-c", "echo a b"},
		"sh\x00\x00x\x00":                  {"sh", "", "x"},
		"nginx: worker process":            {"nginx: worker process"},
		"sshd: a [priv]\x00\x00\x00\x00":   {"sshd: a [priv]"},
		"a\x00line\nbreak\x00\xff\xfe\x00": {"a", "line\nbreak", "\xff\xfe"},
	} {
		if got := splitCommand([]byte(text)); !cmp.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCommandLineOfMegabytesIsCut(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "7")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cmdline"), bytes.Repeat([]byte("a\x00"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := New(root).CommandLine(7)
	if err != nil || len(got) != maxCommand/2 {
		t.Errorf("%d arguments, %v; want %d", len(got), err, maxCommand/2)
	}
	if _, err := New(root).CommandLine(8); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is gone: %v", err)
	}
}

const statusFile = "Name:\tx\\nUid:\\t0\nUmask:\t0022\nState:\tS (sleeping)\nPid:\t812\nUid:\t1000\t0\t0\t0\nGid:\t1000\t1000\t1000\t1000\n"

func TestUIDIsTheRealOne(t *testing.T) {
	if got, err := parseUID([]byte(statusFile)); err != nil || got != 1000 {
		t.Errorf("got %d, %v", got, err)
	}
	wholeOrNothing(t, statusFile, parseUID)
	if got, err := parseUID([]byte("Uid:\t4294967294\t0\t0\t0\n")); err != nil || got != 4294967294 {
		t.Errorf("the largest: got %d, %v", got, err)
	}
	for _, bad := range []string{"", "Name:\tx\n", "Uid:\n", "Uid:\t1000\n", "Uid:\t-1\t0\t0\t0\n", "Uid:\tx\t0\t0\t0\n", "Uid:\t4294967296\t0\t0\t0\n", "Uid:\t1\t2\t3\t4\t5\n"} {
		if got, err := parseUID([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %d, %v", bad, got, err)
		}
	}
}

func FuzzDetails(f *testing.F) {
	f.Add([]byte(statusFile))
	f.Add([]byte("sh\x00-c\x00echo\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if uid, err := parseUID(b); err == nil && (uid < 0 || uid >= 1<<32) {
			t.Errorf("uid %d", uid)
		}
		args := splitCommand(b)
		for _, a := range args {
			if strings.ContainsRune(a, 0) {
				t.Errorf("argument %q", a)
			}
		}
		if joined := strings.Join(args, "\x00"); joined != string(bytes.TrimRight(b, "\x00")) {
			t.Errorf("%q came back as %q", b, joined)
		}
	})
}
