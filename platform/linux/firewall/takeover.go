// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
)

// untaken is what a backend forgets.
type untaken struct{ left int }

// Forgotten implements [firewall.Forgetful].
func (u untaken) Forgotten() int { return u.left }

// takingOver loads rules of ufw or firewalld, which let in what connection tracking knows, beside open connections,
// and counts those that it does not come to know. They are looked at again afterwards: others begin meanwhile.
func (m *Manager) takingOver(ctx context.Context, load func() error) (left int, err error) {
	_, before := m.takeOver(ctx)
	err = errors.Join(before, load())
	left, after := m.takeOver(ctx)
	return left, errors.Join(err, after)
}

func (m *Manager) takeOver(ctx context.Context) (left int, err error) {
	list, more, err := m.flows(ctx)
	if err != nil {
		return 0, fmt.Errorf("list the open connections: %w", err)
	}
	return more + m.sockets.track(ctx, list), nil
}
