// SPDX-License-Identifier: Apache-2.0

package lsof

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The form is documented in lsof(8), "OUTPUT FOR OTHER PROGRAMS".
const opened = "p4242\nfcwd\ntDIR\ns640\nk20\nn/Users/ana\nftxt\ntREG\ns5000\nk1\nn/Applications/My App.app/Contents/MacOS/My App\n" +
	"f0\ntCHR\nk1\nn/dev/null\nf3\ntREG\ns104857600\nk0\nn/private/tmp/a\\x20b\nf4\ntIPv4\nn127.0.0.1:80->127.0.0.1:4000\nf5\ntKQUEUE\nncount=0, state=0xa\n"

func TestFilesOfAProcess(t *testing.T) {
	got, err := parseFiles([]byte(opened), 4242)
	want := []File{
		{FD: "cwd", Type: "DIR", Size: 640, Links: 20, Name: "/Users/ana"},
		{FD: "txt", Type: "REG", Size: 5000, Links: 1, Name: "/Applications/My App.app/Contents/MacOS/My App"},
		{FD: "0", Type: "CHR", Links: 1, Name: "/dev/null"},
		{FD: "3", Type: "REG", Size: 100 << 20, Links: 0, Name: "/private/tmp/a b"},
		{FD: "4", Type: "IPv4", Links: -1, Name: "127.0.0.1:80->127.0.0.1:4000"},
		{FD: "5", Type: "KQUEUE", Links: -1, Name: "count=0, state=0xa"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if n, ok := got[3].Number(); n != 3 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := got[0].Number(); ok {
		t.Error("cwd has a number")
	}
	for _, bad := range []string{"p1\nfcwd\n", "tREG\n", "p4242\nf1\nsx\n", "p4242\nf1\nwhat\n"} {
		if got, err := parseFiles([]byte(bad), 4242); !errors.Is(err, errFields) && err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func FuzzParseFiles(f *testing.F) {
	f.Add([]byte(opened))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseFiles(raw, 4242)
		if err == nil && len(list) > len(raw) {
			t.Errorf("%d files of %d bytes", len(list), len(raw))
		}
	})
}
