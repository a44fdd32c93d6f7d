// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	"sentinel/internal/blocklist"
	"sentinel/platform/unix/hostfile"
)

// maxResolvers bounds one file, in bytes.
const maxResolvers = 64 << 10

// resolverFiles name the name servers: those of programs, and those that the
// servers on this machine ask in turn.
var resolverFiles = []string{
	"etc/resolv.conf",
	"run/systemd/resolve/resolv.conf",
	"run/NetworkManager/no-stub-resolv.conf",
	"run/dnsmasq/resolv.conf",
}

func (s *HostContext) resolvers(context.Context) ([]blocklist.ProtectedAddr, error) {
	var list []blocklist.ProtectedAddr
	var errs []error
	for _, name := range resolverFiles {
		raw, err := hostfile.Read(filepath.Join(s.root, name), maxResolvers)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("/%s: %w", name, hostfile.Reason(err)))
			continue
		}
		for _, a := range parseResolvers(string(raw)) {
			list = append(list, vital(a, "a name server of this machine"))
		}
	}
	return list, errors.Join(errs...)
}

// parseResolvers parses resolv.conf(5). A name server that is no address is one
// that the C library does not ask either.
func parseResolvers(text string) []netip.Addr {
	var list []netip.Addr
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(fields[1]); err == nil {
			list = append(list, a)
		}
	}
	return list
}
