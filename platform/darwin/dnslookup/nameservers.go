// SPDX-License-Identifier: Apache-2.0

// Package dnslookup lists the name servers that macOS asks.
package dnslookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/routing"
)

const (
	scutilProgram = "/usr/sbin/scutil"
	scutilLimit   = 4 * time.Second
	maxResolvers  = 1 << 20 // bytes
	dnsPort       = 53
	// maxServers bounds how many name servers are asked.
	maxServers = 8
)

// errNone says that macOS asks nobody.
var errNone = errors.New("macOS has no name server configured, as is so without a network")

// NameServers returns what lists the name servers that macOS asks about a name,
// in its order (scutil(8)): first those of the longest domain that the name is in, as a VPN
// configures them, and then those for all names. Those for programs that use one interface
// are left out. /etc/resolv.conf does not matter: macOS does not ask by it.
func NameServers(runner sysexec.Runner) func(ctx context.Context, name string) ([]netip.AddrPort, error) {
	return func(ctx context.Context, name string) ([]netip.AddrPort, error) {
		r, err := runner.Run(ctx, sysexec.Command{Path: scutilProgram, Args: []string{"--dns"}, Timeout: scutilLimit, MaxOutput: maxResolvers})
		if err != nil {
			return nil, err
		}
		if r.Exit != 0 {
			return nil, fmt.Errorf("scutil ended with status %d: %s", r.Exit, sanitize.Text(string(r.Stderr), 200))
		}
		return ParseServers(r.Stdout, name)
	}
}

// ParseServers picks from what "scutil --dns" prints. It fails when there is no
// server for the name.
func ParseServers(printed []byte, name string) ([]netip.AddrPort, error) {
	printed, _, _ = bytes.Cut(printed, []byte("DNS configuration (for scoped queries)"))
	resolvers, err := routing.ParseResolvers(printed)
	if err != nil {
		return nil, err
	}
	// Sorting keeps the order of those that are equally close.
	slices.SortStableFunc(resolvers, func(a, b routing.Resolver) int { return closeness(b, name) - closeness(a, name) })
	var servers []netip.AddrPort
	for _, r := range resolvers {
		if closeness(r, name) < 0 {
			continue
		}
		for _, a := range r.Servers {
			if s := netip.AddrPortFrom(a.Unmap(), dnsPort); !slices.Contains(servers, s) {
				servers = append(servers, s)
			}
		}
	}
	if len(servers) == 0 {
		return nil, errNone
	}
	return servers[:min(len(servers), maxServers)], nil
}

// closeness is the length of the domain of a resolver that is there for a name,
// and negative for one that is not.
func closeness(r routing.Resolver, name string) int {
	domain := strings.ToLower(strings.TrimSuffix(r.Domain, "."))
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if domain != "" && name != domain && !strings.HasSuffix(name, "."+domain) {
		return -1
	}
	return len(domain)
}
