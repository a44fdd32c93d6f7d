// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"sentinel/internal/fault"
)

// Why addresses are protected on every system; each ends the sentence
// "203.0.113.1 is ...".
const (
	WhyOwn        = "an address of this machine"
	WhyBroadcast  = "a broadcast address of a network of this machine"
	WhyGateway    = "a gateway of this machine"
	WhyNameServer = "a name server of this machine"
	// WhyUpstream is about a server without which the machine knows no names, although its own
	// resolv.conf(5) has nothing but the resolver on it.
	WhyUpstream = "a name server that the resolver on this machine asks"
)

// HostContext tells what this machine must not lose contact with.
type HostContext interface {
	// ProtectedAddrs lists addresses and networks with the reason why each must
	// stay reachable. What could not be read is an error beside the rest: unknown is no
	// permission.
	ProtectedAddrs(ctx context.Context) ([]ProtectedAddr, error)
	// NamedAddrs lists those of servers that the configuration of this machine names, as the name
	// servers tell them now, and where rules send what goes to these and to what is protected. Only a new
	// block asks for them: what restores blocks does so every minute, and before there is a network.
	NamedAddrs(ctx context.Context, protected []ProtectedAddr) ([]ProtectedAddr, error)
}

// A ProtectedAddr is an address or a network that must stay reachable.
type ProtectedAddr struct {
	Prefix netip.Prefix
	// Why ends the sentence "203.0.113.1 is ...": "the default gateway".
	Why string
	// Own says that it is an address of this machine itself, which is not
	// blocked even by force.
	Own bool
	// OthersSession says that only sessions of others depend on it, so that it may be blocked by
	// whoever asks for their end.
	OthersSession bool
	// Shared says that a proxy does not show whether it is this address or another that the sessions
	// depend on.
	Shared bool
	// Announced says that other hosts have told so, which a blocked one may have done: no new block is made, and
	// none that is in force is suspended.
	Announced bool
	// Unseen makes this no address, but a clause about sessions of others of which none is known.
	Unseen string
	// Sessions are those that depend on it, as data; nil for none.
	Sessions *fault.Protected
}

// Protect protects one address. A zone has no meaning here: a block holds on
// every interface.
func Protect(a netip.Addr, why string) ProtectedAddr {
	a = a.Unmap().WithZone("")
	return ProtectedAddr{Prefix: netip.PrefixFrom(a, a.BitLen()), Why: why}
}

// ProtectOwn protects an address of this machine.
func ProtectOwn(a netip.Addr, why string) ProtectedAddr {
	p := Protect(a, why)
	p.Own = true
	return p
}

// A ProtectedPart reads one part of what a [HostContext] lists.
type ProtectedPart struct {
	Name string
	Read func(context.Context) ([]ProtectedAddr, error)
}

// ReadProtected reads all parts. The failure of one is no reason to leave out the
// others.
func ReadProtected(ctx context.Context, parts ...ProtectedPart) ([]ProtectedAddr, error) {
	var all []ProtectedAddr
	var errs []error
	for _, p := range parts {
		found, err := p.Read(ctx)
		all = append(all, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	return all, errors.Join(errs...)
}
