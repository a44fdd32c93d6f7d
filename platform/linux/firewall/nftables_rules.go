// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
	"sentinel/platform/linux/conntrack"
)

const (
	chainName = "input"
	// liveLimit is how long packets of a connection from before are still let in
	// without one having been seen. Keep-alives of TCP come every two hours (tcp(7)).
	liveLimit = 24 * time.Hour
)

// A line is one rule and what nft(8) shows behind it.
type line struct {
	comment string
	exprs   []expr.Any
}

func table() *nftables.Table {
	return &nftables.Table{Name: firewall.BaselineTable, Family: nftables.TableFamilyINet}
}

func chain(t *nftables.Table) *nftables.Chain {
	policy := nftables.ChainPolicyDrop
	return &nftables.Chain{
		Table: t, Name: chainName, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookInput,
		Priority: nftables.ChainPriorityFilter, Policy: &policy,
	}
}

// lines are the rules in order. What none of them accepts is dropped. Output
// and forwarding have no chain here: containers and routed networks go on as before.
func lines(ports []firewall.Port) []line {
	list := []line{
		{"answers to what this host began", established()},
		{"loopback", loopback()},
		{"connections from before, IPv4", live(false)},
		{"connections from before, IPv6", live(true)},
	}
	for _, t := range icmpTypes {
		list = append(list, line{"ICMP " + t.what, icmp(unix.NFPROTO_IPV4, unix.IPPROTO_ICMP, t.from, t.to)})
	}
	for _, t := range icmp6Types {
		list = append(list, line{"ICMPv6 " + t.what, icmp(unix.NFPROTO_IPV6, unix.IPPROTO_ICMPV6, t.from, t.to)})
	}
	list = append(list,
		line{"group membership", protocol(unix.NFPROTO_IPV4, unix.IPPROTO_IGMP)},
		line{"answers of DHCP", dhcp(unix.NFPROTO_IPV4, 67, 68)},
		line{"answers of DHCPv6", dhcp(unix.NFPROTO_IPV6, 547, 546)},
	)
	list = append(list, line{allowComment + "the ports of the set", openPorts()})
	for _, p := range ports {
		if p.Number == 0 {
			list = append(list, line{allowComment + p.String(), openProtocol(p)})
		}
	}
	return list
}

// allowComment stands before the protocol in the comment of a rule that lets it in.
const allowComment = "let in "

type icmpRange struct {
	what     string
	from, to byte
}

// icmpTypes are what IPv4 does not work without, and echo: a host that cannot
// be pinged is harder to keep alive, not safer.
var icmpTypes = []icmpRange{
	{"destination unreachable", 3, 3}, {"echo request", 8, 8}, {"time exceeded and parameter problem", 11, 12},
}

// icmp6Types follow RFC 4890 section 4.4: errors, echo, multicast listeners,
// neighbour discovery (without which IPv6 stops at once), and the multicast
// router and secure neighbour messages.
var icmp6Types = []icmpRange{
	{"errors", 1, 4}, {"echo and multicast listeners", 128, 132}, {"neighbour discovery", 133, 136},
	{"inverse discovery and multicast listeners", 141, 143}, {"secure discovery", 148, 149}, {"multicast routers", 151, 153},
}

func accept() expr.Any { return &expr.Verdict{Kind: expr.VerdictAccept} }

func equal(data ...byte) expr.Any {
	return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data}
}

func meta(key expr.MetaKey) expr.Any { return &expr.Meta{Key: key, Register: 1} }

func established() []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: 1},
		&expr.Bitwise{
			SourceRegister: 1, DestRegister: 1, Len: 4, Xor: make([]byte, 4),
			Mask: binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED),
		},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
		accept(),
	}
}

func loopback() []expr.Any {
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, "lo")
	return []expr.Any{meta(expr.MetaKeyIIFNAME), equal(name...), accept()}
}

func family(nfproto byte) []expr.Any {
	return []expr.Any{meta(expr.MetaKeyNFPROTO), equal(nfproto)}
}

func protocol(nfproto, l4 byte) []expr.Any {
	return append(family(nfproto), meta(expr.MetaKeyL4PROTO), equal(l4), accept())
}

func icmp(nfproto, l4, from, to byte) []expr.Any {
	return append(family(nfproto),
		meta(expr.MetaKeyL4PROTO), equal(l4),
		transport(1, 0, 1), &expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: []byte{from}}, &expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: []byte{to}},
		accept(),
	)
}

// transport loads bytes of the header of TCP, UDP or ICMP.
func transport(register, offset, length uint32) expr.Any {
	return &expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: length}
}

func bigEndian(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }

// dhcp accepts what a server sends to a client. Its answer may come from an
// address that the client has never written to.
func dhcp(nfproto byte, server, client uint16) []expr.Any {
	return append(family(nfproto),
		meta(expr.MetaKeyL4PROTO), equal(unix.IPPROTO_UDP),
		transport(1, 0, 4), equal(append(bigEndian(server), bigEndian(client)...)...),
		accept(),
	)
}

func openProtocol(p firewall.Port) []expr.Any {
	return []expr.Any{meta(expr.MetaKeyL4PROTO), equal(p.ProtocolNumber()), accept()}
}

// openPorts accepts what comes to a port of the set: "meta l4proto . th dport". One rule for all of
// them keeps a transaction, and what the kernel answers to it, as small as it is for one.
func openPorts() []expr.Any {
	return []expr.Any{
		meta(expr.MetaKeyL4PROTO), transport(9, 2, 2),
		&expr.Lookup{SourceRegister: 1, SetName: openSet(nil).Name},
		accept(),
	}
}

// openSet describes the set of ports that are let in, each with its protocol.
func openSet(t *nftables.Table) *nftables.Set {
	return &nftables.Set{
		Table: t, Name: "open_ports", Concatenation: true, KeyByteOrder: binaryutil.BigEndian,
		KeyType: nftables.MustConcatSetType(nftables.TypeInetProto, nftables.TypeInetService),
	}
}

// portProtocols are the numbers of the protocols that have ports.
var portProtocols = map[string]byte{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "udplite": unix.IPPROTO_UDPLITE}

// openElements are the keys of ports; each of their parts fills a register of four bytes.
func openElements(ports []firewall.Port) []nftables.SetElement {
	var list []nftables.SetElement
	for _, p := range ports {
		if p.Number != 0 {
			key := append([]byte{portProtocols[p.Protocol], 0, 0, 0}, bigEndian(p.Number)...)
			list = append(list, nftables.SetElement{Key: append(key, 0, 0)})
		}
	}
	return list
}

// portsOf reads keys back, in order. Those of other protocols are not sentinel's.
func portsOf(elements []nftables.SetElement) []firewall.Port {
	var ports []firewall.Port
	for _, e := range elements {
		for name, number := range portProtocols {
			if len(e.Key) == 8 && e.Key[0] == number {
				ports = append(ports, firewall.Port{Number: binary.BigEndian.Uint16(e.Key[4:]), Protocol: name})
			}
		}
	}
	slices.SortFunc(ports, firewall.Port.Compare)
	return ports
}

// live accepts packets of the connections that were open before. Connection
// tracking has never seen those, and takes the next packet from the other side for
// a new connection. The registers are those that the kernel reports back: of 16
// bytes from 1 on, of 4 bytes from 8 on.
func live(v6 bool) []expr.Any {
	saddr := &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}
	proto, sport, dport := byte(unix.NFPROTO_IPV4), uint32(9), uint32(10)
	if v6 {
		saddr.Offset, saddr.Len = 8, 16
		proto, sport, dport = unix.NFPROTO_IPV6, 2, 13
	}
	return append(family(proto),
		meta(expr.MetaKeyL4PROTO), equal(unix.IPPROTO_TCP),
		saddr, transport(sport, 0, 2), transport(dport, 2, 2),
		&expr.Lookup{SourceRegister: 1, SetName: liveSet(nil, v6).Name},
		accept(),
	)
}

// liveSet describes the set of connections of one family: address and port of
// the other end, port of this one.
func liveSet(t *nftables.Table, v6 bool) *nftables.Set {
	name, address := "before4", nftables.TypeIPAddr
	if v6 {
		name, address = "before6", nftables.TypeIP6Addr
	}
	return &nftables.Set{
		Table: t, Name: name, HasTimeout: true, Concatenation: true, KeyByteOrder: binaryutil.BigEndian,
		KeyType: nftables.MustConcatSetType(address, nftables.TypeInetService, nftables.TypeInetService),
	}
}

func isLiveSet(name string) bool {
	return name == liveSet(nil, false).Name || name == liveSet(nil, true).Name
}

// liveElement is the key of a connection; each of its parts fills whole registers.
func liveElement(c conntrack.Connection) nftables.SetElement {
	key := c.Remote.Addr().AsSlice()
	key = append(append(key, bigEndian(c.Remote.Port())...), 0, 0)
	key = append(append(key, bigEndian(c.Local.Port())...), 0, 0)
	return nftables.SetElement{Key: key, Timeout: liveLimit}
}

func comment(text string) []byte {
	return userdata.AppendString(nil, userdata.TypeComment, text)
}
