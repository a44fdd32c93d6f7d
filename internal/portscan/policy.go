// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"net/netip"
	"slices"

	"sentinel/internal/fault"
)

// A Policy decides what may be scanned beside this machine.
type Policy struct {
	// Allow widens what may be scanned beyond attached private networks.
	Allow []netip.Prefix
	// OnlyAllowed leaves attached private networks out unless Allow holds them.
	OnlyAllowed bool
	// Force overrides every refusal.
	Force bool
}

// A policyCheck knows the machine and the policy.
type policyCheck struct {
	policy   Policy
	networks []netip.Prefix
}

// own says that an address is one of this machine.
func (j policyCheck) own(a netip.Addr) bool {
	return a.IsLoopback() || slices.ContainsFunc(j.networks, func(n netip.Prefix) bool { return n.Addr() == a })
}

// choose returns the first address that may be scanned. It is the address that
// was judged which is scanned afterwards: a name is not asked for again, since it could
// lead elsewhere then.
func (j policyCheck) choose(name string, addrs []netip.Addr) (netip.Addr, error) {
	var first string
	for _, a := range addrs {
		why := j.refusal(a)
		if why == "" {
			return a, nil
		}
		if first == "" {
			first = why
		}
	}
	message := "The target " + name + " may not be scanned: " + addrs[0].String() + " " + first + "."
	if name == addrs[0].String() {
		message = "The target " + name + " may not be scanned: it " + first + "."
	}
	return netip.Addr{}, fault.New(fault.TargetNotAllowed, message)
}

// refusal says why an address may not be scanned, empty when it may.
func (j policyCheck) refusal(a netip.Addr) string {
	switch {
	case j.policy.Force || j.own(a):
		return ""
	case a.IsLinkLocalUnicast() || slices.Contains(metadataAddrs(), a):
		return "is a link-local or metadata address"
	case slices.ContainsFunc(j.policy.Allow, func(p netip.Prefix) bool { return p.Contains(a) }):
		return ""
	case j.policy.OnlyAllowed:
		return "is not in scan.targets of the configuration"
	case !slices.ContainsFunc(j.networks, func(n netip.Prefix) bool { return n.Contains(a) }):
		return "is on no network that this machine is attached to"
	case !a.IsPrivate():
		return "is not an address of a private network"
	default:
		return ""
	}
}

// metadataAddrs lists where clouds tell a machine its secrets, beside the link-local
// addresses: EC2 and Alibaba Cloud.
func metadataAddrs() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.AddrFrom4([4]byte{100, 100, 100, 200})}
}
