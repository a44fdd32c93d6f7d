// SPDX-License-Identifier: Apache-2.0

// Package blocklist keeps addresses from talking to this machine. It keeps the
// list of them, with why and until when, and makes the packet filter match it.
//
// The list lives in a file, the block in the kernel. Either can be lost without
// the other (a reboot, another tool's flush, a crash between the two), so every operation
// reads both, and the file decides what should be there.
package blocklist

import (
	"context"
	"net/netip"
	"time"

	"sentinel/internal/fault"
)

// A Backend is a packet filter that can drop the packets of addresses. Its rules
// are in a table of its own and leave those of others alone.
type Backend interface {
	// Name returns the name of the packet filter: "nftables", "iptables" or "pf".
	Name() string
	// Abilities says what the backend can do.
	Abilities() Abilities
	// Add makes sure that every address is dropped in all directions that the
	// backend supports. It creates what is missing of its own table, and an address that is
	// there already gets the new end. It is idempotent, and atomic for up to 1,000
	// addresses; of more, a part that fails does not keep the others back.
	Add(ctx context.Context, blocks []Block) error
	// Remove makes sure that none of the addresses is dropped. One that is not
	// there is no error.
	Remove(ctx context.Context, addresses []netip.Addr) error
	// Loaded reads back what the kernel drops now. effective says that the
	// rules that use the list are all in place; without them the list blocks nothing.
	Loaded(ctx context.Context) (blocks []Block, effective bool, err error)
}

// A Finder is a Backend that can look for one address without reading all of
// them, which matters with thousands. Where one address is enough, Find is called instead of
// Loaded.
type Finder interface {
	// Find reads back what the kernel does with address; found says that it is
	// among those to be dropped. effective is as in Loaded.
	Find(ctx context.Context, address netip.Addr) (block Block, found, effective bool, err error)
}

// A Preflighter is a Backend that can tell beforehand whether a block would be in
// force. It is asked before anything is changed.
type Preflighter interface {
	// Ready says why no packet would be dropped even with the own rules in place,
	// as an error with the code FIREWALL_UNAVAILABLE and what to do about it.
	Ready(ctx context.Context) error
}

// Abilities are what a backend can and cannot do.
type Abilities struct {
	// Expires says that the kernel itself ends a block at its time. Without it
	// the timer that runs --restore-blocklist does.
	Expires bool
	// Directions are those in which packets are dropped: "in", "out",
	// "forward".
	Directions []string
	// Most is how many addresses the backend takes without slowing down every
	// packet; 0 means that it has no such bound.
	Most int
	// SideEffect says in a sentence what else the system does while its rules are in
	// place; empty for nothing.
	SideEffect string
	// Beyond says in a sentence what the backend never sees, so that it is not dropped; empty for
	// nothing. It looks at the system, whereas all else is known without; nil sees everything.
	Beyond func() string
}

// beyond is what the backend never sees, as the sentences of a warning.
func (a Abilities) beyond() []string {
	if a.Beyond == nil {
		return nil
	}
	if text := a.Beyond(); text != "" {
		return []string{text}
	}
	return nil
}

// A Block is one address as the kernel holds it.
type Block struct {
	Address netip.Addr
	// Left is the time until the kernel ends the block; 0 means never.
	Left time.Duration
}

// BlocksOf makes blocks without an end of addresses.
func BlocksOf(addresses []netip.Addr) []Block {
	blocks := make([]Block, len(addresses))
	for i, a := range addresses {
		blocks[i].Address = a
	}
	return blocks
}

// Distinct checks the addresses of blocks, turns IPv4-mapped ones into IPv4, and
// keeps the last of several blocks of one address.
func Distinct(blocks []Block) ([]Block, error) {
	at := make(map[netip.Addr]int, len(blocks))
	var list []Block
	for _, b := range blocks {
		if !b.Address.IsValid() || b.Address.Zone() != "" {
			return nil, fault.New(fault.InvalidIP, "A packet filter blocks whole addresses, without a zone.")
		}
		b.Address = b.Address.Unmap()
		if i, again := at[b.Address]; again {
			list[i] = b
			continue
		}
		at[b.Address] = len(list)
		list = append(list, b)
	}
	return list, nil
}

// A ConnKiller ends connections that are already open.
type ConnKiller interface {
	// Kill ends every connection of this machine with address and makes the kernel
	// forget those it forwards, so that no packet passes as part of one. It returns
	// how many sockets it closed. It is idempotent.
	Kill(ctx context.Context, address netip.Addr) (int, error)
}
