// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type count struct {
	Version int `json:"version"`
	N       int `json:"n"`
}

func (c count) Check() error {
	if c.Version != 1 {
		return ErrForm
	}
	return nil
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "count.json")
	if _, err := Read[count](path, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, want := range []count{{1, 7}, {1, 8}} {
		if err := Write(path, want); err != nil {
			t.Fatal(err)
		}
		if got, err := Read[count](path, 1); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	const good = `{"version":1,"n":7}`
	for _, c := range []struct {
		content, words string
		mode           os.FileMode
	}{
		{good + "\n", "", 0o600},
		{good, "written by others", 0o666},
		{good + strings.Repeat(" ", 1025), "larger than 1 KiB", 0o600},
		{"", "damaged", 0o600},
		{good[:9], "damaged", 0o600},
		{`{"version":1,"n":7,"m":8}`, "damaged", 0o600},
		{good + good, "form", 0o600},
		{good + "}", "form", 0o600},
		{`{"version":2,"n":7}`, "form", 0o600},
	} {
		path := filepath.Join(t.TempDir(), "count.json")
		if err := errors.Join(os.WriteFile(path, []byte(c.content), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		got, err := Read[count](path, 1)
		if c.words == "" && (err != nil || got.N != 7) || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words) || got != count{}) {
			t.Errorf("%.30q: %+v, %v", c.content, got, err)
		}
	}
}

func TestNothingIsWrittenWhereOthersCould(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "count.json"), count{Version: 1}); err == nil {
		t.Error("written")
	}
}
