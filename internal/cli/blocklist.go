// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/netip"
	"path/filepath"

	"sentinel/internal/blocklist"
)

// blocklistName is the file of the list in the folder of state.
const blocklistName = "blocklist.json"

// blocklist returns the list of blocked addresses of this machine. Nothing is
// read yet.
func (s session) blocklist(ctx context.Context) *blocklist.List {
	var allow []netip.Prefix
	for _, n := range s.config.Protect.Addresses {
		allow = append(allow, n.Prefix)
	}
	b := s.host.Blocking
	backend := func() (blocklist.Backend, error) { return b.Backend(ctx) }
	return blocklist.New(filepath.Join(s.stateDir, blocklistName), backend, b.Around, b.Cut, allow)
}
