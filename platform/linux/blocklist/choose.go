// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// DetectBackend returns the backend for this kernel: [Nftables] where it has nftables,
// else [Iptables] where its programs are installed. Without either the error is
// FIREWALL_UNAVAILABLE. It asks the kernel one question and changes nothing.
func DetectBackend(ctx context.Context, runner sysexec.Runner) (blocklist.Backend, error) {
	n := NewNftables()
	_, err := n.open(ctx).ListTablesOfFamily(ownTable().Family)
	if !lacksNftables(err) {
		return n, nil // or the caller may not look, which its first operation will say
	}
	return chooseIptables(NewIptables(runner, ""))
}

// chooseIptables is for a kernel without nftables.
func chooseIptables(tables *Iptables) (blocklist.Backend, error) {
	if _, err := tables.program(iptablesFamilies[0], ""); err != nil {
		return nil, fault.New(fault.FirewallUnavailable, "The kernel has no nftables, and iptables is not installed.")
	}
	return tables, nil
}

// lacksNftables says that the kernel does not know nftables. nfnetlink answers EINVAL
// for a part of itself that is not there.
func lacksNftables(err error) bool {
	return slices.ContainsFunc([]error{
		unix.EINVAL, unix.EOPNOTSUPP, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT,
	}, func(e error) bool { return errors.Is(err, e) })
}
