// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"encoding/binary"
	"errors"
	"testing"
)

// vsockAnswer builds a struct vsock_diag_msg.
func vsockAnswer(family, state byte, cid, port, inode uint32) []byte {
	b := []byte{family, 1, state, 0}
	for _, n := range []uint32{cid, port, 1<<32 - 1, 1<<32 - 1, inode, 0, 0} {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	return b
}

func TestAnswersAboutVSock(t *testing.T) {
	for what, c := range map[string]struct {
		reply   []byte
		want    VSock
		listens bool
		err     error
	}{
		"any machine":    {vsockAnswer(40, 10, 1<<32-1, 5000, 77), VSock{1<<32 - 1, 5000, 77}, true, nil},
		"this machine":   {vsockAnswer(40, 10, 1, 1<<32-2, 77), VSock{1, 1<<32 - 2, 77}, true, nil},
		"a connection":   {vsockAnswer(40, 1, 3, 5000, 77), VSock{}, false, nil},
		"another family": {vsockAnswer(2, 10, 3, 5000, 77), VSock{}, false, ErrFormat},
		"short":          {vsockAnswer(40, 10, 3, 5000, 77)[:31], VSock{}, false, ErrFormat},
	} {
		if got, listens, err := parseVSock(c.reply); got != c.want || listens != c.listens || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %t, %v", what, got, listens, err)
		}
	}
	if !(VSock{CID: 1}).Inside() || (VSock{CID: 3}).Inside() || (VSock{CID: 1<<32 - 1}).Inside() {
		t.Error("it is bound to another machine")
	}
}

func FuzzVSock(f *testing.F) {
	f.Add(vsockAnswer(40, 10, 1<<32-1, 5000, 77))
	f.Add([]byte{40})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, listens, err := parseVSock(b)
		if listens && (err != nil || len(b) < vsockMessageSize || s.Inode > 1<<32-1) || !listens && s != (VSock{}) {
			t.Errorf("%+v, %t, %v", s, listens, err)
		}
	})
}
