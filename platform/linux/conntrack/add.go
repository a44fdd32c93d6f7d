// SPDX-License-Identifier: Apache-2.0

//go:build linux

package conntrack

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sentinel/platform/unix/hostfile"
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
func Add(ctx context.Context, list []Connection) (left int) { return add(ctx, list, room) }

func add(ctx context.Context, list []Connection, room func() int) (left int) {
	places := 1 // the first has the kernel load what tells how many there are
	for i, c := range list {
		if ctx.Err() != nil {
			return left + len(list) - i
		}
		if i == 1 {
			places = room()
		}
		flags := unix.NLM_F_EXCL | unix.NLM_F_ACK
		if places > 0 {
			flags |= unix.NLM_F_CREATE // without it the kernel only says whether the flow is there
		}
		_, err := addition(c, flags).Execute(unix.NETLINK_NETFILTER, 0)
		switch {
		case err == nil:
			places--
		case !errors.Is(err, unix.EEXIST):
			left++
		}
	}
	return left
}

// room is how many flows may be added: half of the places that are free, as nothing new comes or goes once the table is full.
func room() int {
	count, err := tableSize("nf_conntrack_count")
	most, unknown := tableSize("nf_conntrack_max")
	if err != nil || unknown != nil || most == 0 {
		return math.MaxInt // there is no bound (Documentation/networking/nf_conntrack-sysctl.rst), or it is not known
	}
	return (most - count) / 2
}

func tableSize(name string) (int, error) {
	text, err := hostfile.Text("/proc/sys/net/netfilter/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

func addition(c Connection, flags int) *nl.NetlinkRequest {
	there := tuple{unix.IPPROTO_TCP, c.Remote.Addr(), c.Local.Addr(), c.Remote.Port(), c.Local.Port()}
	back := tuple{unix.IPPROTO_TCP, c.Local.Addr(), c.Remote.Addr(), c.Local.Port(), c.Remote.Port()}
	ask := flowRequest(c.Remote.Addr(), nl.IPCTNL_MSG_CT_NEW, flags)
	ask.AddData(there.attribute(nl.CTA_TUPLE_ORIG))
	ask.AddData(back.attribute(nl.CTA_TUPLE_REPLY))
	ask.AddData(nl.NewRtAttr(nl.CTA_STATUS, binary.BigEndian.AppendUint32(nil, statusOpen)))
	ask.AddData(nl.NewRtAttr(nl.CTA_TIMEOUT, binary.BigEndian.AppendUint32(nil, uint32(addedLimit/time.Second))))
	state := nl.NewRtAttr(unix.NLA_F_NESTED|nl.CTA_PROTOINFO, nil)
	tcp := state.AddRtAttr(unix.NLA_F_NESTED|nl.CTA_PROTOINFO_TCP, nil)
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_STATE, []byte{nl.TCP_CONNTRACK_ESTABLISHED})
	both := []byte{liberal, liberal} // struct nf_ct_tcp_flags: which, and of which
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_FLAGS_ORIGINAL, both)
	tcp.AddRtAttr(nl.CTA_PROTOINFO_TCP_FLAGS_REPLY, both)
	ask.AddData(state)
	return ask
}
