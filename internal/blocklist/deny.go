// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"net/netip"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// A denyReason is why an address must not be blocked.
type denyReason struct {
	why    string // sameExpiry the sentence "203.0.113.1 is ..."
	always bool   // --force does not lift it: the block could only do harm
}

// denyReason returns the strongest reason against blocking a, or nil.
func (l *List) denyReason(a netip.Addr, protected []ProtectedAddr) *denyReason {
	if d := specialAddress(a); d != nil {
		return d
	}
	var found *denyReason
	for _, v := range protected {
		if covers(v.Prefix, a) && (found == nil || v.Own) {
			found = &denyReason{sanitize.Text(v.Why, maxText), v.Own}
		}
	}
	for _, p := range l.allow {
		if covers(p, a) && found == nil {
			found = &denyReason{"on the allowlist of the configuration (" + p.String() + ")", false}
		}
	}
	return found
}

// specialAddress judges an address by what it is on every machine (RFC 6890).
func specialAddress(a netip.Addr) *denyReason {
	switch {
	case a.IsLoopback():
		return &denyReason{"a loopback address, over which this machine talks to itself", true}
	case a.IsUnspecified():
		return &denyReason{"the unspecified address, which is no host", true}
	case a.IsMulticast():
		return &denyReason{"a multicast address, which no packet comes from", true}
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return &denyReason{"the broadcast address, which DHCP needs", false}
	default:
		return nil
	}
}

// covers says whether a, which is no IPv4-mapped address, lies in p, which may
// be written as one.
func covers(p netip.Prefix, a netip.Addr) bool {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Contains(a.WithZone(""))
}

// checkAllowed refuses to block a where this machine depends on it, or where that
// is unknown. overruled says that the block is possible only because of force.
func (l *List) checkAllowed(ctx context.Context, a netip.Addr, force bool) (overruled bool, err error) {
	protected, err := l.hostContext.ProtectedAddrs(ctx)
	d := l.denyReason(a, protected)
	switch {
	case d != nil && d.always:
		return false, fault.New(fault.ProtectedAddress, fmt.Sprintf("%s is %s.", a, d.why)).
			WithFix("Block another address; nothing lifts this refusal.")
	case ctx.Err() != nil:
		return false, ctx.Err()
	case force:
		return d != nil, nil
	case d != nil:
		return false, fault.New(fault.ProtectedAddress, fmt.Sprintf("%s is %s.", a, d.why)).WithFix("Leave it reachable, or " + forceHint(a))
	case err != nil:
		return false, fault.Wrap(fault.Unavailable, "What this machine must stay in contact with is not known", err).
			WithFix("Fix what the message names, or " + forceHint(a))
	}
	return false, nil
}

// forceHint ends a fix with what an administrator at the machine can do.
func forceHint(a netip.Addr) string {
	return "block it at the console with: sudo sentinel --block-ip " + a.String() + " --force"
}
