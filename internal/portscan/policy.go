// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"cmp"
	"net/netip"
	"slices"

	"sentinel/internal/fault"
)

// A Policy decides what may be scanned in addition to this machine.
type Policy struct {
	// Allow widens what may be scanned beyond attached private networks.
	Allow []netip.Prefix
	// OnlyAllowed leaves attached private networks out unless Allow holds them.
	OnlyAllowed bool
	// Force overrides every refusal.
	Force bool
}

// A policyCheck is a policy on a machine.
type policyCheck struct {
	policy   Policy
	networks []netip.Prefix
}

// own says whether an address is one of this machine.
func (c policyCheck) own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(c.networks, func(n netip.Prefix) bool { return n.Addr() == a })
}

// ownNetworksFix is what to do about a target that may not be scanned. That of the code speaks of
// webhooks, too.
const ownNetworksFix = "Scan this machine or a private network of its own; its administrator can allow more with scan.targets in /etc/sentinel/config.yaml."

// choose returns the first address of each family that may be scanned. The scan uses these
// addresses and does not resolve the name again, which could then lead elsewhere.
func (c policyCheck) choose(name string, addrs []netip.Addr) ([]netip.Addr, error) {
	var chosen []netip.Addr
	var first string
	for _, a := range addrs {
		why := c.refusal(a)
		if why == "" && !slices.ContainsFunc(chosen, func(o netip.Addr) bool { return o.Is4() == a.Is4() }) {
			chosen = append(chosen, a)
		}
		first = cmp.Or(first, why)
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	message := "The target " + name + " may not be scanned: " + addrs[0].String() + " " + first + "."
	if name == addrs[0].String() {
		message = "The target " + name + " may not be scanned: it " + first + "."
	}
	return nil, fault.New(fault.TargetNotAllowed, message).WithFix(ownNetworksFix)
}

// refusal explains why an address may not be scanned; "" if it may.
func (c policyCheck) refusal(a netip.Addr) string {
	switch {
	case c.policy.Force || c.own(a):
		return ""
	case a.IsLinkLocalUnicast() || slices.Contains(metadataAddrs(), a):
		return "is a link-local or metadata address"
	case slices.ContainsFunc(c.policy.Allow, func(p netip.Prefix) bool { return p.Contains(a) }):
		return ""
	case c.policy.OnlyAllowed:
		return "is not in scan.targets of the configuration"
	case !slices.ContainsFunc(c.networks, func(n netip.Prefix) bool { return n.Contains(a) }):
		return "is on no network that this machine is attached to"
	case !a.IsPrivate():
		return "is not an address of a private network"
	default:
		return ""
	}
}

// metadataAddrs are the cloud metadata services that are not link-local: EC2 and
// Alibaba Cloud.
func metadataAddrs() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.AddrFrom4([4]byte{100, 100, 100, 200})}
}
