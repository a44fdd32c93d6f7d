// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	tcpLine  = "   2: 170200C0:A872 507100CB:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 40112 1 0000000000000000 100 0 0 10 0"
	tcp6Line = "   0: B80D01200000000000000000010000EF:C93A 00000000000000000000000001000000:01BB 0A 00000000:00000000 00:00000000 00000000  1000        0 7 1 0000000000000000 100 0 0 10 0"
	waitLine = "   5: 170200C0:A85B 507100CB:01BB 06 00000000:00000000 03:00000C11 00000000     0        0 0 3 0000000000000000"
	udpLine  = "  811: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   109        0 20800 2 0000000000000000 0"
	mapped   = "   1: 0000000000000000FFFF00000100007F:170C 0000000000000000FFFF00000100007F:9CA4 01 00000000:00000000 00:00000000 00000000 0 0 9 1 0000000000000000"
)

func littleEndian(t *testing.T) {
	t.Helper()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the lines are those of a little-endian machine")
	}
}

func TestSocketLinesReadAddressesStateAndInode(t *testing.T) {
	littleEndian(t)
	at := netip.MustParseAddrPort
	for line, want := range map[string]Socket{
		tcpLine:  {at("192.0.2.23:43122"), at("203.0.113.80:443"), 1, 40112, 1000},
		tcp6Line: {at("[2001:db8::ef00:1]:51514"), at("[::1]:443"), 10, 7, 1000},
		waitLine: {at("192.0.2.23:43099"), at("203.0.113.80:443"), 6, 0, 0},
		udpLine:  {at("0.0.0.0:5353"), at("0.0.0.0:0"), 7, 20800, 109},
		mapped:   {at("[::ffff:127.0.0.1]:5900"), at("[::ffff:127.0.0.1]:40100"), 1, 9, 0},
	} {
		got, err := parseSocket([]byte(line))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", line, got, err, want)
		}
		wholeOrNothing(t, line, parseSocket)
	}
}

func TestSocketLinesRefuseWhatIsNotOne(t *testing.T) {
	for name, line := range map[string]string{
		"empty":             "",
		"title":             "sl local_address rem_address",
		"no port":           strings.Replace(tcpLine, "170200C0:A872", "170200C0", 1),
		"short address":     strings.Replace(tcpLine, "170200C0", "170200", 1),
		"long address":      strings.Replace(tcpLine, "170200C0", "170200C0170200C0", 1),
		"address of words":  strings.Replace(tcpLine, "507100CB", "localhos", 1),
		"short port":        strings.Replace(tcpLine, ":01BB", ":1BB", 1),
		"port of words":     strings.Replace(tcpLine, ":01BB", ":http", 1),
		"state of words":    strings.Replace(tcpLine, " 01 ", " ES ", 1),
		"state of one":      strings.Replace(tcpLine, " 01 ", " 1 ", 1),
		"user of words":     strings.Replace(tcpLine, " 1000 ", " root ", 1),
		"inode negative":    strings.Replace(tcpLine, " 40112 ", " -1 ", 1),
		"inode of words":    strings.Replace(tcpLine, " 40112 ", " none ", 1),
		"inode is the last": tcpLine[:strings.Index(tcpLine, "40112")+5],
	} {
		if got, err := parseSocket([]byte(line)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func tables(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "net")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(root)
}

func visited(fs FS, table string) (list []Socket, err error) {
	err = fs.Sockets(table, func(s Socket) { list = append(list, s) })
	return list, err
}

func TestKernelWithoutIPv6HasNoSuchSockets(t *testing.T) {
	fs := tables(t, map[string]string{"tcp": "title\n" + tcpLine + "\n"})
	if got, err := visited(fs, "tcp6"); err != nil || got != nil {
		t.Errorf("tcp6: got %v, %v", got, err)
	}
	if got, err := visited(fs, "tcp"); err != nil || len(got) != 1 {
		t.Errorf("tcp: got %v, %v", got, err)
	}
	if _, err := visited(fs, "udp"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a table that every kernel has and this one lacks: %v", err)
	}
}

func TestDamagedSocketTableIsAnError(t *testing.T) {
	fs := tables(t, map[string]string{
		"tcp": "title\n" + tcpLine + "\n" + tcpLine[:40] + "\n", "udp": "", "udp6": "title\n\n",
		"tcp6": "title\n" + strings.Repeat("x", 1<<17) + "\n",
	})
	if _, err := visited(fs, "tcp"); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a cut line: %v", err)
	}
	if _, err := visited(fs, "udp6"); !errors.Is(err, ErrFormat) {
		t.Errorf("an empty line: %v", err)
	}
	if _, err := visited(fs, "tcp6"); err == nil {
		t.Error("an endless line is no error")
	}
	if got, err := visited(fs, "udp"); err != nil || got != nil {
		t.Errorf("an empty file: got %v, %v", got, err)
	}
}

func TestSocketTableOfALaptop(t *testing.T) {
	littleEndian(t)
	fs := New("../../../testdata/hosts/laptop")
	got := map[string][]string{}
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		list, err := visited(fs, table)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			got[table] = append(got[table], s.Local.String()+" "+s.Remote.String())
		}
	}
	want := map[string][]string{
		"tcp": {
			"0.0.0.0:22 0.0.0.0:0", "127.0.0.1:631 0.0.0.0:0", "192.0.2.23:43122 203.0.113.80:443", "192.0.2.23:43140 198.51.100.10:443",
			"192.0.2.23:50220 198.51.100.33:3306", "192.0.2.23:43099 203.0.113.80:443", "192.0.2.23:43160 203.0.113.81:80",
		},
		"tcp6": {
			"[::]:22 [::]:0", "[::1]:631 [::]:0", "[2001:db8:12::23]:51514 [2001:db8:ffff::80]:443",
			"[::ffff:127.0.0.1]:5900 [::ffff:127.0.0.1]:40100",
		},
		"udp":  {"192.0.2.23:68 192.0.2.1:67", "0.0.0.0:5353 0.0.0.0:0"},
		"udp6": {"[::]:5353 [::]:0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzSocketLine(f *testing.F) {
	for _, line := range []string{tcpLine, tcp6Line, waitLine, udpLine, mapped} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSocket(b)
		if err != nil {
			return
		}
		if !s.Local.IsValid() || !s.Remote.IsValid() {
			t.Errorf("%+v", s)
		}
	})
}
