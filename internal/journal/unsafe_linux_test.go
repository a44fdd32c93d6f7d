// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// refused fails the test unless a write is refused with JOURNAL_FAILED, the
// given words and a fix.
func refused(t *testing.T, j *Journal, words string) {
	t.Helper()
	_, err := j.Begin(t.Context(), block("x"), nil)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.JournalFailed || known.Fix == "" || !strings.Contains(known.Message, words) {
		t.Errorf("%v, want JOURNAL_FAILED with %q", err, words)
	}
}

func TestWhatOthersCouldHaveWrittenIsRefused(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give files away")
	replace := func(path string, make func(path string) error) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return make(path)
	}
	fifo := func(path string) error { return unix.Mkfifo(path, 0o600) }
	directory := func(path string) error { return os.Mkdir(path, 0o700) }
	link := func(path string) error {
		if err := os.Rename(path, path+".real"); err != nil {
			return err
		}
		return os.Symlink(path+".real", path)
	}
	for name, test := range map[string]struct {
		spoil func(j *Journal) error
		words string
	}{
		"directory is a link":           {func(j *Journal) error { return link(j.dir) }, "symbolic link"},
		"directory of a stranger":       {func(j *Journal) error { return os.Chown(j.dir, testenv.Nobody, 0) }, "belongs to user 65534"},
		"directory others can write":    {func(j *Journal) error { return os.Chmod(j.dir, 0o777) }, "can be written by others"},
		"directory with a sticky bit":   {func(j *Journal) error { return os.Chmod(j.dir, 0o777|os.ModeSticky) }, "can be written by others"},
		"directory above is a stranger": {func(j *Journal) error { return os.Chown(filepath.Dir(j.dir), testenv.Nobody, 0) }, "belongs to user 65534"},
		"directory is a file": {func(j *Journal) error {
			return replace(j.dir, func(p string) error { return os.WriteFile(p, nil, 0o600) })
		}, "not a directory"},
		"file is a link":                  {func(j *Journal) error { return link(j.current()) }, "symbolic link"},
		"file is a pipe":                  {func(j *Journal) error { return replace(j.current(), fifo) }, "not a regular file"},
		"file is a directory":             {func(j *Journal) error { return replace(j.current(), directory) }, "is a directory"},
		"file of a stranger":              {func(j *Journal) error { return os.Chown(j.current(), testenv.Nobody, 0) }, "belongs to user 65534"},
		"file others can write":           {func(j *Journal) error { return os.Chmod(j.current(), 0o622) }, "can be written by others"},
		"head is a link":                  {func(j *Journal) error { return link(j.headPath()) }, "symbolic link"},
		"head is a pipe":                  {func(j *Journal) error { return replace(j.headPath(), fifo) }, "not a regular file"},
		"head others can write":           {func(j *Journal) error { return os.Chmod(j.headPath(), 0o666) }, "can be written by others"},
		"directory of the head is a link": {func(j *Journal) error { return link(j.headDir) }, "symbolic link"},
		"lock is a link":                  {func(j *Journal) error { return link(filepath.Join(j.dir, lockName)) }, "not a regular file"},
		"lock is a pipe":                  {func(j *Journal) error { return replace(filepath.Join(j.dir, lockName), fifo) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			j := fresh(t)
			act(t, j, 1)
			if err := test.spoil(j); err != nil {
				t.Fatal(err)
			}
			refused(t, j, test.words)
			if strings.HasPrefix(name, "directory with") || !strings.HasPrefix(name, "directory") {
				return
			}
			var known *fault.Error
			if _, err := j.Verify(t.Context(), nil); !errors.As(err, &known) || known.Code != fault.JournalFailed {
				t.Errorf("verify: %v", err)
			}
			if _, err := j.History(t.Context(), 1, nil); !errors.As(err, &known) || known.Code != fault.JournalFailed {
				t.Errorf("history: %v", err)
			}
		})
	}
}

func TestADirFullOfFilesIsRefused(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	for i := range maxNames {
		write0600(t, filepath.Join(j.dir, fmt.Sprint(i)), nil)
	}
	refused(t, j, "too many files")
}

// small mounts a file system of its own of the given size below a journal's
// directory; the test runs in a mount namespace.
func small(t *testing.T, size string) *Journal {
	t.Helper()
	testenv.RequireIsolated(t)
	root := t.TempDir()
	mount(t, root, "size="+size+",mode=700", 0)
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	return at(filepath.Join(root, "log"), filepath.Join(root, "lib"))
}

func mount(t *testing.T, path, options string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		t.Fatal(err)
	}
}

// fill leaves no room on the file system of path, and returns the file that
// takes it.
func fill(t *testing.T, path string) string {
	t.Helper()
	ballast := filepath.Join(filepath.Dir(path), "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 16, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(bytes.Repeat([]byte{'x'}, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return ballast
}

func TestAFullDiskStopsTheWriteBeforeItBegins(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	j := small(t, "1m")
	open := []*Entry{begin(t, j, "before"), begin(t, j, "before, too")}
	ballast := fill(t, j.dir)
	for range 20 { // room that was kept is in whole pages
		if e, err := j.Begin(t.Context(), block("with the rest of a page"), nil); err == nil {
			open = append(open, e)
		}
	}
	before := files(t, j)
	refused(t, j, "no space left on device")
	if _, err := j.Begin(t.Context(), block("x"), nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the cause is lost: %v", err)
	}
	if after := files(t, j); string(after[j.current()]) != string(before[j.current()]) || len(after) != len(before) {
		t.Error("something was written")
	}
	for i, e := range open { // their room was kept
		finish(t, e)
		if r := sound(t, j); r.LastSeq != uint64(len(open)+i+1) {
			t.Errorf("%+v", r)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	act(t, j, 1)
	if r := sound(t, j); r.LastSeq != uint64(2*len(open)+2) {
		t.Errorf("%+v", r)
	}
}

// A disk that has no room from the start, or too little, holds no half of a
// journal.
func TestADiskThatIsTooSmallHoldsNoHalfRecord(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for _, size := range []string{"4k", "8k", "16k", "32k", "64k", "80k", "100k", "140k"} {
		j := small(t, size)
		acted := 0
		for range 300 {
			e, err := j.Begin(t.Context(), block(strings.Repeat("reason ", 60)), nil)
			if err != nil {
				if !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("%s: %v", size, err)
				}
				break
			}
			acted++
			finish(t, e)
		}
		if r := sound(t, j); r.Records != 2*acted || acted == 300 {
			t.Errorf("%s: %d actions, %+v", size, acted, r)
		}
	}
}

// Where space cannot be reserved the disk may fill up during a write: the partial line is removed
// again.
func TestAPartOfALineIsTakenBack(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	j := small(t, "64k")
	act(t, j, 0)
	if err := directory(j.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	line := bytes.Repeat([]byte{'x'}, 128<<10)
	if err := j.writeLine(s, line); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if raw := read(t, j.current()); len(raw) > 0 {
		t.Errorf("%d bytes were left", len(raw))
	}
}

func TestAReadOnlyDiskIsRefused(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	j := small(t, "1m")
	act(t, j, 1)
	root := filepath.Dir(j.dir)
	mountReadOnly := func(path string) {
		if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	mountReadOnly(root)
	refused(t, j, "read-only file system")
	sound(t, j) // reading still works
	if history, err := j.History(t.Context(), 5, nil); err != nil || history.Total != 1 {
		t.Errorf("%+v, %v", history, err)
	}
	empty := at(filepath.Join(root, "none"), j.headDir)
	refused(t, empty, "read-only file system")
}

// Only the disk of the head is full or read-only: the intent is taken back.
func TestAHeadThatHasNoRoomIsWrittenInPlace(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	heads := small(t, "64k")
	j := at(small(t, "1m").dir, heads.headDir)
	if err := os.MkdirAll(j.headDir, 0o755); err != nil {
		t.Fatal(err)
	}
	ballast := fill(t, j.headDir)
	refused(t, j, "no space left on device")
	sound(t, j)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	act(t, j, 1)
	fill(t, j.headDir)
	act(t, j, 20) // the number grows by a digit
	if r := sound(t, j); r.LastSeq != 42 {
		t.Errorf("%+v", r)
	}
	write0600(t, j.headPath(), bytes.Repeat([]byte{'x'}, 900))
	act(t, j, 1)
	if h, err := j.readHead(); err != nil || h.Seq != 44 {
		t.Errorf("%+v, %v", h, err)
	}
	tidy(t, j)
}

func TestWhoIsNotRootIsToldSo(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to become another user")
	if !testenv.Isolated(t) {
		return
	}
	mount(t, "/mnt", "mode=755", 0)
	j := at("/mnt/log", "/mnt/lib")
	act(t, j, 1)
	testenv.Become(t, testenv.Nobody)
	_, err := j.History(t.Context(), 1, nil)
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.JournalFailed || !strings.Contains(known.Fix, "root") {
		t.Errorf("%v", err)
	}
	refused(t, j, "permission denied")
}
