// SPDX-License-Identifier: Apache-2.0

package interfaces

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
)

// attr builds what the kernel sends.
func attr(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(len(value)+4))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

func message(kind netlink.HeaderType, body ...[]byte) netlink.Message {
	return netlink.Message{Header: netlink.Header{Type: kind}, Data: slices.Concat(body...)}
}

func ifinfo(index, flags uint32) []byte {
	b := make([]byte, linkLen)
	binary.NativeEndian.PutUint32(b[4:], index)
	binary.NativeEndian.PutUint32(b[8:], flags)
	return b
}

func ifaddr(family, length byte, index uint32) []byte {
	b := make([]byte, addressLen)
	b[0], b[1] = family, length
	binary.NativeEndian.PutUint32(b[4:], index)
	return b
}

func u32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func bytesOf(address string) []byte { return netip.MustParseAddr(address).AsSlice() }

// tunnel is the link information of a tunnel with one attribute of its own.
func tunnel(kind string, attribute uint16, value []byte) []byte {
	return attr(linkInfo, slices.Concat(attr(infoKind, []byte(kind+"\x00")), attr(infoData|0x8000, attr(attribute, value))))
}

var (
	mac       = []byte{0, 0, 0x5e, 0, 0x53, 1}
	linkReply = []netlink.Message{
		message(newLink, ifinfo(7, FlagUp), attr(linkName, []byte("veth0\x00")), attr(linkMaster, u32(2)),
			attr(linkInfo|0x8000, attr(infoKind, []byte("veth\x00"))), attr(linkOperState, []byte{2}), attr(linkNamespace, u32(0)), attr(99, []byte("?"))),
		message(newLink, ifinfo(2, FlagUp|FlagLowerUp), attr(linkName, []byte("eth0\x00")), attr(linkAddress, mac),
			attr(linkMTU, u32(1500)), attr(linkOperState, []byte{OperUp})),
		message(newLink, ifinfo(9, 0), attr(linkName, []byte("gre1\x00")), tunnel("erspan", 7, bytesOf("192.0.2.9"))),
	}
	addressReply = []netlink.Message{
		message(newAddress, ifaddr(familyIPv4, 24, 2), attr(ifaAddress, bytesOf("192.0.2.1")), attr(ifaLocal, bytesOf("192.0.2.5"))),
		message(newAddress, ifaddr(familyIPv6, 64, 2), attr(ifaAddress, bytesOf("2001:db8::1"))),
		message(newAddress, ifaddr(familyIPv4, 32, 11), attr(ifaLocal, bytesOf("198.51.100.1"))),
		message(newAddress, ifaddr(7, 0, 2)),
	}
)

// kernel answers the dump of links and the one of addresses.
func kernel(t *testing.T, links, addresses func() []netlink.Message) *netlink.Conn {
	conn := nltest.Dial(func(asked []netlink.Message) ([]netlink.Message, error) {
		answer := links
		if asked[0].Header.Type == getAddress {
			answer = addresses
		}
		replies := append(slices.Clone(answer()), netlink.Message{})
		for i := range replies {
			replies[i].Header.Sequence, replies[i].Header.PID = asked[0].Header.Sequence, asked[0].Header.PID
		}
		if len(replies) == 1 {
			replies[0].Header.Type = netlink.Done
		}
		return nltest.Multipart(replies)
	})
	t.Cleanup(func() { conn.Close() })
	return conn
}

func always(replies []netlink.Message) func() []netlink.Message {
	return func() []netlink.Message { return replies }
}

func TestLinksAndAddressesAreJoined(t *testing.T) {
	got, err := list(kernel(t, always(linkReply), always(addressReply)))
	want := []Link{
		{
			Index: 2, Name: "eth0", MAC: mac, MTU: 1500, Flags: FlagUp | FlagLowerUp, OperState: OperUp,
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.5/24"), netip.MustParsePrefix("2001:db8::1/64")},
		},
		{Index: 7, Master: 2, Name: "veth0", Flags: FlagUp, OperState: 2, Kind: "veth", Abroad: true},
		{Index: 9, Name: "gre1", Kind: "erspan", Remote: netip.MustParseAddr("192.0.2.9")},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// A dump during which something changed may lack interfaces. It is repeated, but not
// for ever.
func TestInterruptedDumpsAreRepeated(t *testing.T) {
	asked, interruptions := 0, 0
	links := func() []netlink.Message {
		replies := slices.Clone(linkReply[:1])
		if asked++; asked > interruptions {
			return linkReply
		}
		replies[0].Header.Flags |= netlink.DumpInterrupted
		return replies
	}
	interruptions = attempts - 1
	if got, err := list(kernel(t, links, always(nil))); err != nil || len(got) != 3 || asked != attempts {
		t.Errorf("asked %d times: %d links, %v", asked, len(got), err)
	}
	asked, interruptions = 0, 1000
	if got, err := list(kernel(t, links, always(nil))); !errors.Is(err, ErrInterrupted) || asked != attempts {
		t.Errorf("asked %d times: %d links, %v", asked, len(got), err)
	}
}

func TestRefusedDumpsAreErrors(t *testing.T) {
	conn := nltest.Dial(func(asked []netlink.Message) ([]netlink.Message, error) {
		return nltest.Error(int(syscall.EPERM), asked)
	})
	t.Cleanup(func() { conn.Close() })
	if got, err := list(conn); !errors.Is(err, syscall.EPERM) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDamagedMessagesAreRefused(t *testing.T) {
	for name, m := range map[string]netlink.Message{
		"short body":                   message(newLink, make([]byte, linkLen-1)),
		"attribute below its header":   message(newLink, ifinfo(1, 0), []byte{3, 0, 3, 0}),
		"attribute beyond the message": message(newLink, ifinfo(1, 0), []byte{99, 0, 3, 0}),
		"trailing bytes":               message(newLink, ifinfo(1, 0), []byte{1, 2}),
		"an MTU of two bytes":          message(newLink, ifinfo(1, 0), attr(linkMTU, []byte{5, 0})),
		"a namespace of two bytes":     message(newLink, ifinfo(1, 0), attr(linkNamespace, []byte{5, 0})),
		"an empty state":               message(newLink, ifinfo(1, 0), attr(linkOperState, nil)),
		"a far end of five bytes":      message(newLink, ifinfo(1, 0), tunnel("gre", 7, []byte("12345"))),
		"link information cut off":     message(newLink, ifinfo(1, 0), attr(linkInfo, []byte{40, 0, 1, 0})),
	} {
		if _, err := join([]netlink.Message{m}, nil); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range map[string]netlink.Message{
		"short body":           message(newAddress, []byte{familyIPv4}),
		"no address":           message(newAddress, ifaddr(familyIPv4, 24, 2)),
		"five bytes":           message(newAddress, ifaddr(familyIPv4, 24, 2), attr(ifaLocal, []byte("12345"))),
		"a network of 33 bits": message(newAddress, ifaddr(familyIPv4, 33, 2), attr(ifaLocal, bytesOf("192.0.2.5"))),
	} {
		if _, err := join(linkReply, []netlink.Message{m}); !errors.Is(err, ErrFormat) {
			t.Errorf("address, %s: %v", name, err)
		}
	}
}

func TestTunnelsHaveTheirFarEnds(t *testing.T) {
	four, six := bytesOf("192.0.2.9"), bytesOf("2001:db8::9")
	for _, c := range []struct {
		kind      string
		attribute uint16
		value     []byte
		tunnel    bool
		remote    string
	}{
		{"vxlan", 2, four, true, "192.0.2.9"},
		{"vxlan", 16, six, true, "2001:db8::9"},
		{"geneve", 2, four, true, "192.0.2.9"},
		{"geneve", 7, six, true, "2001:db8::9"},
		{"gre", 7, four, true, "192.0.2.9"},
		{"gretap", 7, four, true, "192.0.2.9"},
		{"erspan", 7, four, true, "192.0.2.9"},
		{"ip6gre", 7, six, true, "2001:db8::9"},
		{"ip6gretap", 7, six, true, "2001:db8::9"},
		{"ip6erspan", 7, six, true, "2001:db8::9"},
		{"ipip", 3, four, true, "192.0.2.9"},
		{"sit", 3, four, true, "192.0.2.9"},
		{"ip6tnl", 3, six, true, "2001:db8::9"},
		{"vti", 5, four, true, "192.0.2.9"},
		{"vti6", 5, six, true, "2001:db8::9"},
		{"gre", 7, bytesOf("0.0.0.0"), true, "invalid IP"},
		{"gre", 6, four, true, "invalid IP"},
		{"tun", 7, four, true, "invalid IP"},
		{"wireguard", 7, four, true, "invalid IP"},
		{"veth", 7, []byte("12345"), false, "invalid IP"},
		{"", 7, four, false, "invalid IP"},
	} {
		l, err := parseLink(slices.Concat(ifinfo(7, 0), tunnel(c.kind, c.attribute, c.value)))
		if err != nil || l.Tunnel() != c.tunnel || l.Remote.String() != c.remote || l.Kind != c.kind {
			t.Errorf("%s with attribute %d: %+v, %v", c.kind, c.attribute, l, err)
		}
	}
}

func TestUpIsTheOperationalState(t *testing.T) {
	for _, c := range []struct {
		name string
		link Link
		want bool
	}{
		{"up", Link{OperState: OperUp}, true},
		{"down", Link{OperState: 2, Flags: FlagUp | FlagLowerUp}, false},
		{"dormant", Link{OperState: 5, Flags: FlagUp | FlagLowerUp}, false},
		{"loopback, whose state is unknown", Link{Flags: FlagUp | FlagLowerUp | FlagLoopback}, true},
		{"unknown without carrier", Link{Flags: FlagUp}, false},
		{"unknown and switched off", Link{}, false},
	} {
		if got := c.link.Up(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestIPv6AddressesAreReadWithoutNetlink(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "proc/net/if_inet6")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	const content = "20010db8000000000000000000000001 02 40 00 80     eth0\nfe800000000000000000000000000001 02 40 20 80     eth0\n" +
		"00000000000000000000000000000001 01 80 10 80       lo\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := IPv6Addresses(root)
	want := map[string][]netip.Prefix{
		"eth0": {netip.MustParsePrefix("2001:db8::1/64"), netip.MustParsePrefix("fe80::1/64")},
		"lo":   {netip.MustParsePrefix("::1/128")},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{
		"20010db8 02 40 00 80 eth0\n", "zz010db8000000000000000000000001 02 40 00 80 eth0\n",
		"20010db8000000000000000000000001 02 81 00 80 eth0\n", "20010db8000000000000000000000001 02 40 00 eth0\n",
	} {
		if _, err := parseIfInet6([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// An address that an interface was told to take is of one host, and no learned one.
func TestAddressesThatInterfacesTake(t *testing.T) {
	ndm := func(state uint16, flags byte) []byte {
		b := make([]byte, neighbourLen)
		b[0], b[4], b[10] = familyBridge, 2, flags
		binary.NativeEndian.PutUint16(b[8:], state)
		return b
	}
	mac, group := attr(neighbourAddress, []byte{2, 0, 0, 0, 0, 1}), attr(neighbourAddress, []byte{1, 0, 0x5e, 0, 0, 1})
	for name, c := range map[string]struct {
		message netlink.Message
		ok      bool
		err     error
	}{
		"told":             {message(newNeighbour, ndm(statePermanent, flagSelf), mac), true, nil},
		"learned":          {message(newNeighbour, ndm(2, flagSelf), mac), false, nil},
		"of its bridge":    {message(newNeighbour, ndm(statePermanent, 4), mac), false, nil},
		"a group":          {message(newNeighbour, ndm(statePermanent, flagSelf), group), false, nil},
		"no address":       {message(newNeighbour, ndm(statePermanent, flagSelf)), false, nil},
		"another message":  {message(newLink, ifinfo(1, 0)), false, nil},
		"short body":       {message(newNeighbour, make([]byte, neighbourLen-1)), false, ErrFormat},
		"cut off":          {message(newNeighbour, ndm(statePermanent, flagSelf), []byte{99, 0, 2, 0}), false, ErrFormat},
		"below its header": {message(newNeighbour, ndm(statePermanent, flagSelf), []byte{3, 0, 2, 0}), false, ErrFormat},
	} {
		f, ok, err := parseFilter(c.message)
		if err == nil && ok != c.ok || !errors.Is(err, c.err) || c.ok && f.Index != 2 {
			t.Errorf("%s: %+v, %v, %v", name, f, ok, err)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(linkReply[0].Data, addressReply[0].Data)
	f.Add(linkReply[2].Data, addressReply[1].Data)
	f.Fuzz(func(t *testing.T, link, address []byte) {
		list, err := join([]netlink.Message{message(newLink, link)}, []netlink.Message{message(newAddress, address)})
		if err != nil {
			return
		}
		for _, l := range list {
			if !l.Tunnel() && l.Remote.IsValid() {
				t.Errorf("a far end of no tunnel in %+v", l)
			}
			for _, a := range l.Addresses {
				if !a.IsValid() {
					t.Errorf("an invalid address in %+v", l)
				}
			}
		}
	})
}

func FuzzIfInet6(f *testing.F) {
	f.Add([]byte("20010db8000000000000000000000001 02 40 00 80     eth0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		byName, err := parseIfInet6(b)
		for name, list := range byName {
			for _, a := range list {
				if err == nil && !a.IsValid() {
					t.Errorf("%s has %v", name, a)
				}
			}
		}
	})
}
