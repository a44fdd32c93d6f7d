// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sentinel/internal/blocklist"
	"sentinel/platform/linux/resolvconf"
	"sentinel/platform/unix/hostfile"
)

// resolverFiles name the name servers: those of programs, and those that systemd-resolved, NetworkManager
// and resolvconf(8) give to a resolver on this machine. What its own files name is of servernames.
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
		servers, err := resolvconf.Servers(filepath.Join(s.root, name))
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("/%s: %w", name, hostfile.Reason(err)))
			continue
		}
		for _, a := range servers {
			list = append(list, blocklist.Protect(a, blocklist.WhyNameServer))
		}
	}
	return list, errors.Join(errs...)
}
