// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record builds one record of getdents64(2), padded to 8 bytes as the kernel
// does.
func record(name string) []byte {
	length := (19 + len(name) + 1 + 7) &^ 7
	b := make([]byte, length)
	binary.NativeEndian.PutUint16(b[16:], uint16(length))
	copy(b[19:], name)
	return b
}

func records(names ...string) (b []byte) {
	for _, n := range names {
		b = append(b, record(n)...)
	}
	return b
}

func TestDirectoryRecordsGiveNumbersOnly(t *testing.T) {
	b := records(".", "..", "1", "self", "42", "007", "4294967295", "2147483648", "2147483647", "12a", "", "-5", "net")
	if got, want := appendNumbers(nil, b), []int{1, 42, 7, 2147483647}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDamagedDirectoryRecordsEndTheWalk(t *testing.T) {
	good := records("1", "2")
	for name, length := range map[string]uint16{"zero": 0, "less than a header": 18, "a header alone": 19, "beyond the buffer": 60000} {
		b := append(records("1"), records("2")...)
		binary.NativeEndian.PutUint16(b[len(records("1"))+16:], length)
		if got := appendNumbers(nil, b); !cmp.Equal(got, []int{1}) {
			t.Errorf("length %s: got %v", name, got)
		}
	}
	for cut := range len(good) {
		want := []int(nil)
		if cut >= len(records("1")) {
			want = []int{1}
		}
		if got := appendNumbers(nil, good[:cut]); !cmp.Equal(got, want) {
			t.Errorf("the first %d bytes: got %v", cut, got)
		}
	}
}

func TestDirectoryOfThousandsIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	for i := range 3000 {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(i+1)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	got, err := d.numbers(nil)
	seen := map[int]bool{}
	for _, n := range got {
		seen[n] = true
	}
	if err != nil || len(got) != 3000 || len(seen) != 3000 {
		t.Errorf("%d entries, %d different, %v", len(got), len(seen), err)
	}
	if _, err := openDir(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing directory: %v", err)
	}
}

func TestSocketLinksGiveTheirInode(t *testing.T) {
	for text, want := range map[string]uint64{"socket:[1]": 1, "socket:[18446744073709551615]": 1<<64 - 1} {
		if got, ok := socketInode([]byte(text)); !ok || got != want {
			t.Errorf("%q: got %d, %v", text, got, ok)
		}
	}
	for _, bad := range []string{"", "socket:", "socket:[", "socket:[]", "socket:[1", "socket:[-1]", "socket:[1]x", "pipe:[1]", "/tmp/socket:[1]", "anon_inode:[eventfd]"} {
		if got, ok := socketInode([]byte(bad)); ok {
			t.Errorf("%q: got %d", bad, got)
		}
	}
}

func FuzzDirectoryRecords(f *testing.F) {
	f.Add(records(".", "1", "4242"))
	f.Add(records("99999999999")[:25])
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, n := range appendNumbers(nil, b) {
			if n < 0 || n > 1<<31-1 {
				t.Errorf("number %d", n)
			}
		}
		socketInode(b)
	})
}
