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
		{Program: "/tmp/x (deleted)"},
		{Program: "/usr/bin/sleep"},
		{Err: fs.ErrNotExist},
		{Program: "/memfd:x (deleted)"},
		{Err: fs.ErrNotExist}, // it ended
		{Program: "/usr/lib/systemd/systemd"},
		{Program: "/opt/" + strings.Repeat("d/", 1500) + "x"},
	}
	pids := []int{78, 77, 80, 79, 81, 1, 2097152}
	got, err := New(root).Faces(pids)
	if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	titles := []Title{{Text: "sshd: a [priv]"}, {Text: "[kworker/0:1]"}, {Text: "not"}, {}, {Err: fs.ErrNotExist}, {Text: "/sbin/init"}, {Text: strings.Repeat("a", maxCommand)}}
	if diff := cmp.Diff(titles, New(root).Titles(pids), cmpopts.EquateErrors()); diff != "" {
		t.Error(diff)
	}
}

func TestTheFaceOfAProcess(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	held, err := StatHeld(program)
	if err != nil || held.Mount == 0 {
		t.Fatalf("%+v, %v", held, err)
	}
	got, err := New("/").Faces([]int{os.Getpid()})
	if want := []Face{{Program: program, Mount: held.Mount}}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got := New("/").Titles([]int{os.Getpid()}); !cmp.Equal(got, []Title{{Text: os.Args[0]}}) {
		t.Errorf("%v", got)
	}
	if _, err := New(t.TempDir()).Faces([]int{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a /proc: %v", err)
	}
}
