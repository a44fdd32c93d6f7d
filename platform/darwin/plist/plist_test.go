// SPDX-License-Identifier: Apache-2.0

package plist

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"howett.net/plist"
)

const list = `<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict><key>Size</key><integer>42</integer></dict></plist>`

type sized struct{ Size int }

func TestDecode(t *testing.T) {
	binary, err := plist.Marshal(sized{42}, plist.BinaryFormat)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"XML": list, "binary": string(binary), "a line of a log before": "2026-09-01 12:00:00.000 tool[1:2] noise\n" + list,
		"NUL before": "\x00" + list, "NUL after": list + "\x00", "without declaration": list[strings.Index(list, "<plist"):],
	} {
		var got sized
		if err := Decode([]byte(raw), &got); err != nil || got.Size != 42 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestWhatIsNoListIsAnError(t *testing.T) {
	for name, raw := range map[string]string{"empty": "", "a word": "error", "old style": `{ Size = 42; }`, "NUL": "\x00\x00", "blank": "\n\n"} {
		var got sized
		if err := Decode([]byte(raw), &got); !errors.Is(err, ErrNoList) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, raw := range map[string]string{
		"cut":          list[:len(list)-10],
		"another type": strings.Replace(list, "<integer>42</integer>", "<string>many</string>", 1),
	} {
		var got sized
		if err := Decode([]byte(raw), &got); err == nil {
			t.Errorf("%s: %+v without an error", name, got)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	var got sized
	if err := Read(strings.NewReader(list+strings.Repeat("\n", MaxFile)), &got); err == nil {
		t.Error("a list larger than MaxFile was read")
	}
	if err := Read(strings.NewReader(list), &got); err != nil || got.Size != 42 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSplit(t *testing.T) {
	var got []string
	for _, part := range Split([]byte("\x00one\n\x00\x00two\x00")) {
		got = append(got, string(part))
	}
	if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(list))
	f.Add([]byte("bplist00"))
	f.Add(unfolding(3))
	f.Add(nested(3))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		var value any
		Decode(raw, &value) // that it returns is the property
	})
}
