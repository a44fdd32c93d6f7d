// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/target"
)

// A Server is a host that the configuration of this machine names.
type Server struct {
	Host target.Host
	// Service makes the host a domain whose servers the DNS tells: those of _Service._tcp (RFC 2782).
	Service string
	// Why ends the sentence "203.0.113.1 is ...".
	Why string
	// Needed says that without it nobody might log in, so that addresses which are not known forbid a
	// block.
	Needed bool
	// Announced is that of [ProtectedAddr].
	Announced bool
}

// At protects an address of the server.
func (s Server) At(a netip.Addr) ProtectedAddr {
	p := Protect(a, s.Why)
	p.Announced = s.Announced
	return p
}

// A Lookup finds addresses and servers by name; *[net.Resolver] is one.
type Lookup interface {
	target.Resolver
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

const (
	maxServers  = 64              // looked up for one block
	maxListed   = 16              // servers of one domain
	lookupLimit = 3 * time.Second // for all of them, which are asked for at the same time
)

// ProtectServers protects the addresses that the name servers give for the servers now. The error names
// those needed that they did not answer about, or that are too many; a name that does not exist has none.
func ProtectServers(ctx context.Context, names Lookup, list []Server) ([]ProtectedAddr, error) {
	list = slices.SortedStableFunc(slices.Values(list), func(a, b Server) int { return answer.TrueFirst(a.Needed, b.Needed) })
	var tooMany error
	if len(list) > maxServers && list[maxServers].Needed {
		tooMany = fmt.Errorf("more than %d servers", maxServers)
	}
	list = list[:min(maxServers, len(list))]
	limited, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	found, errs := make([][]ProtectedAddr, len(list)), make([]error, len(list))
	var all sync.WaitGroup
	for i, s := range list {
		all.Go(func() { found[i], errs[i] = s.protect(limited, names) })
	}
	all.Wait()
	return slices.Concat(found...), errors.Join(append(errs, tooMany, ctx.Err())...)
}

// protect looks up one server.
func (s Server) protect(ctx context.Context, names Lookup) (list []ProtectedAddr, err error) {
	hosts := []target.Host{s.Host}
	if s.Service != "" {
		hosts, err = s.ofDomain(ctx, names)
	}
	for _, h := range hosts {
		addresses, hostErr := h.Resolve(ctx, names)
		for _, a := range addresses {
			list = append(list, s.At(a))
		}
		err = errors.Join(err, missing(hostErr))
	}
	switch {
	case err == nil || !s.Needed:
		return list, nil
	case ctx.Err() != nil:
		err = errors.New("the name servers do not answer in time")
	}
	return list, fmt.Errorf("%s, which is %s: %w", s.Host, s.Why, err)
}

// ofDomain asks for the servers of a domain.
func (s Server) ofDomain(ctx context.Context, names Lookup) (hosts []target.Host, err error) {
	_, records, err := names.LookupSRV(ctx, s.Service, "tcp", s.Host.Name)
	for _, r := range records[:min(len(records), maxListed)] {
		if h, bad := target.Parse(strings.TrimSuffix(r.Target, ".")); bad == nil {
			hosts = append(hosts, h)
		}
	}
	return hosts, missing(err)
}

// missing forgets that there is no such name, or no address for it: nothing is there to be protected.
func missing(err error) error {
	failure, ok := errors.AsType[*net.DNSError](err)
	if ok && failure.IsNotFound || !ok && err != nil && errors.Unwrap(err) == nil && fault.From(err).Code == fault.HostNotFound {
		return nil
	}
	return err
}
