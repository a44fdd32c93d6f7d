// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"path/filepath"
	"sync"

	"sentinel/internal/blocklist"
	"sentinel/internal/target"
)

// blocklistName is the file of the list in the directory of state.
const blocklistName = "blocklist.json"

// blocklist returns the list of blocked addresses of this machine. Nothing is
// read yet.
func (s session) blocklist() *blocklist.List {
	var allow []netip.Prefix
	for _, n := range s.config.Protect.Addresses {
		allow = append(allow, n.Prefix)
	}
	b := s.host.Blocklist
	return blocklist.New(filepath.Join(s.stateDir, blocklistName), b.Backend, s.withReceivers(b.Context), b.Killer, allow)
}

// receivers are what reports go to. A block of one would blind whoever watches this machine.
type receivers struct {
	blocklist.HostContext
	names blocklist.Lookup
	list  []blocklist.Server
}

func (s session) withReceivers(all blocklist.HostContext) blocklist.HostContext {
	names := s.host.Blocklist.Resolver
	if all == nil || names == nil {
		return all
	}
	r := receivers{HostContext: all, names: names}
	for _, e := range s.config.Webhook.Endpoints {
		r.add(e.URL, "a receiver of this machine's reports (webhook.endpoints)")
	}
	r.add(s.config.Webhook.Proxy, "the proxy of this machine's reports (webhook.proxy)")
	return r
}

func (r *receivers) add(address, why string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if h, err := target.Parse(u.Hostname()); err == nil {
		r.list = append(r.list, blocklist.Server{Host: h, Why: why})
	}
}

// ProtectedAddrs implements [blocklist.HostContext].
func (r receivers) ProtectedAddrs(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	list, err := r.HostContext.ProtectedAddrs(ctx)
	for _, s := range r.list {
		if s.Host.Addr.IsValid() {
			list = append(list, blocklist.Protect(s.Host.Addr, s.Why))
		}
	}
	return list, err
}

// NamedAddrs implements [blocklist.HostContext].
func (r receivers) NamedAddrs(ctx context.Context, protected []blocklist.ProtectedAddr) ([]blocklist.ProtectedAddr, error) {
	var found []blocklist.ProtectedAddr
	var foundErr error
	var both sync.WaitGroup
	both.Go(func() { found, foundErr = blocklist.ProtectServers(ctx, r.names, r.list) })
	list, err := r.HostContext.NamedAddrs(ctx, protected)
	both.Wait()
	return append(list, found...), errors.Join(err, foundErr)
}
