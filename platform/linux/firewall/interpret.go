// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

// maxMapped bounds how many elements of a verdict map are followed one by one.
const maxMapped = 512

// interpret is what a rule says and does, in the terms of [firewall.Rule]: one, or one for each
// element of a verdict map.
func interpret(r *nftables.Rule, sets map[string]setContent) []firewall.Rule {
	rule := firewall.Rule{}
	conditions := r.Exprs
	for i, e := range r.Exprs {
		if l, ok := e.(*expr.Lookup); ok && isVerdictMap(l) {
			return interpretMap(rule, r.Exprs[:i], l, sets[l.SetName])
		}
		act(&rule, e, r.Exprs[:i])
		if rule.Action != firewall.GoOn {
			conditions = r.Exprs[:i]
			break
		}
	}
	rule.Matches = func(p firewall.Packet) firewall.Match { return evaluate(p, conditions, sets, nil) }
	return []firewall.Rule{rule}
}

// interpretMap makes a rule of each element of a verdict map.
func interpretMap(rule firewall.Rule, conditions []expr.Any, l *expr.Lookup, content setContent) []firewall.Rule {
	if !content.read || len(content.keys) > maxMapped {
		rule.Action = firewall.Divert
		rule.Matches = func(p firewall.Packet) firewall.Match { return evaluate(p, conditions, nil, nil).And(firewall.Unsure) }
		return []firewall.Rule{rule}
	}
	var rules []firewall.Rule
	for _, k := range content.keys {
		one := rule
		v, err := parseVerdict(k.value)
		if err != nil {
			v = &expr.Verdict{Kind: expr.VerdictQueue}
		}
		verdict(&one, v)
		one.Matches = func(p firewall.Packet) firewall.Match {
			return evaluate(p, conditions, nil, func(r *registers) firewall.Match { return k.matches(r, l.SourceRegister) })
		}
		rules = append(rules, one)
	}
	return rules
}

func verdict(rule *firewall.Rule, v *expr.Verdict) {
	rule.Chain = v.Chain
	switch v.Kind {
	case expr.VerdictAccept:
		rule.Action = firewall.Accept
	case expr.VerdictDrop:
		rule.Action = firewall.Drop
	case expr.VerdictJump:
		rule.Action = firewall.Jump
	case expr.VerdictGoto:
		rule.Action = firewall.Goto
	case expr.VerdictReturn:
		rule.Action = firewall.Return
	case expr.VerdictContinue:
	default:
		rule.Action = firewall.Divert
	}
}

// act notes what an expression does, if it is not a condition; before are those in front of it.
func act(rule *firewall.Rule, e expr.Any, before []expr.Any) {
	switch e := e.(type) {
	case *expr.Verdict:
		verdict(rule, e)
	case *expr.Reject:
		rule.Action = firewall.Drop
	case *expr.NAT:
		if e.Type == expr.NATTypeDestNAT {
			rule.Action, rule.Target = firewall.Divert, natTarget(before, e)
		}
	case *expr.Redir:
		rule.Action, rule.Target = firewall.Divert, thisHost
	case *expr.Queue, *expr.SynProxy:
		rule.Action = firewall.Divert
	case *expr.Payload:
		if e.OperationType == expr.PayloadWrite {
			rule.Action = firewall.Divert
		}
	case *expr.Notrack:
		rule.Untracks = true
	case *expr.Meta:
		rule.Marks = rule.Marks || e.SourceRegister
	case *expr.Ct:
		rule.Marks = rule.Marks || e.SourceRegister
	case *expr.Target:
		target(rule, e)
	case opaque:
		e.act(rule)
	}
}

// natTarget is invalid when the address is not a constant.
func natTarget(before []expr.Any, e *expr.NAT) netip.AddrPort {
	if e.RegAddrMin == 0 {
		return thisHost
	}
	a, _ := netip.AddrFromSlice(immediate(before, e.RegAddrMin))
	port := immediate(before, e.RegProtoMin)
	if !a.IsValid() || len(port) != 2 {
		return netip.AddrPortFrom(a, 0)
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port))
}

// immediate is what a rule has put into a register, nil when it is not a constant.
func immediate(before []expr.Any, register uint32) []byte {
	for _, e := range slices.Backward(before) {
		if i, ok := e.(*expr.Immediate); ok && i.Register == register && register != 0 {
			return i.Data
		}
	}
	return nil
}

// evaluate is the match of conditions, in order, and of last, which may be nil.
func evaluate(p firewall.Packet, conditions []expr.Any, sets map[string]setContent, last func(*registers) firewall.Match) firewall.Match {
	var r registers
	m := firewall.Always
	for _, e := range conditions {
		if m = m.And(carryOut(&r, p, e, sets)); m == firewall.Never {
			return m
		}
	}
	if last != nil {
		m = m.And(last(&r))
	}
	return m
}

// carryOut carries out one expression. One that only loads a register, counts or logs always
// matches.
func carryOut(r *registers, p firewall.Packet, e expr.Any, sets map[string]setContent) firewall.Match {
	switch e := e.(type) {
	case *expr.Meta:
		if !e.SourceRegister {
			r.load(e.Register, metaCells(p, e.Key))
		}
	case *expr.Ct:
		if !e.SourceRegister {
			r.load(e.Register, conntrackCells(p, e.Key))
		}
	case *expr.Payload:
		if e.OperationType == expr.PayloadLoad {
			r.load(e.DestRegister, payloadCells(p, e))
		}
	case *expr.Fib:
		r.load(e.Register, fibCells(p, e))
	case *expr.Immediate:
		r.load(e.Register, cells(known, e.Data...))
	case *expr.Exthdr:
		r.load(e.DestRegister, unknowns(e.Len))
		if e.Op == expr.ExthdrOpIpv6 && e.Flags&unix.NFT_EXTHDR_F_PRESENT == 0 {
			return usually(false) // a header that ordinary packets do not have
		}
	case *expr.Bitwise:
		r.load(e.DestRegister, bitwise(r.at(e.SourceRegister, int(e.Len)), e.Mask, e.Xor))
	case *expr.Hash:
		r.load(e.DestRegister, unknowns(4))
	case *expr.Numgen:
		r.load(e.Register, unknowns(4))
	case opaque:
		*r = registers{} // it does not say which ones it fills
	case *expr.Cmp:
		return compare(e.Op, r.at(e.Register, len(e.Data)), e.Data)
	case *expr.Range:
		in := r.at(e.Register, len(e.FromData))
		m := atLeast(in, e.FromData).And(atMost(in, e.ToData))
		if e.Op == expr.CmpOpNeq {
			m = m.Not()
		}
		return m
	case *expr.Lookup:
		return lookup(r, e, sets)
	case *expr.Limit:
		return rate(e.Over)
	case *expr.Connlimit:
		return rate(e.Flags&1 != 0) // NFT_CONNLIMIT_F_INV
	case *expr.Dynset:
		return dynset(r, p, e)
	case *expr.Objref:
		return objref(e)
	case *expr.Match:
		return xtMatch(p, e)
	case *expr.Counter, *expr.Log, *expr.Target, *expr.Notrack, *expr.FlowOffload, *expr.SecMark, *expr.CtHelper, *expr.CtTimeout, *expr.Verdict, *expr.NAT, *expr.Masq:
	default:
		return firewall.Unsure
	}
	return firewall.Always
}

// rate is the match of a limit: an ordinary host stays below it.
func rate(over bool) firewall.Match { return usually(!over) }

func lookup(r *registers, e *expr.Lookup, sets map[string]setContent) firewall.Match {
	m := sets[e.SetName].contains(r, e.SourceRegister)
	if e.IsDestRegSet { // a map of values
		r.load(e.DestRegister, unknowns(16))
		return m
	}
	if e.Invert {
		return m.Not()
	}
	return m
}

// dynset adds a host to a set, and may ask for a rate of its own.
func dynset(r *registers, p firewall.Packet, e *expr.Dynset) firewall.Match {
	m := firewall.Always
	for _, inner := range e.Exprs {
		m = m.And(carryOut(r, p, inner, nil))
	}
	if e.Invert {
		return m.Not()
	}
	return m
}

// objref is the use of a named object. Counters, helpers, timeouts and labels let every packet by
// (NFT_OBJECT_* in include/uapi/linux/netfilter/nf_tables.h).
func objref(e *expr.Objref) firewall.Match {
	switch e.Type {
	case unix.NFT_OBJECT_COUNTER, unix.NFT_OBJECT_CT_HELPER, 7, 8: // the last: timeouts, labels
		return firewall.Always
	default:
		return firewall.Unsure
	}
}

func native(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func metaCells(p firewall.Packet, key expr.MetaKey) []cell {
	family, ethernet := byte(unix.NFPROTO_IPV4), uint16(unix.ETH_P_IP)
	if p.V6 {
		family, ethernet = unix.NFPROTO_IPV6, unix.ETH_P_IPV6
	}
	switch key {
	case expr.MetaKeyNFPROTO:
		return cells(known, family)
	case expr.MetaKeyPROTOCOL:
		return cells(known, bigEndian(ethernet)...)
	case expr.MetaKeyL4PROTO:
		return cells(known, portProtocols[p.Protocol])
	case expr.MetaKeyIIFNAME:
		if p.Interface == "" {
			return cells(ofLink, make([]byte, unix.IFNAMSIZ)...)
		}
		return cells(known, append([]byte(p.Interface), make([]byte, unix.IFNAMSIZ)...)[:unix.IFNAMSIZ]...)
	case expr.MetaKeyIIF:
		if p.Index == 0 {
			return cells(ofLink, native(0)...)
		}
		return cells(known, native(uint32(p.Index))...)
	case expr.MetaKeyMARK:
		if !p.Marked {
			return cells(known, native(0)...)
		}
	case expr.MetaKeyPKTTYPE:
		if p.To.IsValid() {
			return cells(known, unix.PACKET_HOST)
		}
	}
	return unknowns(16)
}

// conntrackCells are those of a connection that is new and not translated.
func conntrackCells(p firewall.Packet, key expr.CtKey) []cell {
	switch {
	case key == expr.CtKeySTATE && !p.Untracked:
		return cells(known, native(expr.CtStateBitNEW)...)
	case key == expr.CtKeyDIRECTION:
		return cells(known, 0)
	case key == expr.CtKeyMARK && !p.Marked, key == expr.CtKeySTATUS && !p.Translated && !p.Untracked:
		return cells(known, native(0)...)
	case key == expr.CtKeySRC:
		return cells(ofHost, make([]byte, 16)...)
	case key == expr.CtKeyPROTODST && !p.Translated:
		return portCells(p)
	default:
		return unknowns(16)
	}
}

func portCells(p firewall.Packet) []cell {
	if p.AnyPort {
		return unknowns(2)
	}
	return cells(known, bigEndian(p.Port)...)
}

func payloadCells(p firewall.Packet, e *expr.Payload) []cell {
	header := make([]cell, registerBytes)
	put := func(at int, list []cell) { copy(header[at:], list) }
	switch e.Base {
	case expr.PayloadBaseNetworkHeader:
		protocol, source, to, length := 9, 12, 16, 4
		put(6, cells(usual, 0x40, 0)) // not to be fragmented, and no fragment
		if p.V6 {
			protocol, source, to, length = 6, 8, 24, 16
			put(6, unknowns(2))
		}
		put(protocol, cells(known, portProtocols[p.Protocol]))
		put(source, cells(ofHost, make([]byte, length)...))
		if p.To.IsValid() && p.To.Is6() == p.V6 {
			put(to, cells(known, p.To.AsSlice()...))
		}
	case expr.PayloadBaseTransportHeader:
		put(0, cells(usual, bigEndian(ordinaryPort)...))
		put(2, portCells(p))
		if p.Protocol == "tcp" {
			put(13, cells(known, synFlag))
		}
	}
	if e.Offset > registerBytes || e.Len > registerBytes || e.Offset+e.Len > registerBytes {
		return unknowns(e.Len)
	}
	return header[e.Offset : e.Offset+e.Len]
}

// fibCells are what the routes say of an address. Packets of an ordinary host come by the interface
// that answers go out by.
func fibCells(p firewall.Packet, e *expr.Fib) []cell {
	switch {
	case e.ResultADDRTYPE && e.FlagDADDR && !e.FlagSADDR && !e.FlagIIF && p.To.IsValid():
		return cells(known, native(typeLocal)...)
	case e.ResultADDRTYPE && e.FlagSADDR && !e.FlagDADDR && !e.FlagIIF:
		return cells(usual, native(typeUnicast)...)
	case e.ResultOIF && e.FlagSADDR && !e.FlagDADDR && e.FlagPRESENT:
		return cells(usual, 1)
	case e.ResultOIF && e.FlagSADDR && !e.FlagDADDR && p.Index != 0:
		return cells(usual, native(uint32(p.Index))...)
	default:
		return unknowns(16)
	}
}

// target is that of x_tables, which iptables-nft leaves as it is.
func target(rule *firewall.Rule, e *expr.Target) {
	rule.Action = xtAction(e.Name)
	rule.Marks = rule.Marks || marks(e.Name)
	rule.Untracks = rule.Untracks || untracks(e.Name)
	rule.Proxies = proxies(e.Name)
	switch e.Name {
	case "DNAT":
		rule.Target = translatedTo(e)
	case "REDIRECT":
		rule.Target = thisHost
	}
}
