// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func tree(t *testing.T, files map[string]string) FS {
	t.Helper()
	return New(testenv.Plant(t, files))
}

func TestOSReleaseIsReadAsTheShellWouldRead(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     OS
	}{
		{
			"quoted and bare",
			"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nID=debian\n",
			OS{ID: "debian", Name: "Debian GNU/Linux", PrettyName: "Debian GNU/Linux 12 (bookworm)", Version: "12 (bookworm)", VersionID: "12"},
		},
		{"no last newline, carriage return, blanks", "\n  NAME=A\r\nID=b", OS{Name: "A", ID: "b"}},
		{"single quotes keep a backslash", `NAME='a\$b'`, OS{Name: `a\$b`}},
		{"escapes in double quotes", `NAME="a\"b\\c\$d\` + "`" + `e\n"`, OS{Name: "a\"b\\c$d`e\\n"}},
		{"escape without quotes", `NAME=a\'b`, OS{Name: "a'b"}},
		{"half a quote stays", `NAME="a`, OS{Name: `"a`}},
		{"value with an equals sign", "BUILD_ID=a=b", OS{BuildID: "a=b"}},
		{"the last one wins", "ID=a\nID=c\n", OS{ID: "c"}},
		{"comments are not assignments", "#NAME=x\nIMAGE_VERSION=7\n", OS{ImageVersion: "7"}},
		{"nothing is expanded", `NAME="$HOME$(id)"`, OS{Name: "$HOME$(id)"}},
	} {
		got, err := parseOSRelease([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	for _, in := range []string{"", "\n\n", "garbage\n", "#ID=x\n"} {
		if _, err := parseOSRelease([]byte(in)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", in, err)
		}
	}
}

func TestUsrLibIsUsedOnlyWhereEtcHasNone(t *testing.T) {
	both := tree(t, map[string]string{"etc/os-release": "ID=etc\n", "usr/lib/os-release": "ID=usr\n"})
	if o, err := both.OS(); err != nil || o.ID != "etc" {
		t.Errorf("both: %q, %v", o.ID, err)
	}
	usr := tree(t, map[string]string{"usr/lib/os-release": "ID=usr\n"})
	if o, err := usr.OS(); err != nil || o.ID != "usr" {
		t.Errorf("usr only: %q, %v", o.ID, err)
	}
	if _, err := tree(t, nil).OS(); !hostfile.Missing(err) {
		t.Errorf("none: %v", err)
	}
	huge := tree(t, map[string]string{"etc/os-release": strings.Repeat("A=b\n", maxFile)})
	if _, err := huge.OS(); !errors.Is(err, hostfile.ErrTooLarge) {
		t.Errorf("huge: %v", err)
	}
}

func TestBuildTakesTheMostExactSource(t *testing.T) {
	k := Kernel{Version: "#1 SMP"}
	for _, c := range []struct {
		name, file, want string
		os               OS
	}{
		{"BUILD_ID first", "12.8", "b1", OS{ID: "debian", BuildID: "b1", ImageVersion: "i1"}},
		{"IMAGE_VERSION second", "12.8", "i1", OS{ID: "debian", ImageVersion: "i1"}},
		{"point release on Debian", "12.8\n", "12.8", OS{ID: "debian"}},
		{"and on Raspbian", "11.9\n", "11.9", OS{ID: "raspbian"}},
		{"not on Ubuntu, where it names a Debian", "trixie/sid\n", "#1 SMP", OS{ID: "ubuntu"}},
		{"kernel when the file is empty", "", "#1 SMP", OS{ID: "debian"}},
	} {
		fs := tree(t, map[string]string{"etc/debian_version": c.file})
		if got := fs.Build(c.os, k); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestKernelReadsWhatThereIs(t *testing.T) {
	fs := tree(t, map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-30-amd64\n",
		"proc/sys/kernel/hostname":  "example\n",
		"proc/sys/kernel/arch":      "riscv64\n",
	})
	got, err := fs.Kernel()
	want := Kernel{Hostname: "example", Release: "6.1.0-30-amd64", Architecture: "riscv64"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !hostfile.Missing(err) {
		t.Errorf("the missing version is not reported: %v", err)
	}
}

func TestMachineIDRefusesWhatIdentifiesNothing(t *testing.T) {
	const id = "00112233445566778899aabbccddeeff"
	want := MachineID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	for _, file := range []string{"etc/machine-id", "var/lib/dbus/machine-id"} {
		if got, err := tree(t, map[string]string{file: id + "\n"}).MachineID(); err != nil || got != want {
			t.Errorf("%s: %x, %v", file, got, err)
		}
	}
	for content, want := range map[string]error{
		"":                       ErrNoMachineID,
		"\n":                     ErrNoMachineID,
		"uninitialized\n":        ErrNoMachineID,
		strings.Repeat("0", 32):  ErrNoMachineID,
		id[:31]:                  ErrFormat,
		id + "00":                ErrFormat,
		"zz" + id[2:]:            ErrFormat,
		"00112233-4455-6677-889": ErrFormat,
	} {
		if _, err := tree(t, map[string]string{"etc/machine-id": content}).MachineID(); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", content, err, want)
		}
	}
	if _, err := tree(t, nil).MachineID(); !errors.Is(err, ErrNoMachineID) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzOSRelease(f *testing.F) {
	f.Add([]byte("NAME=\"a\\\"b\"\nID='x'\n# c\nVERSION_ID=\\"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parseOSRelease(b)
		if err == nil && !bytes.Contains(b, []byte("=")) {
			t.Errorf("accepted %q without an assignment", b)
		}
		if len(o.Name) > len(b) {
			t.Errorf("name longer than the file: %q", o.Name)
		}
	})
}

func FuzzMachineID(f *testing.F) {
	f.Add("00112233445566778899aabbccddeeff")
	f.Add("uninitialized")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := parseMachineID(s)
		if err == nil && (id == MachineID{} || len(s) != 32) {
			t.Errorf("accepted %q as %x", s, id)
		}
	})
}
