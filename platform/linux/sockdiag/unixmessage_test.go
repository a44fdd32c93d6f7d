// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// unixAnswer builds a struct unix_diag_msg with attributes.
func unixAnswer(family, kind, state byte, inode uint32, attributes ...[]byte) []byte {
	b := []byte{family, kind, state, 0}
	b = binary.NativeEndian.AppendUint32(b, inode)
	b = append(b, make([]byte, 8)...)
	return append(b, slices.Concat(attributes...)...)
}

func TestAnswersAboutUnixSockets(t *testing.T) {
	name, peer := attribute(attributeName, []byte("/run/a")), attribute(attributePeer, number(78))
	for what, c := range map[string]struct {
		reply []byte
		want  UnixSocket
		known bool
		err   error
	}{
		"a server's end":       {unixAnswer(1, 1, 1, 77, name, peer), UnixSocket{77, 78, Pathname}, true, nil},
		"a client's":           {unixAnswer(1, 5, 1, 77, peer), UnixSocket{77, 78, Unnamed}, true, nil},
		"an abstract name":     {unixAnswer(1, 1, 1, 77, attribute(attributeName, []byte("\x00a"))), UnixSocket{77, 0, Abstract}, true, nil},
		"packets":              {unixAnswer(1, 2, 1, 77, peer), UnixSocket{}, false, nil},
		"one that listens":     {unixAnswer(1, 1, 10, 77, name), UnixSocket{}, false, nil},
		"another family":       {unixAnswer(2, 1, 1, 77), UnixSocket{}, false, ErrFormat},
		"short":                {[]byte{1, 1, 1, 0}, UnixSocket{}, false, ErrFormat},
		"an attribute cut off": {unixAnswer(1, 1, 1, 77, peer[:6]), UnixSocket{77, 0, Unnamed}, true, nil},
		"an attribute of 0":    {unixAnswer(1, 1, 1, 77, []byte{0, 0, 2, 0}), UnixSocket{77, 0, Unnamed}, true, nil},
		"a peer that is short": {unixAnswer(1, 1, 1, 77, attribute(attributePeer, []byte{1})), UnixSocket{77, 0, Unnamed}, true, nil},
	} {
		if got, known, err := parseUnixSocket(c.reply); got != c.want || known != c.known || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, %v", what, got, known, err)
		}
	}
}
