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
		if err := Write(path, want, 1); err != nil {
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
	if err := Write(filepath.Join(dir, "count.json"), count{Version: 1}, 1); err == nil {
		t.Error("written")
	}
}

type texts struct{ Texts []string }

func (texts) Check() error { return nil }

// What could not be read is not written, and what was there stays.
func TestNothingIsWrittenThatCouldNotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "texts.json")
	fits := texts{[]string{strings.Repeat("<", 168) + "a"}} // of six bytes each
	if err := Write(path, fits, 1); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 1<<10 {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	if err := Write(path, texts{[]string{fits.Texts[0] + "a"}}, 1); err == nil || err.Error() != "it would be larger than 1 KiB" {
		t.Error(err)
	}
	if got, err := Read[texts](path, 1); err != nil || got.Texts[0] != fits.Texts[0] {
		t.Errorf("%v, %v", got, err)
	}
}

func TestATextHasTheLengthThatItTakes(t *testing.T) {
	for text, want := range map[string]int{"": 2, "/a": 4, "<": 8, `\`: 4, "\x01": 8, "é": 4} {
		if got := Length(text); got != want {
			t.Errorf("%q: %d, not %d", text, got, want)
		}
	}
}

// Who has the most loses first.
func TestSharesAreFair(t *testing.T) {
	for _, c := range []struct {
		counts []int
		all    int
		want   int
	}{{nil, 10, 0}, {[]int{3, 4}, 10, 4}, {[]int{100, 3, 4}, 17, 10}, {[]int{100, 100, 4}, 24, 10}, {[]int{5, 5}, 0, 0}, {[]int{5}, -1, 0}} {
		if got := Share(c.counts, c.all); got != c.want {
			t.Errorf("%v of %d: %d, not %d", c.counts, c.all, got, c.want)
		}
	}
}
