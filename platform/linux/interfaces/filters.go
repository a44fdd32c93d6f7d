// SPDX-License-Identifier: Apache-2.0

package interfaces

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
)

// Numbers of linux/rtnetlink.h and linux/neighbour.h.
const (
	newNeighbour     = 28
	getNeighbour     = 30
	neighbourLen     = 12 // struct ndmsg
	neighbourAddress = 2  // NDA_LLADDR
	familyBridge     = 7
	flagSelf         = 2    // NTF_SELF: of the interface, not of the bridge that it is a port of
	statePermanent   = 0x80 // NUD_PERMANENT: told, not learned
)

// A Filter is an address of hardware whose frames an interface takes. Interfaces on top of it, in whatever network namespace, have
// it take theirs while they are up (dev_uc_add of the kernel); one of ipvlan has the same address.
type Filter struct {
	Index int
	MAC   []byte
}

// Filters lists them for links of the caller's network namespace ("bridge fdb" of bridge(8)), but those of groups. Not asked of
// are the ports of bridges, which nothing else can be on top of, and VXLANs: they have an entry for every host behind them, and
// one such host can pretend to be any number.
func Filters(links []Link) (list []Filter, err error) {
	conn, err := dial()
	if err != nil {
		return nil, fmt.Errorf("list the addresses that interfaces take: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	for _, l := range links {
		if l.Kind == KindVXLAN || portOfBridge(links, l) {
			continue
		}
		replies, err := dump(conn, getNeighbour, filterRequest(l.Index))
		if err != nil {
			return nil, fmt.Errorf("list the addresses that interfaces take: %w", err)
		}
		for _, m := range replies {
			f, ok, err := parseFilter(m)
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, f)
			}
		}
	}
	return list, nil
}

func portOfBridge(links []Link, l Link) bool {
	return l.Master != 0 && slices.ContainsFunc(links, func(m Link) bool { return m.Index == l.Master && m.Kind == "bridge" })
}

// filterRequest is a struct ifinfomsg: that is how the kernel takes the one interface of a request that it does not check strictly
// (valid_fdb_dump_legacy).
func filterRequest(index int) []byte {
	header := make([]byte, linkLen)
	header[0] = familyBridge
	binary.NativeEndian.PutUint32(header[4:], uint32(index))
	return header
}

// parseFilter parses a struct ndmsg with its attributes; false for an entry of another kind.
func parseFilter(m netlink.Message) (f Filter, ok bool, err error) {
	if m.Header.Type != newNeighbour {
		return f, false, nil
	}
	if len(m.Data) < neighbourLen {
		return f, false, ErrFormat
	}
	f.Index = int(int32(binary.NativeEndian.Uint32(m.Data[4:8])))
	told := binary.NativeEndian.Uint16(m.Data[8:10])&statePermanent != 0 && m.Data[10]&flagSelf != 0
	a, err := netlink.NewAttributeDecoder(m.Data[neighbourLen:])
	if err != nil {
		return f, false, malformed(err)
	}
	for a.Next() {
		if a.Type() == neighbourAddress {
			f.MAC = a.Bytes()
		}
	}
	single := len(f.MAC) > 0 && f.MAC[0]&1 == 0
	return f, told && single, malformed(a.Err())
}
