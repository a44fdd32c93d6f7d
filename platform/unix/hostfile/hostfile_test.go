// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadIsExactUpToItsLimit(t *testing.T) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 70_000} {
		want := strings.Repeat("x", size)
		path := write(t, want)
		got, err := Read(path, size)
		if err != nil || string(got) != want {
			t.Errorf("size %d at its limit: %d bytes, %v", size, len(got), err)
		}
		if size == 0 {
			continue
		}
		if _, err := Read(path, size-1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("size %d over its limit: %v, want ErrTooLarge", size, err)
		}
		if head, err := Head(path, size-1); err != nil || len(head) != size-1 {
			t.Errorf("head of %d: %d bytes, %v", size-1, len(head), err)
		}
	}
}

// A FIFO without a writer would block an ordinary open for ever.
func TestWhatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", dir} {
		if _, err := Read(path, 16); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v, want ErrNotRegular", path, err)
		}
	}
	if _, err := Names(fifo, 4); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("names of a FIFO: %v, want ENOTDIR", err)
	}
}

func TestTextStripsWhatSurroundsAnAttribute(t *testing.T) {
	for content, want := range map[string]string{
		"LENOVO\n": "LENOVO", "  a b \r\n": "a b", "Raspberry Pi\x00": "Raspberry Pi",
	} {
		if got, err := Text(write(t, content)); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", content, got, err, want)
		}
	}
	for _, content := range []string{"", "\n", " \x00\n"} {
		if _, err := Text(write(t, content)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v, want ErrEmpty", content, err)
		}
	}
	if _, err := Text("/nonexistent/attribute"); !errors.Is(err, fs.ErrNotExist) || !Missing(err) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Text("bad\x00name"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("NUL in a name: %v", err)
	}
}

func TestNamesAreSortedAndBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 12 {
		if err := os.Mkdir(filepath.Join(dir, "e"+strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Names(dir, 12)
	want := []string{"e0", "e1", "e10", "e11", "e2", "e3", "e4", "e5", "e6", "e7", "e8", "e9"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := Names(dir, 11); !errors.Is(err, ErrTooLarge) || len(got) != 11 {
		t.Errorf("over the limit: %d names, %v", len(got), err)
	}
	if _, err := Names(filepath.Join(dir, "none"), 4); !Missing(err) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestReasonDropsThePath(t *testing.T) {
	if got := Reason(&os.PathError{Op: "read", Path: "/sys/x", Err: syscall.EIO}); !errors.Is(got, syscall.EIO) || strings.Contains(got.Error(), "/sys") {
		t.Errorf("got %v", got)
	}
	if plain := errors.New("plain"); !errors.Is(Reason(plain), plain) {
		t.Error("a plain error was changed")
	}
}

func TestTailIsTheEndOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{3: "789", 10: "0123456789", 99: "0123456789"} {
		b, before, err := Tail(path, limit)
		if string(b) != want || before != int64(10-len(want)) || err != nil {
			t.Errorf("%d: %q after %d bytes, %v", limit, b, before, err)
		}
	}
	for _, other := range []string{t.TempDir(), "/dev/zero", path + "x"} {
		if b, _, err := Tail(other, 3); err == nil {
			t.Errorf("%s: %q", other, b)
		}
	}
}

func TestOpenTakesRegularFilesAlone(t *testing.T) {
	directory := home(t)
	for name, want := range map[string]error{"four": nil, "pipe": ErrNotRegular, "many": ErrNotRegular, "none": os.ErrNotExist} {
		file, err := Open(filepath.Join(directory, name))
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
}
