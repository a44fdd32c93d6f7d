// SPDX-License-Identifier: Apache-2.0

package prefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"howett.net/plist"

	"sentinel/internal/testenv"
	macplist "sentinel/platform/darwin/plist"
)

func plant(t *testing.T, root, file string, values map[string]any, format int) {
	t.Helper()
	raw, err := plist.Marshal(values, format)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestProfileWinsAndAbsentIsNotOff(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	plant(t, root, Local+"/com.example.a.plist", map[string]any{
		"Both": true, "Local": 0, "Word": "YES", "No": "no", "Odd": "perhaps", "Five": 5, "Half": 0.5, "Date": at, "Name": "mira", "Inner": map[string]any{"Enabled": 1},
	}, plist.BinaryFormat)
	plant(t, root, Managed+"/com.example.a.plist", map[string]any{"Both": false}, plist.XMLFormat)
	d, err := Read(root, "com.example.a")
	if err != nil || !d.Set() {
		t.Fatal(err)
	}
	for key, want := range map[string][2]bool{"Both": {false, true}, "Local": {false, true}, "Word": {true, true}, "No": {false, true}, "Odd": {}, "Five": {}, "Half": {}, "Absent": {}, "Name": {}} {
		if on, set := d.Bool(key); on != want[0] || set != want[1] {
			t.Errorf("%s: %v, %v", key, on, set)
		}
	}
	if n, set := d.Int("Five"); n != 5 || !set {
		t.Error(n, set)
	}
	if _, set := d.Int("Half"); set {
		t.Error("a half is no whole number")
	}
	if got, set := d.Time("Date"); !got.Equal(at) || !set {
		t.Error(got, set)
	}
	if got, set := d.Text("Name"); got != "mira" || !set {
		t.Error(got, set)
	}
	inner, set := d.Dict("Inner")
	if on, is := inner.Bool("Enabled"); !set || !on || !is || inner.Where("Enabled") != Local+"/com.example.a.plist" {
		t.Error(inner, set)
	}
	if _, set := d.Dict("Name"); set || d.Where("Both") != Managed+"/com.example.a.plist" || d.Where("Absent") != "" {
		t.Error(d.Where("Both"))
	}
}

func TestDomainsThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	if d, err := Read(root, "com.example.none"); err != nil || d.Set() {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := ReadFile(root, "/x.plist"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, bad := range []string{"", "../../etc/passwd", ".hidden", "a\x00b"} {
		if _, err := Read(root, bad); !errors.Is(err, ErrDomainName) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	dir := filepath.Join(root, Local)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(path string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"empty":     func(path string) error { return os.WriteFile(path, nil, 0o644) },
		"old style": func(path string) error { return os.WriteFile(path, []byte("{ AutomaticCheckEnabled = 1; }"), 0o644) },
		"list":      func(path string) error { return os.WriteFile(path, []byte("<plist><array/></plist>"), 0o644) },
		"cut": func(path string) error {
			return os.WriteFile(path, []byte("<?xml version=\"1.0\"?><plist><dict><key>A</key>"), 0o644)
		},
		"large": func(path string) error { return os.WriteFile(path, make([]byte, maxFile+1), 0o644) },
	} {
		if err := spoil(filepath.Join(dir, name+".plist")); err != nil {
			t.Fatal(err)
		}
		if d, err := Read(root, name); err == nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// What defaults(1) prints is the old form, which the library would take for a
// list of anything: only the files themselves are read.
func TestRecordedOutputsOfDefaultsAreNoFiles(t *testing.T) {
	for _, out := range testenv.RecordedOutputs(t, "defaults-read") {
		if values, err := Parse("", out.Raw); !errors.Is(err, macplist.ErrNoList) {
			t.Errorf("%s: %v, %v", out.Name, values, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><plist version="1.0"><dict><key>A</key><true/><key>B</key><real>1</real></dict></plist>`))
	f.Add([]byte("{ A = 1; }"))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		d, err := Parse("x", raw)
		if err != nil {
			return
		}
		for key := range d.layers[0].values {
			d.Bool(key)
			d.Int(key)
			d.Dict(key)
		}
	})
}
