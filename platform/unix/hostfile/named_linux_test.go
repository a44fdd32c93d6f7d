// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/posixacl"
	"sentinel/internal/testenv"
)

// Through /proc/PID/root and the like a user could lead root into a file system that never answers.
func TestNoPathLeadsThroughWhatAProcessHolds(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(at("file"), []byte("x"), 0o600), os.Symlink("file", at("link")), os.Symlink("/proc/self/cwd", at("held")), os.Symlink("/proc/self/root"+at("file"), at("behind")),
	); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		read, stat, names error
		exists            bool
	}{
		"file":   {nil, nil, unix.ENOTDIR, true},
		"link":   {nil, nil, unix.ENOTDIR, true},
		".":      {ErrNotRegular, nil, nil, true},
		"none":   {unix.ENOENT, unix.ENOENT, unix.ENOENT, false},
		"held":   {unix.ELOOP, unix.ELOOP, unix.ELOOP, true},
		"held/x": {unix.ELOOP, unix.ELOOP, unix.ELOOP, false},
		"behind": {unix.ELOOP, unix.ELOOP, unix.ELOOP, true},
	} {
		_, readErr := Read(at(name), 10)
		_, statErr := Stat(at(name))
		_, listErr := StatWithList(at(name))
		_, namesErr := Names(at(name), 10)
		_, belowErr := NamesBelow(at(name), ".", 10)
		_, rotatedErr := Rotated(at(name), "log", 10, 10)
		if !errors.Is(readErr, c.read) || !errors.Is(statErr, c.stat) || !errors.Is(listErr, c.stat) || !errors.Is(namesErr, c.names) || !errors.Is(belowErr, c.names) || !errors.Is(rotatedErr, c.names) || Exists(at(name)) != c.exists {
			t.Errorf("%s: %v, %v, %v, %v, %v, %v, there: %v", name, readErr, statErr, listErr, namesErr, belowErr, rotatedErr, !c.exists)
		}
	}
	link, err := Lstat(at("held"))
	if err != nil || link.Mode&os.ModeSymlink == 0 {
		t.Errorf("the link itself: %v, %v", link, err)
	}
}

// first has so many calls fail.
func first(calls int, with unix.Errno) func(int) unix.Errno {
	return func(n int) unix.Errno {
		if n < calls {
			return with
		}
		return 0
	}
}

// File systems that a server answers for may be interrupted on the way to a file.
func TestAnInterruptedOpenIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, look := range map[string]func() error{
		"read":  func() error { _, err := Text(filepath.Join(dir, "file")); return err },
		"stat":  func() error { _, err := Stat(filepath.Join(dir, "file")); return err },
		"lstat": func() error { _, err := Lstat(filepath.Join(dir, "file")); return err },
		"names": func() error { _, err := Names(dir, 10); return err },
	} {
		testenv.Intercept(t, unix.SYS_OPENAT2, first(2, unix.EINTR), func() {
			if err := look(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// A path that is longer than the kernel takes names a file as any other does, and leads through no link of /proc.
func TestAPathOfAnyLengthIsOpened(t *testing.T) {
	t.Cleanup(func() { hasOpenat2 = sync.OnceValue(findOpenat2) })
	dir, name := t.TempDir(), strings.Repeat("d", 250)
	at := testenv.Nested(t, dir, name, 40)
	if err := at.WriteFile("f", []byte("deep"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("/"+name, 40) + "/f"
	for _, openat2 := range []bool{true, false} {
		hasOpenat2 = func() bool { return openat2 && findOpenat2() }
		if text, err := Text(dir + deep); err != nil || text != "deep" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := Stat(dir + deep + "/none"); !errors.Is(err, unix.ENOTDIR) {
			t.Error(err)
		}
	}
	hasOpenat2 = sync.OnceValue(findOpenat2)
	testenv.Need(t, hasOpenat2(), "openat2(2), Linux 5.6")
	held := filepath.Join(t.TempDir(), "held")
	if err := os.Symlink("/proc/self/cwd", held); err != nil {
		t.Fatal(err)
	}
	if fd, err := OpenNamed(held+deep, unix.O_PATH); !errors.Is(err, unix.ELOOP) {
		t.Errorf("%d, %v", fd, err)
	}
}

// EPERM is the answer of a filter to a system call that it does not know, and of a security module for one
// file, which a second walk to it must not get around.
func TestAFileThatIsRefusedIsNotWalkedToAnotherWay(t *testing.T) {
	held := filepath.Join(t.TempDir(), "held")
	if err := os.Symlink("/proc/self/cwd", held); err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, hasOpenat2(), "openat2(2), Linux 5.6")
	testenv.Intercept(t, unix.SYS_OPENAT2, first(1, unix.EPERM), func() {
		if f, err := Stat(held); !errors.Is(err, unix.EPERM) {
			t.Errorf("%v, %v", f, err)
		}
	})
}

func TestSystemsWithoutOpenat2OpenFilesToo(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hasOpenat2 = sync.OnceValue(findOpenat2) })
	for _, without := range []unix.Errno{unix.ENOSYS, unix.EPERM} {
		hasOpenat2 = sync.OnceValue(findOpenat2)
		testenv.Intercept(t, unix.SYS_OPENAT2, first(9, without), func() {
			text, err := Text(name)
			f, statErr := Stat(name)
			names, namesErr := Names(dir, 10)
			if err := errors.Join(err, statErr, namesErr); err != nil || text != "x" || f.Size != 1 || len(names) != 1 {
				t.Errorf("%v: %q, %v, %q, %v", without, text, f, names, err)
			}
		})
	}
}

// withList writes a file whose access control list lets a user read and write.
func withList(t *testing.T, name string, user int) {
	t.Helper()
	raw := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]int{{1, 6, -1}, {2, 6, user}, {4, 0, -1}, {0x10, 6, -1}, {0x20, 0, -1}} {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(e[0]|e[1]<<16))
		raw = binary.LittleEndian.AppendUint32(raw, uint32(e[2]))
	}
	err := errors.Join(os.WriteFile(name, nil, 0o600), posixacl.Write(name, raw))
	testenv.Need(t, !errors.Is(err, unix.ENOTSUP), "a file system with access control lists")
	if err != nil {
		t.Fatal(err)
	}
}

// The name may lead to another file by the time that its list is read, or to a list that never comes.
func TestTheAccessListIsThatOfTheFileThatWasLookedAt(t *testing.T) {
	dir := t.TempDir()
	name, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	withList(t, name, 1001)
	withList(t, other, 1002)
	testenv.Intercept(t, unix.SYS_GETXATTR, func(int) unix.Errno {
		os.Rename(other, name)
		return 0
	}, func() {
		f, err := StatWithList(name)
		if want := (posixacl.List{{ID: 1001, Rights: 6}}); err != nil || !slices.Equal(f.Named, want) {
			t.Errorf("%v, %v, want %v", f.Named, err, want)
		}
	})
	if f, err := StatWithList(name); err != nil || !slices.Equal(f.Named, posixacl.List{{ID: 1002, Rights: 6}}) {
		t.Errorf("the other: %v, %v", f, err)
	}
}

// Where /proc is missing, the file is not.
func TestAListThatCannotBeReadIsNoMissingFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	withList(t, name, 1001)
	testenv.Intercept(t, unix.SYS_GETXATTR, first(1, unix.ENOENT), func() {
		if f, err := StatWithList(name); err == nil || Missing(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, %v", f, err)
		}
	})
}
