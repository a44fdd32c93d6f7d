// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// home is a directory with what a user may put into it, and a secret beside it.
func home(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	directory := filepath.Join(root, "mira")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(directory, "many"), 0o755),
		os.WriteFile(filepath.Join(root, "secret"), []byte("s"), 0o600),
		os.WriteFile(filepath.Join(directory, "four"), []byte("1234"), 0o640),
		os.WriteFile(filepath.Join(directory, "many", "b"), nil, 0o644),
		os.WriteFile(filepath.Join(directory, "many", "a"), nil, 0o644),
		os.Symlink("../secret", filepath.Join(directory, "out")),
		os.Symlink("four", filepath.Join(directory, "within")),
		os.Symlink("..", filepath.Join(directory, "up")),
		syscall.Mkfifo(filepath.Join(directory, "pipe"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestReadBelowStaysInTheHome(t *testing.T) {
	directory := home(t)
	for name, want := range map[string]error{"four": nil, "within": nil, "pipe": ErrNotRegular, "many": ErrNotRegular, "none": os.ErrNotExist} {
		raw, f, err := ReadBelow(directory, name, 4)
		if !errors.Is(err, want) || want == nil && (string(raw) != "1234" || f.Mode != 0o640 || f.UID != os.Geteuid()) {
			t.Errorf("%s: %q, %v, %v", name, raw, f, err)
		}
	}
	for _, name := range []string{"out", "up/secret", "../secret", "/etc/passwd"} {
		if raw, _, err := ReadBelow(directory, name, 4); err == nil || len(raw) > 0 {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	if _, _, err := ReadBelow(directory, "four", 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file of 4 bytes where 3 are allowed: %v", err)
	}
}

func TestOpenBelowFollowsNoLink(t *testing.T) {
	directory := home(t)
	for name, want := range map[string]error{"four": nil, "within": ErrNotRegular, "out": ErrNotRegular, "pipe": ErrNotRegular, "many": ErrNotRegular, "none": os.ErrNotExist} {
		file, err := OpenBelow(directory, name)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		raw, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil || string(raw) != "1234" {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
	for _, name := range []string{"up/secret", "../secret", "/etc/passwd"} {
		if _, err := OpenBelow(directory, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestNamesBelowStaysInTheHome(t *testing.T) {
	directory := home(t)
	if names, err := NamesBelow(directory, "many", 2); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := NamesBelow(directory, "many", 1); !errors.Is(err, ErrTooLarge) || len(names) != 1 {
		t.Errorf("two names where one is allowed: %v, %v", names, err)
	}
	for _, name := range []string{"up", "..", "four", "pipe", "none"} {
		if names, err := NamesBelow(directory, name, 9); err == nil {
			t.Errorf("%s: %v", name, names)
		}
	}
}

func TestStatLooksThroughLinksAndLstatAtThem(t *testing.T) {
	directory := home(t)
	through, err := Stat(filepath.Join(directory, "within"))
	if want := fmt.Sprintf("-rw-r----- of user %d", os.Geteuid()); err != nil || through.String() != want {
		t.Errorf("%v, %v, want %s", through, err, want)
	}
	if link, err := Lstat(filepath.Join(directory, "within")); err != nil || link.Mode&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", link, err)
	}
}

func TestTreeHasNoNamesWhereThereIsNoDir(t *testing.T) {
	directory := home(t)
	tree := Tree{Path: func(name string) string { return filepath.Join(directory, name) }, MaxFile: 4, MaxNames: 1}
	if raw, err := tree.Read("/four"); err != nil || string(raw) != "1234" {
		t.Errorf("%q, %v", raw, err)
	}
	for _, name := range []string{"/none", "/four/none"} {
		if names, err := tree.Names(name); err != nil || names != nil {
			t.Errorf("%s: %v, %v", name, names, err)
		}
	}
	if _, err := tree.Names("/many"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two names where one is allowed: %v", err)
	}
}

func TestTreeTellsWhoCanChangeAFile(t *testing.T) {
	directory := testenv.Plant(t, map[string]string{"own/a": "", "wide/a": "", "file": "", "open": ""})
	for name, mode := range map[string]os.FileMode{"wide": 0o777, "open": 0o602} {
		if err := os.Chmod(filepath.Join(directory, name), mode|os.ModePerm&0o700); err != nil {
			t.Fatal(err)
		}
	}
	tree := Tree{Path: func(name string) string { return filepath.Join(directory, name) }}
	for name, want := range map[string][2]bool{
		"/own/a": {true, true}, "/own/none": {false, true}, "/none/at/all": {false, true}, "/file/none": {false, true},
		"/wide/a": {true, false}, "/wide/none": {false, false}, "/open": {true, false}, "own/a": {false, false}, "": {false, false},
	} {
		if exists, alone := tree.ChangedBy(name, os.Geteuid()); exists != want[0] && alone || alone != want[1] {
			t.Errorf("%s: %v, %v", name, exists, alone)
		}
	}
	if _, alone := tree.ChangedBy("/own/a", os.Geteuid()+1); alone {
		t.Error("another owner's file is called one's own")
	}
}
