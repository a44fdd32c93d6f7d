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
	long := message(typeDiag, unixAnswer(1, 1, 1, 77))
	binary.NativeEndian.PutUint32(long, uint32(len(long)+1))
	for what, c := range map[string]struct {
		reply []byte
		want  UnixSocket
		known bool
		err   error
	}{
		"a server's end":       {message(typeDiag, unixAnswer(1, 1, 1, 77, name, peer)), UnixSocket{77, 78, "/run/a"}, true, nil},
		"a client's":           {message(typeDiag, unixAnswer(1, 5, 1, 77, peer)), UnixSocket{77, 78, ""}, true, nil},
		"an abstract name":     {message(typeDiag, unixAnswer(1, 1, 1, 77, attribute(attributeName, []byte("\x00a")))), UnixSocket{77, 0, "\x00a"}, true, nil},
		"packets":              {message(typeDiag, unixAnswer(1, 2, 1, 77, peer)), UnixSocket{}, false, nil},
		"one that listens":     {message(typeDiag, unixAnswer(1, 1, 10, 77, name)), UnixSocket{}, false, nil},
		"none":                 {message(typeError, number(-2)), UnixSocket{}, false, kernelError(2)},
		"another family":       {message(typeDiag, unixAnswer(2, 1, 1, 77)), UnixSocket{}, false, ErrFormat},
		"short":                {message(typeDiag, []byte{1, 1, 1, 0}), UnixSocket{}, false, ErrFormat},
		"an error without one": {message(typeError, nil), UnixSocket{}, false, ErrFormat},
		"something else":       {message(typeDone, number(0)), UnixSocket{}, false, ErrFormat},
		"longer than it is":    {long, UnixSocket{}, false, ErrFormat},
		"no message":           {[]byte{1, 2}, UnixSocket{}, false, ErrFormat},
		"an attribute cut off": {message(typeDiag, unixAnswer(1, 1, 1, 77, peer[:6])), UnixSocket{77, 0, ""}, true, nil},
		"an attribute of 0":    {message(typeDiag, unixAnswer(1, 1, 1, 77, []byte{0, 0, 2, 0})), UnixSocket{77, 0, ""}, true, nil},
		"a peer that is short": {message(typeDiag, unixAnswer(1, 1, 1, 77, attribute(attributePeer, []byte{1}))), UnixSocket{77, 0, ""}, true, nil},
	} {
		if got, known, err := parseUnix(c.reply); got != c.want || known != c.known || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, %v", what, got, known, err)
		}
	}
}
