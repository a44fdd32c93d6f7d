// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	"sentinel/internal/ops"
)

// watched lists the operations after which there may be more or less to restore.
var watched = []string{"block_ip_address", "unblock_ip_address", "enable_firewall", "allow_service", "disable_firewall", "restore_blocklist"}

// watch has the service manager run --restore-blocklist every minute while there is something that
// it could have to restore, and not otherwise.
func (s session) watch(ctx context.Context, op ops.Operation) error {
	if s.host.Blocklist.Watch == nil || !s.root || !s.host.Live || !slices.Contains(watched, op.Name) {
		return nil
	}
	return s.host.Blocklist.Watch(context.WithoutCancel(ctx), s.restorable())
}

// restorable reports whether addresses are listed, or a firewall of sentinel is on or on trial.
// What cannot be read may be there.
func (s session) restorable() bool {
	if empty, err := s.blocklist().Empty(); !empty || err != nil {
		return true
	}
	if trial, err := s.firewallTrials().Current(); trial != nil || err != nil {
		return true
	}
	return s.host.Blocklist.BaselineKept != nil && s.host.Blocklist.BaselineKept()
}
