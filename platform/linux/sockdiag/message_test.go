// SPDX-License-Identifier: Apache-2.0

package sockdiag

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"
)

// message builds one netlink message, padded as the kernel does.
func message(kind uint16, body []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(body)+3)
	binary.NativeEndian.PutUint32(b, uint32(headerSize+len(body)))
	binary.NativeEndian.PutUint16(b[4:], kind)
	b = append(b, body...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// answer builds a struct inet_diag_msg.
func answer(family, state uint8, local, remote string, index, inode uint32) []byte {
	b := make([]byte, messageSize)
	b[0], b[1] = family, state
	for offset, text := range map[int]string{0: local, 1: remote} {
		a := netip.MustParseAddrPort(text)
		binary.BigEndian.PutUint16(b[4+2*offset:], a.Port())
		copy(b[addressOffset+16*offset:], a.Addr().AsSlice())
	}
	binary.NativeEndian.PutUint32(b[40:], index)
	binary.NativeEndian.PutUint32(b[68:], inode)
	return b
}

func ofUser(uid uint32, b []byte) []byte {
	binary.NativeEndian.PutUint32(b[64:], uid)
	return b
}

func number(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

var (
	http    = answer(familyInet, 1, "192.0.2.23:43122", "203.0.113.80:443", 0, 40112)
	linkLoc = answer(familyInet6, 10, "[fe80::1]:546", "[::]:0", 3, 7)
	mapped  = answer(familyInet6, 6, "[::ffff:192.0.2.1]:80", "[::ffff:203.0.113.9]:5000", 0, 0)
	global  = ofUser(1001, answer(familyInet6, 1, "[2001:db8::1]:443", "[2001:db8::2]:50000", 3, 8))
)

func parsed(b []byte) (list []Socket, done bool, err error) {
	done, err = parseReplies(b, eachSocket(func(s Socket) { list = append(list, s) }))
	return list, done, err
}

func TestRepliesReadAddressesStateAndInode(t *testing.T) {
	at := netip.MustParseAddrPort
	var datagram []byte
	for _, body := range [][]byte{http, linkLoc, append(mapped, 1, 2, 3), global} { // attributes may follow
		datagram = append(datagram, message(typeDiag, body)...)
	}
	got, done, err := parsed(datagram)
	want := []Socket{
		{at("192.0.2.23:43122"), at("203.0.113.80:443"), 1, 0, 40112, nil, false, 0},
		{at("[fe80::1%3]:546"), at("[::]:0"), 10, 0, 7, nil, false, 3},
		{at("192.0.2.1:80"), at("203.0.113.9:5000"), 6, 0, 0, nil, false, 0},
		{at("[2001:db8::1]:443"), at("[2001:db8::2]:50000"), 1, 1001, 8, nil, false, 3},
	}
	if err != nil || done || !reflect.DeepEqual(got, want) {
		t.Errorf("done %v, %v\n got %v\nwant %v", done, err, got, want)
	}
}

func TestRepliesEndAtDone(t *testing.T) {
	got, done, err := parsed(append(append(message(typeDiag, http), message(typeDone, number(0))...), message(typeDiag, http)...))
	if len(got) != 1 || !done || err != nil {
		t.Errorf("got %v, %v, %v", got, done, err)
	}
	if _, done, err := parsed(message(typeDone, nil)); !done || err != nil {
		t.Errorf("a bare end: %v, %v", done, err)
	}
}

func TestDumpThatBrokeOffIsNotTakenAsWhole(t *testing.T) {
	for kind, b := range map[string][]byte{"error": message(typeError, number(-1)), "done": message(typeDone, number(-1))} {
		_, _, err := parsed(append(message(typeDiag, http), b...))
		var code kernelError
		if !errors.As(err, &code) || code != 1 {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestRepliesOfOtherKindsAreSkipped(t *testing.T) {
	got, done, err := parsed(append(message(1, nil), message(typeDiag, http)...))
	if len(got) != 1 || done || err != nil {
		t.Errorf("got %v, %v, %v", got, done, err)
	}
}

func TestRepliesRefuseWhatIsNotOne(t *testing.T) {
	long, short, family := message(typeDiag, http), message(typeDiag, http), message(typeDiag, http)
	binary.NativeEndian.PutUint32(long, uint32(len(long)+1))
	binary.NativeEndian.PutUint32(short, headerSize-1)
	family[headerSize] = 1
	for name, b := range map[string][]byte{
		"longer than the datagram": long, "shorter than a header": short, "another family": family,
		"half a socket": message(typeDiag, http[:messageSize-1]), "an error without number": message(typeError, []byte{1, 2, 3}),
		"something after the end": append(message(typeDiag, http), 1, 2, 3),
	} {
		if _, done, err := parsed(b); !errors.Is(err, ErrFormat) || done {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
	}
}

func TestCutRepliesAreErrorsOrWholeSockets(t *testing.T) {
	datagram := append(message(typeDiag, http), message(typeDiag, global)...)
	all, _, err := parsed(datagram)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	half := len(datagram) / 2
	for cut := range len(datagram) {
		got, done, err := parsed(datagram[:cut])
		whole := cut == 0 || cut == half
		if done || (err == nil) != whole || len(got) != cut/half || !reflect.DeepEqual(got, all[:len(got):len(got)]) && len(got) > 0 {
			t.Errorf("the first %d bytes: %v, done %v, %v", cut, got, done, err)
		}
	}
}

func TestRequestAsksForLiveSockets(t *testing.T) {
	b := request(familyInet6, 17, 0)
	if len(b) != 72 || binary.NativeEndian.Uint32(b) != 72 || b[16] != familyInet6 || b[17] != 17 {
		t.Errorf("% x", b)
	}
	if states := binary.NativeEndian.Uint32(b[20:]); states != 0x1ffe {
		t.Errorf("states %#x, want 1 to 12", states)
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(append(message(typeDiag, http), message(typeDone, number(0))...))
	f.Add(append(message(typeDiag, mapped), message(typeDiag, linkLoc)...))
	f.Add(message(typeError, number(-2147483648)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		visits := 0
		_, err := parseReplies(b, eachSocket(func(s Socket) {
			visits++
			if !s.Local.IsValid() || !s.Remote.IsValid() || s.Local.Addr().Is4In6() || s.Remote.Addr().Is4In6() {
				t.Errorf("%+v", s)
			}
			if s.Inode > 1<<32-1 {
				t.Errorf("inode %d", s.Inode)
			}
		}))
		if visits > len(b)/(headerSize+messageSize) {
			t.Errorf("%d sockets in %d bytes, %v", visits, len(b), err)
		}
	})
}

// attribute builds a struct rtattr, padded as the kernel does.
func attribute(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(body)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), body...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

func TestTrafficIsReadFromTheInfoOfASocket(t *testing.T) {
	info := make([]byte, bytesRetrans+24)
	for at, n := range map[int]uint64{bytesReceived: 70, bytesSent: 50, bytesRetrans: 8} {
		binary.NativeEndian.PutUint64(info[at:], n)
	}
	for name, c := range map[string]struct {
		attributes []byte
		want       *Traffic
	}{
		"beside others":            {append(attribute(8, []byte{0}), attribute(attributeInfo, info)...), &Traffic{Sent: 42, Received: 70}},
		"of a kernel before 4.19":  {attribute(attributeInfo, info[:192]), nil},
		"longer than the message":  {attribute(attributeInfo, info)[:60], nil},
		"with a length of nothing": {make([]byte, 8), nil},
		"none":                     {nil, nil},
	} {
		list, _, err := parsed(message(typeDiag, append(slices.Clone(http), c.attributes...)))
		if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0].Traffic, c.want) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

func TestSocketsForIPv6AloneAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []byte
		want       bool
	}{
		"IPv6 alone":    {append(attribute(8, []byte{0}), attribute(attributeV6Only, []byte{1})...), true},
		"IPv4 too":      {attribute(attributeV6Only, []byte{0}), false},
		"without value": {attribute(attributeV6Only, nil), false},
		"not told":      {attribute(8, []byte{1}), false},
	} {
		list, _, err := parsed(message(typeDiag, append(slices.Clone(global), c.attributes...)))
		if err != nil || len(list) != 1 || list[0].OnlyIPv6 != c.want {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}
