// SPDX-License-Identifier: Apache-2.0

// Package netattr visits the attributes of netlink messages.
package netattr

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
)

// ErrFormat reports a message that does not have the form that the kernel's headers document.
var ErrFormat = errors.New("unexpected format of a netlink message")

// Visit visits each attribute of a message behind its header, which has the given length. Integers
// are read in network byte order, in which netfilter sends them.
func Visit(message []byte, header int, visit func(*netlink.AttributeDecoder)) error {
	if len(message) < header {
		return ErrFormat
	}
	a, err := netlink.NewAttributeDecoder(message[header:])
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a.ByteOrder = binary.BigEndian
	for a.Next() {
		visit(a)
	}
	if err := a.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// Nested visits the attributes within the current one.
func Nested(outer *netlink.AttributeDecoder, visit func(*netlink.AttributeDecoder)) {
	outer.Nested(func(a *netlink.AttributeDecoder) error {
		for a.Next() {
			visit(a)
		}
		return nil
	})
}
