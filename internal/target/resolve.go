// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"sentinel/internal/fault"
)

// resolveLimit bounds a lookup, and maxAddresses the number of its results.
const (
	resolveLimit = 5 * time.Second
	maxAddresses = 16
)

// A Resolver finds the addresses of a name, best first. *[net.Resolver] is one; it
// sorts them in the order in which net.Dialer would try them (RFC 6724).
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Resolve returns the addresses of the host, best first, at least one. A name
// without addresses is HOST_NOT_FOUND; when ctx ends, the error is that of ctx.
func (h Host) Resolve(ctx context.Context, r Resolver) ([]netip.Addr, error) {
	if h.Addr.IsValid() {
		return []netip.Addr{h.Addr}, nil
	}
	limited, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	found, err := r.LookupNetIP(limited, "ip", h.Name)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, unresolved(h.Name, err)
	}
	var addrs []netip.Addr
	for _, a := range found {
		if plain, err := parseAddress(a.WithZone("")); err == nil && !slices.Contains(addrs, plain.Addr) {
			addrs = append(addrs, plain.Addr)
		}
	}
	if len(addrs) == 0 {
		return nil, fault.New(fault.HostNotFound, "The host "+h.Name+" has no address that can be reached.")
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

// unresolved distinguishes a name that does not exist from name servers that do not
// answer.
func unresolved(name string, err error) error {
	e := &fault.Error{Code: fault.HostNotFound, Message: "No address is known for the host " + name + ".", Err: err}
	failure, ok := errors.AsType[*net.DNSError](err)
	if ok && failure.IsNotFound {
		return e
	}
	e.Message = "The name servers of this machine did not say which address the host " + name + " has."
	return e.WithFix("Look at what they answer with sentinel --dns " + name + ", or send an address.")
}
