// SPDX-License-Identifier: Apache-2.0

package interfaces

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"path/filepath"
	"strconv"

	"sentinel/platform/unix/hostfile"
)

// maxIfInet6 caps the list of addresses, in bytes: some 70,000 of them.
const maxIfInet6 = 4 << 20

// IPv6Addresses reads /proc/net/if_inet6 below root: the addresses of each
// interface, by name. It serves where netlink is forbidden; there is no such file
// for IPv4.
func IPv6Addresses(root string) (map[string][]netip.Prefix, error) {
	raw, err := hostfile.Read(filepath.Join(root, "proc/net/if_inet6"), maxIfInet6)
	if err != nil {
		return nil, err
	}
	return parseIfInet6(raw)
}

// parseIfInet6 reads lines of address, index, prefix length, scope, flags (all
// hexadecimal) and name.
func parseIfInet6(b []byte) (map[string][]netip.Prefix, error) {
	byName := make(map[string][]netip.Prefix)
	for line := range bytes.Lines(b) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 6 {
			return nil, ErrFormat
		}
		var address [16]byte
		length, err := strconv.ParseUint(string(fields[2]), 16, 8)
		if len(fields[0]) != 32 || err != nil || length > 128 {
			return nil, ErrFormat
		}
		if _, err := hex.Decode(address[:], fields[0]); err != nil {
			return nil, ErrFormat
		}
		name := string(fields[5])
		byName[name] = append(byName[name], netip.PrefixFrom(netip.AddrFrom16(address), int(length)))
	}
	return byName, nil
}
