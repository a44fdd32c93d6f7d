// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// tracking exists where connection tracking is loaded. Asking the kernel for
// its flows would load it.
const tracking = "/proc/sys/net/netfilter/nf_conntrack_count"

// maxFlows bounds how many flows of one address are deleted in one go.
const maxFlows = 100_000

// Attributes of linux/netfilter/nfnetlink_conntrack.h.
const (
	flowOriginal = 1 // CTA_TUPLE_ORIG
	flowReply    = 2 // CTA_TUPLE_REPLY
	flowIP       = 1 // CTA_TUPLE_IP; within it 1 to 4 are the addresses
)

// forget deletes the flows that have address as either end, in either
// direction: with NAT it may stand in only one of the four places. A flow that was handed to
// a flowtable (nft(8)) passes no chain at all until it is deleted.
func forget(ctx context.Context, address netip.Addr) error {
	if _, err := os.Stat(tracking); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var flows [][]byte
	raw := address.AsSlice()
	ask := flowRequest(address, nl.IPCTNL_MSG_CT_GET, unix.NLM_F_DUMP)
	err := ask.ExecuteIter(unix.NETLINK_NETFILTER, 0, func(b []byte) bool {
		if hasEnd(b, raw) {
			flows = append(flows, bytes.Clone(b))
		}
		return ctx.Err() == nil && len(flows) < maxFlows
	})
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return fmt.Errorf("list connections: %w", err)
	}
	for _, flow := range flows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ask := flowRequest(address, nl.IPCTNL_MSG_CT_DELETE, unix.NLM_F_ACK)
		ask.AddRawData(flow[nfgenmsg:])
		if _, err := ask.Execute(unix.NETLINK_NETFILTER, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("delete a connection: %w", err)
		}
	}
	return ctx.Err()
}

func flowRequest(address netip.Addr, operation, flags int) *nl.NetlinkRequest {
	family := uint8(unix.AF_INET)
	if address.Is6() {
		family = unix.AF_INET6
	}
	ask := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|operation, flags)
	ask.AddData(&nl.Nfgenmsg{NfgenFamily: family, Version: nl.NFNETLINK_V0})
	return ask
}

// hasEnd says whether a flow has address in one of its tuples. What cannot be
// parsed has not.
func hasEnd(b, address []byte) (found bool) {
	if len(b) < nfgenmsg {
		return false
	}
	err := attributes(b[nfgenmsg:], func(kind uint16, tuple []byte) error {
		if kind != flowOriginal && kind != flowReply {
			return nil
		}
		return attributes(tuple, func(kind uint16, ends []byte) error {
			if kind != flowIP {
				return nil
			}
			return attributes(ends, func(_ uint16, end []byte) error {
				found = found || bytes.Equal(end, address)
				return nil
			})
		})
	})
	return found && err == nil
}
