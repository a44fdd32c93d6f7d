// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package dnslookup lists the name servers that programs on Linux ask.
package dnslookup

import (
	"context"
	"net/netip"
	"path/filepath"

	"sentinel/internal/dnslookup"
	"sentinel/platform/unix/hostfile"
)

// maxResolvConf bounds the file, in bytes.
const maxResolvConf = 64 << 10

// NameServers returns what lists the name servers that programs on the machine
// below root ask, in their order and whatever the name (resolv.conf(5)). Without the file it is the
// one on this machine.
func NameServers(root string) func(context.Context, string) ([]netip.AddrPort, error) {
	return func(context.Context, string) ([]netip.AddrPort, error) {
		raw, err := hostfile.Read(filepath.Join(root, "etc/resolv.conf"), maxResolvConf)
		if err != nil && !hostfile.Missing(err) {
			return nil, hostfile.Reason(err)
		}
		return dnslookup.ParseServers(string(raw)), nil
	}
}
