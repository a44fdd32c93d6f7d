// SPDX-License-Identifier: Apache-2.0

package utmp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// record makes a record in the layout of a machine.
func record(arch string, kind int, terminal, user, host string, address []byte, at int64) []byte {
	l := layoutOf(arch)
	b := make([]byte, l.size)
	binary.NativeEndian.PutUint16(b, uint16(kind))
	binary.NativeEndian.PutUint32(b[4:], 4711)
	copy(b[8:40], terminal)
	copy(b[44:76], user)
	copy(b[76:332], host)
	if l.wide == 8 {
		binary.NativeEndian.PutUint64(b[l.seconds:], uint64(at))
	} else {
		binary.NativeEndian.PutUint32(b[l.seconds:], uint32(at))
	}
	copy(b[l.address:], address)
	return b
}

func TestRecords(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64", "riscv64"} {
		raw := bytes.Join([][]byte{
			record(arch, UserProcess, "pts/0", "mira", "laptop.example.net", []byte{198, 51, 100, 7}, 1e9),
			record(arch, UserProcess, "pts/1", strings.Repeat("u", 40), "mosh [1]", nil, 1e9),
			record(arch, LoginProcess, "ssh:notty", "root", "2001:db8::7", netip.MustParseAddr("2001:db8::7").AsSlice(), 1e9),
			record(arch, UserProcess, "pts/2", "eve", "192.0.2.9 via mosh [1]", nil, 1e9),
			record(arch, 77, "pts/2", "eve", "", nil, 1e9),
			record(arch, DeadProcess, "pts/2", "", "", nil, 0),
			[]byte("cut off"),
		}, nil)
		list, damaged := Parse(raw, arch, 100)
		if len(list) != 4 || damaged != 3 {
			t.Fatalf("%s: %d damaged, %+v", arch, damaged, list)
		}
		if r := list[0]; r.Type != UserProcess || r.PID != 4711 || r.Terminal != "pts/0" || r.User != "mira" || r.Host != "laptop.example.net" || r.From.String() != "198.51.100.7" || !r.At.Equal(time.Unix(1e9, 0)) {
			t.Errorf("%s: %+v", arch, r)
		}
		if r := list[1]; len(r.User) != 32 || r.From.IsValid() {
			t.Errorf("%s: %+v", arch, r)
		}
		if list[2].From.String() != "2001:db8::7" || list[3].From.String() != "192.0.2.9" {
			t.Errorf("%s: %+v", arch, list[2:])
		}
		if list, _ := Parse(raw, arch, 2); len(list) != 2 {
			t.Errorf("%s: %d records where 2 are allowed", arch, len(list))
		}
	}
}

// What programs of Debian 12 were seen to write at a pseudo-terminal: sshd, login of shadow, and utempter for whoever
// asks, with an address in place of the host.
func TestWhatAnybodyCanHaveWritten(t *testing.T) {
	address := []byte{198, 51, 100, 7}
	for what, c := range map[string]struct {
		kind               int
		terminal, id, user string
		address            []byte
		want               bool
	}{
		"a login of sshd":            {UserProcess, "pts/0", "ts/0", "mira", address, false},
		"the end of one":             {DeadProcess, "pts/0", "", "", nil, false},
		"a login of login":           {UserProcess, "pts/0", "", "mira", nil, false},
		"one of utempter":            {UserProcess, "pts/0", "ts/0", "mira", nil, true},
		"the end of that":            {DeadProcess, "pts/0", "ts/0", "mira", nil, true},
		"a login at a console":       {UserProcess, "tty1", "tty1", "mira", nil, false},
		"the end of one, by systemd": {DeadProcess, "tty1", "tty1", "", nil, false},
	} {
		raw := record(runtime.GOARCH, c.kind, c.terminal, c.user, "198.51.100.7", c.address, 1e9)
		copy(raw[40:44], c.id)
		if list, _ := Parse(raw, runtime.GOARCH, 1); len(list) != 1 || list[0].Anybody != c.want {
			t.Errorf("%s: %+v", what, list)
		}
	}
}

func TestRecordsAreReadFromTheEnd(t *testing.T) {
	const count = 2*pieceRecords + 3
	var raw []byte
	for n := range count {
		raw = append(raw, record("amd64", UserProcess, "pts/0", "u"+strconv.Itoa(n), "", nil, 1e9)...)
	}
	size := int64(layoutOf("amd64").size)
	raw = append(raw, record("amd64", 77, "", "", "", nil, 1e9)...)
	file := filepath.Join(t.TempDir(), "wtmp")
	if err := os.WriteFile(file, append(raw, "cut off"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]int{1 << 40: count, (count + 1) * size: count, (count+1)*size - 1: count - 1, 3*size + 5: 2, 5: 0} {
		var users []string
		read, damaged, more, err := Back(file, "amd64", limit, func(r Record) { users = append(users, r.User) })
		if err != nil || len(users) != want || more != (want < count) || read > limit || read != min(limit/size, count+1)*size || damaged != min(1, int(read))+1 {
			t.Fatalf("%d: %d records of %d bytes, %d damaged, more: %v, %v", limit, len(users), read, damaged, more, err)
		}
		for i, u := range users {
			if u != "u"+strconv.Itoa(count-1-i) {
				t.Fatalf("%d: %s at %d", limit, u, i)
			}
		}
	}
}

// What utmpdump(1) writes is what Parse reads.
func TestRecordsOfRealPrograms(t *testing.T) {
	program := testenv.Program(t, "utmpdump", "util-linux")
	cmd := exec.Command(program, "-r")
	cmd.Stdin = strings.NewReader("[7] [04711] [ts/0] [mira    ] [pts/0       ] [198.51.100.7        ] [198.51.100.7   ] [2026-11-23T12:00:00,000000+00:00]\n")
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	list, damaged := Parse(raw, runtime.GOARCH, 10)
	if len(list) != 1 || damaged != 0 || list[0].User != "mira" || list[0].PID != 4711 || list[0].From.String() != "198.51.100.7" || !list[0].At.Equal(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%d damaged, %+v", damaged, list)
	}
	file := filepath.Join(t.TempDir(), "wtmp")
	if err := os.WriteFile(file, record(runtime.GOARCH, UserProcess, "pts/3", "eve", "203.0.113.9", []byte{203, 0, 113, 9}, 1795435200), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "[eve ") || !strings.Contains(string(out), "[203.0.113.9 ") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTheTailOfAFileBeginsWithARecord(t *testing.T) {
	var raw []byte
	for n := range 9 {
		raw = append(raw, record("amd64", UserProcess, "pts/0", "u"+strconv.Itoa(n), "", nil, 1e9)...)
	}
	file := filepath.Join(t.TempDir(), "wtmp")
	for _, end := range []string{"", "cut off"} {
		if err := os.WriteFile(file, append(slices.Clone(raw), end...), 0o600); err != nil {
			t.Fatal(err)
		}
		list, damaged, more, err := Tail(file, "amd64", 3)
		if err != nil || !more || len(list) < 2 || list[len(list)-1].User != "u8" || damaged > 0 != (end != "") {
			t.Errorf("%q: %d damaged, more: %v, %v, %+v", end, damaged, more, err, list)
		}
		if list, _, more, err := Tail(file, "amd64", 99); err != nil || more || len(list) != 9 {
			t.Errorf("%q: %d records, more: %v, %v", end, len(list), more, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(record("amd64", UserProcess, "pts/0", "mira", "192.0.2.1", nil, 1e9))
	f.Add([]byte(strings.Repeat("\xff", 900)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, arch := range []string{"amd64", "arm64"} {
			list, damaged := Parse(raw, arch, 100)
			if size := layoutOf(arch).size; len(list)+damaged > len(raw)/size+1 {
				t.Errorf("%s: %d records and %d damaged of %d bytes", arch, len(list), damaged, len(raw))
			}
			for _, r := range list {
				if r.Type > lastType || len(r.User) > 32 || r.From.Is4In6() {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
