// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"sentinel/internal/processes"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/tunnels"
)

// waysOut are read once, however many processes are looked at: the files of all tell of them.
type waysOut struct {
	once sync.Once
	list []sessions.Tunnel
	err  error
}

// findWayOut adds to the duty of a process that holds the device of a tunnel that it carries a way out.
func (t *Terminator) findWayOut(ctx context.Context, pid int, d *processes.Duty) {
	t.ways.once.Do(func() { t.ways.list, t.ways.err = tunnels.New(t.root).Out(ctx) })
	d.WayOut = slices.ContainsFunc(t.ways.list, func(out sessions.Tunnel) bool { return slices.Contains(out.Processes, pid) })
	if t.ways.err != nil {
		d.Unread = errors.Join(d.Unread, fmt.Errorf("find the tunnels by which this machine reaches others: %w", t.ways.err))
	}
}
