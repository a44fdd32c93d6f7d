// SPDX-License-Identifier: Apache-2.0

package plist

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"howett.net/plist"
)

// binaryOf joins objects to a binary list, with references of one byte.
func binaryOf(objects ...string) []byte {
	raw := []byte("bplist00")
	var table []byte
	for _, o := range objects {
		table = binary.BigEndian.AppendUint32(table, uint32(len(raw)))
		raw = append(raw, o...)
	}
	return withTrailer(raw, table, 4, 1, len(objects))
}

func withTrailer(raw, table []byte, offsetSize, refSize byte, objects int) []byte {
	end := make([]byte, trailerSize)
	end[6], end[7] = offsetSize, refSize
	binary.BigEndian.PutUint64(end[8:], uint64(objects))
	binary.BigEndian.PutUint64(end[24:], uint64(len(raw)))
	return append(append(raw, table...), end...)
}

// nested is a chain of lists, each the only member of the one before.
func nested(levels int) []byte {
	raw := []byte("bplist00")
	var table []byte
	for i := range levels {
		table = binary.BigEndian.AppendUint32(table, uint32(len(raw)))
		raw = binary.BigEndian.AppendUint32(append(raw, 0xa1), uint32(i+1))
	}
	table = binary.BigEndian.AppendUint32(table, uint32(len(raw)))
	return withTrailer(append(raw, 0x51, 'x'), table, 4, 4, levels+1)
}

// unfolding holds each list ten times in the one before: 10 to the power of levels.
func unfolding(levels int) []byte {
	var objects []string
	for i := range levels {
		objects = append(objects, "\xaa"+strings.Repeat(string(rune(i+1)), 10))
	}
	return binaryOf(append(objects, "\x51x")...)
}

func TestListsThatUnfoldAreRefused(t *testing.T) {
	const open, end = `<?xml version="1.0"?><plist version="1.0">`, `</plist>`
	long := "\x6f\x12\x00\x00\x40\x00" + strings.Repeat("\x00a", 0x4000) // a text of 16384 characters
	aliases := withTrailer([]byte("bplist00\xa2\x01\x02"+long), []byte{0, 0, 0, 8, 0, 0, 0, 11, 0, 0, 0, 11}, 4, 1, 3)
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"unfolds":            {unfolding(12), errTooLarge},
		"deep":               {nested(100_000), errDepth},
		"deep XML":           {[]byte(open + strings.Repeat("<array>", 100_000) + end), errDepth},
		"one level too deep": {nested(maxDepth + 1), errDepth},
		"itself":             {binaryOf("\xa1\x00"), errTooLarge},
		"two in one place":   {aliases, errTooLarge},
		"endless list":       {binaryOf("\xaf\x13\x20\x00\x00\x00\x00\x00\x00\x00"), errBinary},
		"endless keys":       {binaryOf("\xdf\x13\x80\x00\x00\x00\x00\x00\x00\x00"), errBinary},
		"no member":          {binaryOf("\xa1\x07"), errBinary},
		"cut":                {[]byte("bplist00\x51x"), errBinary},
		"wide references":    {withTrailer([]byte("bplist00\x51x"), []byte{8}, 1, 32, 1), errBinary},
		"no offsets":         {withTrailer([]byte("bplist00\x51x"), nil, 0, 1, 1), errBinary},
	} {
		var value any
		if err := Decode(c.raw, &value); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSharedListsAreRead is for what CoreFoundation writes: an object that is the
// same twice, such as the empty list, has one number.
func TestSharedListsAreRead(t *testing.T) {
	var got any
	if err := Decode(binaryOf("\xa3\x01\x01\x02", "\xa0", "\xa1\x03", "\x51x"), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]any{}, []any{}, []any{"x"}}, got); diff != "" {
		t.Error(diff)
	}
	var large []map[string]any
	for range 3000 {
		large = append(large, map[string]any{"Name": "ö", "Sizes": []any{uint64(1) << 40, true, 1.5, []byte("data"), time.Unix(1e9, 0).UTC()}})
	}
	raw, err := plist.Marshal(large, plist.BinaryFormat)
	if err != nil {
		t.Fatal(err)
	}
	var again []map[string]any
	if err := Decode(raw, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(large, again); diff != "" {
		t.Error(diff)
	}
}
