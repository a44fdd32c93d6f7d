// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"time"
)

// untaken is what a backend forgets.
type untaken struct{ left int }

// Forgotten implements [firewall.Forgetful].
func (u untaken) Forgotten() int { return u.left }

// takeOverLimit bounds how long connection tracking is told of connections: rules are loaded in the rest of a limit. A kernel
// without nf_conntrack_netlink runs modprobe(8) for each.
const takeOverLimit = 3 * time.Second

// takingOver loads rules of ufw or firewalld, which let in what connection tracking knows, beside open connections,
// and counts those that it does not come to know. They are looked at again afterwards: others begin meanwhile.
func (m *Manager) takingOver(ctx context.Context, load func() error) (left int, err error) {
	if _, err := m.takeOver(ctx); err != nil {
		return 0, err
	}
	if err := load(); err != nil {
		return 0, err
	}
	return m.takeOver(ctx)
}

// puttingBack is takingOver for rules that were switched off for a trial: they come back whatever becomes of the connections.
func (m *Manager) puttingBack(ctx context.Context, load func() error) error {
	before, cancel := context.WithTimeout(ctx, takeOverLimit)
	defer cancel()
	m.takeOver(before) //nolint:errcheck // see above
	err := load()
	m.takeOver(ctx) //nolint:errcheck // see above
	return err
}

func (m *Manager) takeOver(ctx context.Context) (left int, err error) {
	list, more, err := m.flows(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the open connections: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, takeOverLimit)
	defer cancel()
	return more + m.sockets.track(ctx, list), nil
}
