// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"bytes"
	"encoding/binary"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"sentinel/internal/firewall"
)

// A certainty says what is known of a byte that a rule looks at.
type certainty byte

const (
	unknown certainty = iota
	known             // it is this for every packet in question
	usual             // it is this for those of ordinary hosts
	ofHost            // it tells hosts apart: part of their address
	ofLink            // of the interface, which is any but loopback
)

// A cell is one byte.
type cell struct {
	certainty
	value byte
}

func cells(c certainty, value ...byte) []cell {
	list := make([]cell, len(value))
	for i, b := range value {
		list[i] = cell{c, b}
	}
	return list
}

func unknowns(n uint32) []cell { return make([]cell, min(n, registerBytes)) }

// registerBytes is how much the registers hold: sixteen of four bytes, of which
// four each are one in the older numbering (include/uapi/linux/netfilter/nf_tables.h).
const registerBytes = 64

type registers [registerBytes]cell

// place returns where a register begins, -1 for that of the verdict.
func place(register uint32) int {
	switch {
	case register >= unix.NFT_REG_1 && register <= unix.NFT_REG_4:
		return int(register-unix.NFT_REG_1) * 16
	case register >= unix.NFT_REG32_00 && register <= unix.NFT_REG32_15:
		return int(register-unix.NFT_REG32_00) * 4
	default:
		return -1
	}
}

// load puts cells into a register and what follows of the last four bytes.
func (r *registers) load(register uint32, list []cell) {
	at := place(register)
	if at < 0 {
		return
	}
	copy(r[at:], list)
	for end := at + len(list); end%4 != 0 && end < len(r); end++ {
		r[end] = cell{known, 0}
	}
}

// at returns n bytes from a register on; unknown ones beyond the last.
func (r *registers) at(register uint32, n int) []cell {
	list := make([]cell, n)
	if at := place(register); at >= 0 && n <= registerBytes {
		copy(list, r[at:])
	}
	return list
}

// bitwise is "(register & mask) ^ xor".
func bitwise(in []cell, mask, xor []byte) []cell {
	for i := range in {
		switch {
		case i >= len(mask) || i >= len(xor):
			in[i] = cell{}
		case mask[i] == 0:
			in[i] = cell{known, xor[i]}
		default:
			in[i].value = in[i].value&mask[i] ^ xor[i]
		}
	}
	return in
}

// compare is the match of "register op data".
func compare(op expr.CmpOp, in []cell, data []byte) firewall.Match {
	switch op {
	case expr.CmpOpEq:
		return equals(in, data)
	case expr.CmpOpNeq:
		return equals(in, data).Not()
	case expr.CmpOpLt:
		return atLeast(in, data).Not()
	case expr.CmpOpGte:
		return atLeast(in, data)
	case expr.CmpOpGt:
		return atMost(in, data).Not()
	case expr.CmpOpLte:
		return atMost(in, data)
	default:
		return firewall.Unsure
	}
}

// equals takes what is known before what is not: one byte that differs decides.
func equals(in []cell, data []byte) firewall.Match {
	m := firewall.Always
	for i, c := range in {
		switch same := c.value == data[i]; c.certainty {
		case known:
			if !same {
				return firewall.Never
			}
		case usual:
			m = m.And(usually(same))
		case ofHost:
			m = m.And(firewall.Particular)
		case ofLink:
			if isLoopback(data) {
				return firewall.Never
			}
			m = firewall.Unsure
		default:
			m = firewall.Unsure
		}
	}
	return m
}

// isLoopback recognises the name or the index of loopback, which is the first
// interface of every network namespace.
func isLoopback(data []byte) bool {
	return bytes.Equal(bytes.TrimRight(data, "\x00"), []byte("lo")) || bytes.Equal(data, binary.NativeEndian.AppendUint32(nil, 1))
}

func atLeast(in []cell, data []byte) firewall.Match {
	return ordered(in, data, 0, func(order int) bool { return order >= 0 })
}

func atMost(in []cell, data []byte) firewall.Match {
	return ordered(in, data, 0xff, func(order int) bool { return order <= 0 })
}

// ordered compares as the kernel does, byte by byte. A limit at the end of all
// values, of which each byte is end, is none.
func ordered(in []cell, data []byte, end byte, fits func(order int) bool) firewall.Match {
	value := make([]byte, len(in))
	var has [ofLink + 1]bool
	for i, c := range in {
		value[i], has[c.certainty] = c.value, true
	}
	switch {
	case bytes.Count(data, []byte{end}) == len(data):
		return firewall.Always
	case has[unknown] || has[ofLink]:
		return firewall.Unsure
	case has[ofHost]:
		return firewall.Particular
	case has[usual]:
		return usually(fits(bytes.Compare(value, data)))
	default:
		return firewall.Is(fits(bytes.Compare(value, data)))
	}
}
