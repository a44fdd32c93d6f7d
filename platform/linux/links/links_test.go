// SPDX-License-Identifier: Apache-2.0

package links

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// attr and message build what the kernel sends.
func attr(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(len(value)+attributeLen))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func message(kind uint16, body ...[]byte) []byte {
	var all []byte
	for _, part := range body {
		all = append(all, part...)
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(all)+headerLen))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, make([]byte, headerLen-6)...)
	return append(b, all...)
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

var (
	mac       = []byte{0, 0, 0x5e, 0, 0x53, 1}
	linkReply = append(
		message(newLink, ifinfo(7, FlagUp), attr(linkName, []byte("veth0\x00")),
			attr(linkInfo|0x8000, attr(linkInfoKind, []byte("veth\x00"))), attr(linkOperState, []byte{2}), attr(99, []byte("?"))),
		message(newLink, ifinfo(2, FlagUp|FlagLowerUp), attr(linkName, []byte("eth0\x00")), attr(linkAddress, mac),
			attr(linkMTU, u32(1500)), attr(linkOperState, []byte{OperUp}))...,
	)
	addressReply = append(append(append(
		message(newAddress, ifaddr(familyIPv4, 24, 2), attr(ifaAddress, bytesOf("192.0.2.1")), attr(ifaLocal, bytesOf("192.0.2.5"))),
		message(newAddress, ifaddr(familyIPv6, 64, 2), attr(ifaAddress, bytesOf("2001:db8::1")))...),
		message(newAddress, ifaddr(familyIPv4, 32, 9), attr(ifaLocal, bytesOf("198.51.100.1")))...),
		message(newAddress, ifaddr(7, 0, 2))...)
	done = message(messageDone)
)

func TestLinksAndAddressesAreJoined(t *testing.T) {
	got, err := parse(append(linkReply, done...), append(addressReply, done...))
	want := []Link{
		{
			Index: 2, Name: "eth0", MAC: mac, MTU: 1500, Flags: FlagUp | FlagLowerUp, OperState: OperUp,
			Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.5/24"), netip.MustParsePrefix("2001:db8::1/64")},
		},
		{Index: 7, Name: "veth0", Flags: FlagUp, OperState: 2, Kind: "veth"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestDamagedMessagesAreRefused(t *testing.T) {
	short := message(newLink, make([]byte, linkLen-1))
	badAttr := message(newLink, ifinfo(1, 0), []byte{3, 0, 3, 0})
	longAttr := message(newLink, ifinfo(1, 0), []byte{99, 0, 3, 0})
	for name, b := range map[string][]byte{
		"short body": short, "attribute below its header": badAttr, "attribute beyond the message": longAttr,
		"an error": message(messageError, u32(1)), "cut": linkReply[:len(linkReply)-4], "trailing bytes": append(slices.Clip(linkReply), 1, 2),
		"length below the header": {1, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, err := parse(b, nil); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"short body":           message(newAddress, []byte{familyIPv4}),
		"no address":           message(newAddress, ifaddr(familyIPv4, 24, 2)),
		"five bytes":           message(newAddress, ifaddr(familyIPv4, 24, 2), attr(ifaLocal, []byte("12345"))),
		"a network of 33 bits": message(newAddress, ifaddr(familyIPv4, 33, 2), attr(ifaLocal, bytesOf("192.0.2.5"))),
	} {
		if _, err := parse(linkReply, b); !errors.Is(err, ErrFormat) {
			t.Errorf("address, %s: %v", name, err)
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

func FuzzLinks(f *testing.F) {
	f.Add(linkReply, addressReply)
	f.Add(append(slices.Clip(linkReply), done...), []byte{})
	f.Fuzz(func(t *testing.T, links, addresses []byte) {
		list, err := parse(links, addresses)
		if err != nil {
			return
		}
		for _, l := range list {
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
