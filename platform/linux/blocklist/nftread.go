// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
	"sentinel/platform/linux/netattr"
)

// errInterrupted says that the table changed while it was read, so that
// something may be missing.
var errInterrupted = errors.New("the table changed while it was read")

// nfgenmsg is the size of the header of every message of netfilter, in bytes:
// family, version and a number (linux/netfilter/nfnetlink.h).
const nfgenmsg = 4

// readBlocks reads the elements of both sets. A set that is not there, or not
// one of addresses, has none.
func (n Nftables) readBlocks(ctx context.Context, have layout) ([]blocklist.Block, error) {
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	var all []blocklist.Block
	for _, f := range families {
		if !have.holds(f) {
			continue
		}
		replies, err := conn.Execute(elementRequest(f.set, netip.Addr{}))
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
		for _, m := range replies {
			if m.Header.Flags&netlink.DumpInterrupted != 0 {
				return nil, errInterrupted
			}
			if all, err = appendBlocks(all, m.Data); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// readWhole reads the elements of both sets until it gets the same twice. Some
// milliseconds after many elements were added, or more on a busy machine, the kernel rearranges the set and shows only
// a part of it, some of that twice, without saying so.
func (n Nftables) readWhole(ctx context.Context, have layout) ([]blocklist.Block, error) {
	blocks, err := n.readBlocks(ctx, have)
	for i := 1; i < maxReads && err == nil && len(blocks) > 0; i++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(readInterval):
		}
		before := blocks
		if blocks, err = n.readBlocks(ctx, have); err == nil && sameAddresses(before, blocks) {
			break
		}
	}
	return blocks, err
}

// sameAddresses reports whether two readings have the same, each once.
func sameAddresses(a, b []blocklist.Block) bool {
	first, second := addressesOf(a), addressesOf(b)
	return maps.Equal(first, second) && len(first) == len(a) && len(second) == len(b)
}

func addressesOf(list []blocklist.Block) map[netip.Addr]bool {
	held := make(map[netip.Addr]bool, len(list))
	for _, b := range list {
		held[b.Address] = true
	}
	return held
}

// readSome reads the elements of the addresses that are there.
func (n Nftables) readSome(ctx context.Context, have layout, addresses []netip.Addr) ([]blocklist.Block, error) {
	if len(addresses) > maxLookups {
		all, err := n.readWhole(ctx, have)
		wanted := make(map[netip.Addr]bool, len(addresses))
		for _, a := range addresses {
			wanted[a.Unmap()] = true
		}
		return slices.DeleteFunc(all, func(b blocklist.Block) bool { return !wanted[b.Address] }), err
	}
	var found []blocklist.Block
	for _, a := range addresses {
		b, ok, err := n.readBlock(ctx, have, a.Unmap())
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, b)
		}
	}
	return found, nil
}

// readBlock asks for one address.
func (n Nftables) readBlock(ctx context.Context, have layout, a netip.Addr) (blocklist.Block, bool, error) {
	conn, err := n.dial(ctx)
	if err != nil {
		return blocklist.Block{}, false, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	for _, f := range families {
		if !f.of(a) || !have.holds(f) {
			continue
		}
		replies, err := conn.Execute(elementRequest(f.set, a))
		if errors.Is(err, unix.ENOENT) {
			return blocklist.Block{}, false, nil
		}
		if err != nil {
			return blocklist.Block{}, false, err
		}
		for _, m := range replies {
			found, err := appendBlocks(nil, m.Data)
			if err != nil || len(found) == 1 && found[0].Address == a {
				return append(found, blocklist.Block{})[0], err == nil, err
			}
		}
	}
	return blocklist.Block{}, false, nil
}

func dialNftables(ctx context.Context) (*netlink.Conn, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, err
	}
	if err := configure(ctx, conn); err != nil {
		conn.Close() //nolint:errcheck // nothing was written that could be lost
		return nil, err
	}
	return conn, nil
}

// elementRequest asks for the element of a set that is a, or for all elements
// where a is not valid. The library can only ask for all, and loses the kernel's error.
func elementRequest(set string, a netip.Addr) netlink.Message {
	e := netlink.NewAttributeEncoder()
	e.String(unix.NFTA_SET_ELEM_LIST_TABLE, firewall.OwnTable)
	e.String(unix.NFTA_SET_ELEM_LIST_SET, set)
	flags := netlink.Request | netlink.Dump
	if a.IsValid() {
		flags = netlink.Request
		e.Nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func(list *netlink.AttributeEncoder) error {
			list.Nested(unix.NFTA_LIST_ELEM, func(element *netlink.AttributeEncoder) error {
				element.Nested(unix.NFTA_SET_ELEM_KEY, func(key *netlink.AttributeEncoder) error {
					key.Bytes(unix.NFTA_DATA_VALUE, a.AsSlice())
					return nil
				})
				return nil
			})
			return nil
		})
	}
	body, _ := e.Encode() //nolint:errcheck // nothing in it can fail
	return netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETSETELEM, Flags: flags},
		Data:   append([]byte{unix.NFPROTO_INET, unix.NFNETLINK_V0, 0, 0}, body...),
	}
}

// appendBlocks parses the elements of one message: struct nfgenmsg, then
// attributes of linux/netfilter/nf_tables.h. Keys that are no address, such as those of a
// set of another kind, are left out.
func appendBlocks(to []blocklist.Block, b []byte) ([]blocklist.Block, error) {
	err := netattr.Visit(b, nfgenmsg, func(list *netlink.AttributeDecoder) {
		if list.Type() != unix.NFTA_SET_ELEM_LIST_ELEMENTS {
			return
		}
		netattr.Nested(list, func(element *netlink.AttributeDecoder) {
			if block, ok := parseElement(element); ok {
				to = append(to, block)
			}
		})
	})
	return to, err
}

// parseElement parses one element. The kernel gives the time limit and what is
// left of it in milliseconds; the latter may be 0 in the last one. What cannot be parsed
// is left to the decoder to report.
func parseElement(element *netlink.AttributeDecoder) (block blocklist.Block, ok bool) {
	limited, endOfRange := false, false
	netattr.Nested(element, func(a *netlink.AttributeDecoder) {
		switch a.Type() {
		case unix.NFTA_SET_ELEM_KEY:
			netattr.Nested(a, func(key *netlink.AttributeDecoder) {
				if key.Type() == unix.NFTA_DATA_VALUE {
					block.Address, ok = netip.AddrFromSlice(key.Bytes())
				}
			})
		case unix.NFTA_SET_ELEM_FLAGS:
			endOfRange = a.Uint32()&unix.NFT_SET_ELEM_INTERVAL_END != 0
		case unix.NFTA_SET_ELEM_TIMEOUT:
			limited = a.Uint64() > 0 || limited
		case unix.NFTA_SET_ELEM_EXPIRATION:
			left := a.Uint64()
			limited, block.Left = limited || left > 0, milliseconds(left)
		}
	})
	if limited && block.Left == 0 {
		block.Left = time.Millisecond
	}
	return block, ok && !endOfRange && element.Err() == nil
}

func milliseconds(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
