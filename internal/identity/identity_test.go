// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

const sample = "0f8fad5b-d9cb-469f-a165-70867728950e"

// dirWith creates a directory whose ID file holds content.
func dirWith(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestIDIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "var", "lib", "sentinel")
	first, err := UUID(dir, true)
	if err != nil || !valid(first) {
		t.Fatalf("%q, %v", first, err)
	}
	for _, make := range []bool{true, false} {
		if again, err := UUID(dir, make); again != first || err != nil {
			t.Errorf("%q became %q, %v", first, again, err)
		}
	}
	if other, err := UUID(t.TempDir(), true); other == first || err != nil {
		t.Errorf("two installations are %q, %v", other, err)
	}
}

func TestRunsThatStartTogetherAgree(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "state")
		ids := make([]string, 16)
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range ids {
			all.Go(func() {
				<-start
				id, err := UUID(dir, true)
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		close(start)
		all.Wait()
		for _, id := range ids {
			if id != ids[0] || !valid(id) {
				t.Fatalf("ids %q", ids)
			}
		}
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != 1 {
			t.Errorf("left behind: %v, %v", names, err)
		}
	}
}

func TestReadingMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if id, err := UUID(dir, false); id != "" || !errors.Is(err, errNoID) {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestDamagedIDIsAnErrorAndStays(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut off": sample[:20], "without its last digit": sample[:35], "something behind": sample + "\nx", "two lines": sample + "\n\n",
		"capitals": strings.ToUpper(sample), "another version": strings.Replace(sample, "-4", "-1", 1), "another variant": strings.Replace(sample, "-a", "-c", 1),
		"megabytes": strings.Repeat("a", 1<<20), "escapes": "\x1b[31m" + sample, "NULs": strings.Repeat("\x00", 36), "CRLF": sample + "\r\n",
	} {
		dir := dirWith(t, content)
		for _, make := range []bool{false, true} {
			if id, err := UUID(dir, make); id != "" || err == nil || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("%s: %q, %v", name, id, err)
			}
		}
		if left, err := os.ReadFile(filepath.Join(dir, file)); string(left) != content || err != nil {
			t.Errorf("%s: the file was changed to %.40q, %v", name, left, err)
		}
	}
}

func TestIDWithoutALineEndIsRead(t *testing.T) {
	for _, content := range []string{sample, sample + "\n"} {
		if id, err := UUID(dirWith(t, content), false); id != sample || err != nil {
			t.Errorf("%q: %q, %v", content, id, err)
		}
	}
}

// A run that was killed leaves a temporary file behind, which is never read as the
// ID.
func TestLeftoversOfACrashAreNoID(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "."+file+"6129484611666145821"), []byte(sample[:10]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := UUID(dir, false); !errors.Is(err, errNoID) {
		t.Errorf("a leftover was read: %v", err)
	}
	id, err := UUID(dir, true)
	if err != nil || !valid(id) || id == sample {
		t.Errorf("%q, %v", id, err)
	}
}

func TestIDIsReadableForEveryoneWhateverTheUmask(t *testing.T) {
	if !testenv.Inside(t, "env") { // the umask is that of the whole process
		return
	}
	syscall.Umask(0o077)
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := UUID(dir, true); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o755, filepath.Join(dir, file): 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestDirOfTheAdministratorKeepsItsMode(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := UUID(dir, true); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestDirThatCannotBeMadeIsAnError(t *testing.T) {
	dir := dirWith(t, sample)
	for _, below := range []string{filepath.Join(dir, file), filepath.Join(dir, file, "deeper")} {
		if id, err := UUID(below, true); id != "" || err == nil {
			t.Errorf("%s: %q", below, id)
		}
	}
}

func FuzzIdentityFile(f *testing.F) {
	f.Add([]byte(sample + "\n"))
	f.Add([]byte(sample[:35]))
	f.Fuzz(func(t *testing.T, content []byte) {
		id, err := UUID(dirWith(t, string(content)), true)
		if (err == nil) != valid(id) || err == nil && !strings.HasPrefix(string(content), id) {
			t.Errorf("%q is %q, %v", content, id, err)
		}
	})
}
