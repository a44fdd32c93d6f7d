// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// A Connection is one of TCP that is open at this end.
type Connection struct{ Local, Remote netip.AddrPort }

// addedLimit is how long an added flow stays without a packet. Keep-alives of TCP come every two hours (tcp(7)).
const addedLimit = 24 * time.Hour

const (
	// statusOpen is IPS_SEEN_REPLY, IPS_ASSURED, without which a flow goes when the table is full, and IPS_CONFIRMED
	// (linux/netfilter/nf_conntrack_common.h).
	statusOpen = statusAnswered | 4 | 8
	// liberal is IP_CT_TCP_FLAG_BE_LIBERAL (linux/netfilter/nf_conntrack_tcp.h): the windows of a connection whose
	// beginning was not seen are not known.
	liberal = 8
)

// Add has connection tracking know connections that began while nothing needed it, and counts those that it did not take.
// It takes the next packet from the other side for a new connection otherwise, or for none (net.netfilter.nf_conntrack_tcp_loose).
// A flow that is there stays as it is.
func Add(ctx context.Context, list []Connection) (left int) {
	for i, c := range list {
		if ctx.Err() != nil {
			return left + len(list) - i
		}
		_, err := addition(c).Execute(unix.NETLINK_NETFILTER, 0)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			left++
		}
	}
	return left
}

func addition(c Connection) *nl.NetlinkRequest {
	there := tuple{unix.IPPROTO_TCP, c.Remote.Addr(), c.Local.Addr(), c.Remote.Port(), c.Local.Port()}
	back := tuple{unix.IPPROTO_TCP, c.Local.Addr(), c.Remote.Addr(), c.Local.Port(), c.Remote.Port()}
	ask := flowRequest(c.Remote.Addr(), nl.IPCTNL_MSG_CT_NEW, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
	ask.AddData(there.attribute(nl.CTA_TUPLE_ORIG))
	ask.AddData(back.attribute(nl.CTA_TUPLE_REPLY))
	ask.AddData(nl.NewRtAttr(nl.CTA_STATUS, binary.BigEndian.AppendUint32(nil, statusOpen)))
	ask.AddData(nl.NewRtAttr(nl.CTA_TIMEOUT, binary.BigEndian.AppendUint32(nil, uint32(addedLimit/time.Second))))
	state := nl.NewRtAttr(unix.NLA_F_NESTED|nl.CTA_PROTOINFO, nil)
	tcp := state.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_PROTOINFO_TCP, nil)
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_STATE, []byte{nl.TCP_CONNTRACK_ESTABLISHED})
	flags := []byte{liberal, liberal} // struct nf_ct_tcp_flags: which, and of which
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, flags)
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_FLAGS_REPLY, flags)
	ask.AddData(state)
	return ask
}
