// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFacesTellWhatCommandLinesAndLinksTell(t *testing.T) {
	root := t.TempDir()
	for pid, p := range map[int]struct{ exe, cmdline string }{
		1:       {"/usr/lib/systemd/systemd", "/sbin/init\x00splash\x00"},
		77:      {"/usr/bin/sleep", "[kworker/0:1]\x00600\x00"},
		78:      {"/tmp/x (deleted)", "sshd: a [priv]\x00\x00\x00\x00"},
		79:      {"/memfd:x (deleted)", ""},
		80:      {"", "not\x00read\x00"},
		2097152: {"/opt/" + strings.Repeat("d/", 1500) + "x", strings.Repeat("a", 9000) + "\x00b\x00"},
	} {
		dir := filepath.Join(root, "proc", strconv.Itoa(pid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(p.cmdline), 0o600); err != nil {
			t.Fatal(err)
		}
		if p.exe != "" {
			if err := os.Symlink(p.exe, filepath.Join(dir, "exe")); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []Face{
		{Program: "/tmp/x (deleted)", Argument: "sshd: a [priv]"},
		{Program: "/usr/bin/sleep", Argument: "[kworker/0:1]"},
		{Err: fs.ErrNotExist},
		{Program: "/memfd:x (deleted)"},
		{Err: fs.ErrNotExist}, // it ended
		{Program: "/usr/lib/systemd/systemd", Argument: "/sbin/init"},
		{Program: "/opt/" + strings.Repeat("d/", 1500) + "x", Argument: strings.Repeat("a", maxCommand)},
	}
	got, err := New(root).Faces([]int{78, 77, 80, 79, 81, 1, 2097152})
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestTheFaceOfAProcess(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := New("/").Faces([]int{os.Getpid()})
	if want := []Face{{Program: program, Argument: os.Args[0]}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := New(t.TempDir()).Faces([]int{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a /proc: %v", err)
	}
}
