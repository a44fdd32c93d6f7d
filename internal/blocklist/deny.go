// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/target"
)

// A denyReason is why an address must not be blocked.
type denyReason struct {
	why    string // ends the sentence "203.0.113.1 is ..."
	always bool   // --force does not lift it: the block could only do harm
	others bool   // only sessions of others would end
	shared bool   // as far as it is this of several addresses
	ends   *fault.Protected
}

// denyReason returns the strongest reason against blocking a, or nil.
func (l *List) denyReason(a netip.Addr, protected []ProtectedAddr) *denyReason {
	if d := specialAddress(a); d != nil {
		return d
	}
	found := l.otherSpelling(a, protected)
	if found != nil && found.always {
		return found
	}
	for _, v := range protected {
		if covers(v.Prefix, a) && (found == nil || v.Own || found.others && !v.OthersSession) {
			found = &denyReason{sanitize.Text(v.Why, maxText), v.Own, v.OthersSession, v.Shared, v.Sessions}
		}
	}
	for _, p := range l.allow {
		if covers(p, a) && (found == nil || found.others) {
			found = &denyReason{why: "on the allowlist of the configuration (" + p.String() + ")"}
		}
	}
	return found
}

// otherSpelling refuses the IPv6 forms of an IPv4 address that is refused itself, as translators and
// tunnels have them: whoever asks for one means the other, and where there is no IPv4 that is how it is
// reached. Sessions of others do not run over them.
func (l *List) otherSpelling(a netip.Addr, protected []ProtectedAddr) *denyReason {
	for _, inner := range target.Carried(a) {
		if d := l.denyReason(inner, protected); d != nil && !d.others {
			return &denyReason{why: fmt.Sprintf("another form of %s, which is %s", inner, d.why), always: d.always}
		}
	}
	return nil
}

// specialAddress judges an address by what it is on every machine (RFC 6890).
func specialAddress(a netip.Addr) *denyReason {
	switch {
	case a.IsLoopback():
		return &denyReason{why: "a loopback address, over which this machine talks to itself", always: true}
	case a.IsUnspecified():
		return &denyReason{why: "the unspecified address, which is no host", always: true}
	case a.IsMulticast():
		return &denyReason{why: "a multicast address, which no packet comes from", always: true}
	case a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return &denyReason{why: "the broadcast address, which DHCP needs"}
	case target.Metadata(a):
		return &denyReason{why: "a service of the cloud, which gives machines their keys, names and settings"}
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

// dependencies reads them. It may take seconds, and so must not be done under the lock.
func (l *List) dependencies(ctx context.Context) depends {
	protected, err := l.hostContext.ProtectedAddrs(ctx)
	named, namedErr := l.hostContext.NamedAddrs(ctx, protected)
	return depends{protected, err, named, namedErr}
}

// checkAllowed refuses to block a where this machine depends on it, or where that
// is unknown. overruled is what the request insists on all the same; nil for nothing.
func (l *List) checkAllowed(ctx context.Context, a netip.Addr, r Request, on depends) (overruled *denyReason, err error) {
	d, unknown := l.denyReason(a, slices.Concat(on.protected, on.named)), errors.Join(on.unknown, on.unnamed)
	switch {
	case d != nil && d.always:
		return nil, d.refusal(a).
			WithFix("Block another address; nothing lifts this refusal.")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.Force:
		return d, nil
	case d != nil && d.others && !r.EndSession:
		return nil, endsSession(a, d)
	case d != nil && d.shared && !d.others:
		return nil, d.refusal(a).WithFix("Refuse it in the proxy itself, which knows whose connection is whose; or " + forceHint(a))
	case d != nil && !d.others:
		return nil, d.refusal(a).WithFix("Leave it reachable, or " + forceHint(a))
	case unknown != nil:
		return nil, fault.Wrap(fault.Unavailable, "What this machine must stay in contact with is not known", unknown).
			WithFix("Fix what the message names, or " + forceHint(a))
	}
	return d, nil
}

func (d *denyReason) refusal(a netip.Addr) *fault.Error {
	return fault.New(fault.ProtectedAddress, fmt.Sprintf("%s is %s.", a, d.why)).Protecting(d.ends)
}

// endsSession refuses to end a session of somebody else that nobody has asked to end.
func endsSession(a netip.Addr, d *denyReason) error {
	return d.refusal(a).
		WithFix("Leave it reachable; or, if that session is to end, block the address with: sudo sentinel --block-ip " + a.String() + " --end-session").
		WithToolFix("Ask the person whether that session is to end. If so, call block_ip_address again with end_session true, which the administrator may have to allow (policy.end_sessions).")
}

// forceHint ends a fix with what an administrator at the machine can do.
func forceHint(a netip.Addr) string {
	return "block it at the console with: sudo sentinel --block-ip " + a.String() + " --force"
}

// A Standing is what becomes of a request to block an address.
type Standing struct {
	Refused string // why it would be refused, which ends the sentence "203.0.113.1 is ..."; empty if it would not
	Listed  bool   // it is on the list already
}

// Standings tells of each address what a request to block it would meet, in one reading of the machine
// and without asking name servers.
// The error says what of that is not known, beside the rest.
func (l *List) Standings(ctx context.Context, list []netip.Addr) (map[netip.Addr]Standing, error) {
	protected, unknown := l.hostContext.ProtectedAddrs(ctx)
	known, err := l.read(fileContent{})
	entries := staying(known.entries, l.now())
	found := make(map[netip.Addr]Standing, len(list))
	for _, a := range list {
		var s Standing
		if d := l.denyReason(a, protected); d != nil {
			s.Refused = d.why
		}
		_, s.Listed = findEntry(entries, a)
		found[a] = s
	}
	return found, errors.Join(unknown, err)
}
