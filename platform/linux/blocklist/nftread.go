// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
)

var (
	// errInterrupted says that the table changed while it was read, so that
	// something may be lacking.
	errInterrupted = errors.New("the table changed while it was read")
	errFormat      = errors.New("unexpected format of an nftables message")
)

// nfgenmsg is the size of the header of every message of netfilter, in bytes:
// family, version and a number (linux/netfilter/nfnetlink.h).
const nfgenmsg = 4

// readBlocks reads the elements of both sets. A set that is not there, or not
// one of addresses, has none.
func readBlocks(ctx context.Context, have layout) ([]blocklist.Block, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	var all []blocklist.Block
	for _, f := range families {
		if !have.holds(f) {
			continue
		}
		replies, err := conn.Execute(question(f.set, netip.Addr{}))
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

// readWhole reads the elements of both sets until it gets the same twice. The
// kernel shows a part of a large set, and does not say so, while it rearranges it, some
// milliseconds after many elements were added.
func readWhole(ctx context.Context, have layout) ([]blocklist.Block, error) {
	blocks, err := readBlocks(ctx, have)
	for n := 1; n < readings && err == nil && len(blocks) > 0; n++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(apart):
		}
		before := blocks
		if blocks, err = readBlocks(ctx, have); err == nil && sameAddresses(before, blocks) {
			break
		}
	}
	return blocks, err
}

func sameAddresses(a, b []blocklist.Block) bool {
	held := make(map[netip.Addr]bool, len(a))
	for _, block := range a {
		held[block.Address] = true
	}
	missing := slices.ContainsFunc(b, func(block blocklist.Block) bool { return !held[block.Address] })
	return len(a) == len(b) && !missing
}

// readSome reads the elements of the addresses that are there.
func readSome(ctx context.Context, have layout, addresses []netip.Addr) ([]blocklist.Block, error) {
	if len(addresses) > single {
		all, err := readWhole(ctx, have)
		wanted := make(map[netip.Addr]bool, len(addresses))
		for _, a := range addresses {
			wanted[a.Unmap()] = true
		}
		return slices.DeleteFunc(all, func(b blocklist.Block) bool { return !wanted[b.Address] }), err
	}
	var found []blocklist.Block
	for _, a := range addresses {
		b, ok, err := readBlock(ctx, have, a.Unmap())
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
func readBlock(ctx context.Context, have layout, a netip.Addr) (blocklist.Block, bool, error) {
	conn, err := dial(ctx)
	if err != nil {
		return blocklist.Block{}, false, err
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	for _, f := range families {
		if !f.of(a) || !have.holds(f) {
			continue
		}
		replies, err := conn.Execute(question(f.set, a))
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

func dial(ctx context.Context) (*netlink.Conn, error) {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, conn); err != nil {
		conn.Close() //nolint:errcheck // nothing was written that could be lost
		return nil, err
	}
	return conn, nil
}

// question asks for the element of a set that is a, or for all where a is not
// valid. The library asks only for all, and loses the kernel's error.
func question(set string, a netip.Addr) netlink.Message {
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
	if len(b) < nfgenmsg {
		return to, errFormat
	}
	err := attributes(b[nfgenmsg:], func(kind uint16, list []byte) error {
		if kind != unix.NFTA_SET_ELEM_LIST_ELEMENTS {
			return nil
		}
		return attributes(list, func(_ uint16, element []byte) error {
			block, ok, err := parseElement(element)
			if ok && err == nil {
				to = append(to, block)
			}
			return err
		})
	})
	return to, err
}

// parseElement parses one element. The kernel gives the time limit and what is
// left of it in milliseconds; the latter may be 0 in the last one.
func parseElement(b []byte) (block blocklist.Block, ok bool, err error) {
	limited := false
	err = attributes(b, func(kind uint16, value []byte) error {
		switch kind {
		case unix.NFTA_SET_ELEM_KEY:
			return attributes(value, func(kind uint16, key []byte) error {
				if kind == unix.NFTA_DATA_VALUE {
					block.Address, ok = netip.AddrFromSlice(key)
				}
				return nil
			})
		case unix.NFTA_SET_ELEM_FLAGS:
			return unlessEnd(value)
		case unix.NFTA_SET_ELEM_TIMEOUT, unix.NFTA_SET_ELEM_EXPIRATION:
			if len(value) != 8 {
				return errFormat
			}
			n := binary.BigEndian.Uint64(value)
			limited = limited || n > 0
			if kind == unix.NFTA_SET_ELEM_EXPIRATION {
				block.Left = milliseconds(n)
			}
		}
		return nil
	})
	if limited && block.Left == 0 {
		block.Left = time.Millisecond
	}
	if errors.Is(err, errEnd) {
		return block, false, nil
	}
	return block, ok, err
}

var errEnd = errors.New("the end of an interval")

func unlessEnd(flags []byte) error {
	if len(flags) != 4 {
		return errFormat
	}
	if binary.BigEndian.Uint32(flags)&unix.NFT_SET_ELEM_INTERVAL_END != 0 {
		return errEnd
	}
	return nil
}

func milliseconds(n uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}

// attributes walks struct nlattr: length with its header, kind with two flags,
// value, padding to four bytes.
func attributes(b []byte, visit func(kind uint16, value []byte) error) error {
	const header = 4
	for len(b) >= header {
		length := int(binary.NativeEndian.Uint16(b))
		kind := binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
		if length < header || length > len(b) {
			return fmt.Errorf("attribute: %w", errFormat)
		}
		if err := visit(kind, b[header:length]); err != nil {
			return err
		}
		b = b[min(len(b), (length+3)&^3):]
	}
	if len(b) > 0 {
		return fmt.Errorf("attribute: %w", errFormat)
	}
	return nil
}
