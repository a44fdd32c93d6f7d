// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/netip"
	"path/filepath"

	"sentinel/internal/blocklist"
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
	return blocklist.New(filepath.Join(s.stateDir, blocklistName), b.Backend, b.Context, b.Killer, allow)
}
