// SPDX-License-Identifier: Apache-2.0

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

const leftover = ".state.json6129484611666145821"

func check(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil || string(raw) != content {
		t.Errorf("%q, %v; want %q", raw, err, content)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
		t.Errorf("%v, %v; want mode %v", info.Mode(), err, mode)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestModeIsExactWhateverTheUmask(t *testing.T) {
	if !testenv.Inside(t, "env") { // the umask is that of the whole process
		return
	}
	syscall.Umask(0o077)
	path := filepath.Join(t.TempDir(), "state.json")
	for _, mode := range []fs.FileMode{0o644, 0o600} {
		if err := Write(path, []byte(mode.String()), mode); err != nil {
			t.Fatal(err)
		}
		check(t, path, mode.String(), mode)
	}
	if err := Create(path+"2", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	check(t, path+"2", "", 0o644)
}

func TestLinkIsReplacedAndItsTargetIsNot(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "state.json"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(target, []byte("other"), 0o640), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("new"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created in place of a link: %v", err)
	}
	if err := Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, path, "new", 0o600)
	check(t, target, "other", 0o640)
}

func TestOldContentOutlivesAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	refusal := errors.New("refused")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := WriteFunc(path, []byte("new"), func(f *os.File) error {
		check(t, f.Name(), "new", 0o600)
		check(t, path, "old", 0o600)
		return refusal
	})
	if !errors.Is(err, refusal) {
		t.Errorf("%v", err)
	}
	check(t, path, "old", 0o600)
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// makeOld makes a file look as if a writer had left it behind long ago.
func makeOld(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func TestLeftoversOfTheSameFileAreRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	kept := []string{".state.json20260102150405", ".state.json612948461166614582x", ".state.json-129484611666145821", ".state.json.bak6129484611666145821", "state.json6129484611666145821"}
	for _, name := range append(kept, leftover) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		makeOld(t, filepath.Join(dir, name))
	}
	fresh := leftover[:len(leftover)-1] + "9" // another writer has just made it
	if err := os.WriteFile(filepath.Join(dir, fresh), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := append(kept, "state.json", fresh)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestLeftoverThatStaysIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.MkdirAll(filepath.Join(filepath.Dir(path), leftover, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	makeOld(t, filepath.Join(filepath.Dir(path), leftover))
	if err := Write(path, nil, 0o600); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("%v", err)
	}
}

// renameio names its temporary files as this package expects when it removes them.
func TestRenameioNamesItsFilesAsExpected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for range 20 {
		f, err := pending(path, nil, func(*os.File) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(f.Name()); len(name) >= len(".state.json")+minDigits && !isLeftover(name, "state.json") || !strings.HasPrefix(name, ".state.json") {
			t.Errorf("%s is not known as a leftover", name)
		}
		if err := f.Cleanup(); err != nil {
			t.Error(err)
		}
	}
}

func TestOneOfManyCreates(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "id")
	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = Create(path, []byte{byte('a' + i)}, 0o644) })
	}
	all.Wait()
	raw, err := os.ReadFile(path)
	if err != nil || len(raw) != 1 {
		t.Fatalf("%q, %v", raw, err)
	}
	for i, err := range errs {
		if won := byte('a'+i) == raw[0]; won != (err == nil) || !won && !errors.Is(err, fs.ErrExist) {
			t.Errorf("run %d: %v, and the file holds %q", i, err, raw)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

// Even without a lock of their callers, writers do not remove each other's
// temporary files.
func TestWritersDoNotDisturbEachOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	err := WriteFunc(path, []byte("slow"), func(f *os.File) error {
		makeOld(t, f.Name())
		err := Write(path, []byte("fast"), 0o600)
		check(t, path, "fast", 0o600)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	check(t, path, "slow", 0o600)
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}

func TestMissingDirIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "state.json")
	for _, err := range []error{Write(path, nil, 0o600), Create(path, nil, 0o600), SyncDir(filepath.Dir(path))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
}

// No writer takes the file of another for a leftover.
func TestManyWritersAtOnceAllSucceed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 50 {
				if err := Write(path, []byte("whole"), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	check(t, path, "whole", 0o600)
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("left behind: %v", got)
	}
}
