// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
)

// Another program that changes rules all the time neither hides addresses nor
// keeps them from being read.
func TestListIsWholeOnABusyMachine(t *testing.T) {
	testenv.Program(t, "nft", "nftables")
	if !testenv.Isolated(t) {
		return
	}
	filter, all := NewNftables(), append(numbered(4, 10_000), numbered(6, 10_000)...)
	add(t, filter, time.Hour, all...)
	run(t, "nft add table inet other")
	run(t, "nft add set inet other x { type ipv4_addr ; }")
	ctx, stop := context.WithCancel(t.Context())
	changes := make(chan int)
	go func() {
		i := 0
		for ; ctx.Err() == nil; i++ {
			try(fmt.Sprintf("nft add element inet other x { 10.9.%d.%d }", i/250%250, i%250))
		}
		changes <- i
	}()
	for range 20 {
		loaded(t, filter, true, all...)
		if err := filter.Add(t.Context(), []blocklist.Block{{Address: netip.MustParseAddr(peer4), Left: time.Hour}}); err != nil {
			t.Fatal(err)
		}
		remove(t, filter, peers...)
	}
	stop()
	if n := <-changes; n < 20 {
		t.Errorf("only %d changes", n)
	}
}

// Kernels before 6.12 ignore a new end of an element that is there. Only that
// it is deleted in between can be seen on others.
func TestRenewedElementsAreDeletedInBetween(t *testing.T) {
	var sent []netlink.HeaderType
	conn, err := nftables.New(nftables.WithTestDial(func(messages []netlink.Message) ([]netlink.Message, error) {
		for _, m := range messages {
			sent = append(sent, m.Header.Type&0xff)
		}
		return messages[:min(1, len(messages))], nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	there := map[netip.Addr]bool{peers[0]: true}
	if err := putElements(conn, blocksOf(time.Hour, peers...), there); err != nil {
		t.Fatal(err)
	}
	conn.Flush() // the answers are made up
	const begin, end = unix.NFNL_MSG_BATCH_BEGIN, unix.NFNL_MSG_BATCH_END
	want := []netlink.HeaderType{begin, unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_DELSETELEM, unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_NEWSETELEM, end}
	if !slices.Equal(sent[:min(len(sent), len(want))], want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
}
