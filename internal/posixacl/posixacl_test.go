// SPDX-License-Identifier: Apache-2.0

package posixacl

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is a list as the kernel has it: tag, rights and id of each entry.
func made(entries ...[3]uint32) []byte {
	raw := binary.LittleEndian.AppendUint32(nil, version)
	for _, e := range entries {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[0]))
		raw = binary.LittleEndian.AppendUint16(raw, uint16(e[1]))
		raw = binary.LittleEndian.AppendUint32(raw, e[2])
	}
	return raw
}

const none32 = 0xffffffff

func TestAListGrantsNoMoreThanItsMask(t *testing.T) {
	raw := made([3]uint32{0x01, 7, none32}, [3]uint32{0x02, 6, 1001}, [3]uint32{0x02, 2, 1002}, [3]uint32{0x04, 7, none32}, [3]uint32{0x08, 5, 50}, [3]uint32{0x10, 4, none32}, [3]uint32{0x20, 0, none32})
	got, err := Parse(raw)
	if diff := cmp.Diff(List{{false, 1001, 4}, {true, 50, 4}}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if text := got.String(); text != "the access list grants user 1001 r--, group 50 r--" {
		t.Error(text)
	}
	if text := (List{{}, {}, {}, {ID: 5}, {ID: 6}}).String(); !strings.HasSuffix(text, " and 2 more") || strings.Contains(text, "5") {
		t.Error(text)
	}
}

func TestWhatIsNoListIsAnError(t *testing.T) {
	for _, raw := range [][]byte{made()[:3], {1, 0, 0, 0}, append(made(), 0), make([]byte, 8)} {
		if list, err := Parse(raw); !errors.Is(err, ErrForm) || list != nil {
			t.Errorf("%x: %v, %v", raw, list, err)
		}
	}
	if list, err := Parse(nil); list != nil || err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(made([3]uint32{0x02, 6, 1001}, [3]uint32{0x10, 4, none32}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := Parse(raw)
		for _, n := range list {
			if n.Rights == 0 || n.Rights > 7 || err != nil {
				t.Errorf("%+v, %v", n, err)
			}
		}
	})
}
