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
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/tunnels"
)

// waysOut are read once, however many processes are looked at: the files of all tell of them.
type waysOut struct {
	links sync.Once
	none  bool // of the interfaces of this machine is that of a program
	once  sync.Once
	list  []sessions.Tunnel
	err   error
}

// mayTunnel reports whether this machine has an interface whose packets a program carries. Without one the files of
// processes, of which servers have many, need not be asked whether they are its device.
func (t *Terminator) mayTunnel() bool {
	t.ways.links.Do(func() {
		links, err := interfaces.List()
		t.ways.none = err == nil && !slices.ContainsFunc(links, func(l interfaces.Link) bool { return l.Kind == interfaces.KindTUN || l.Kind == "ppp" })
	})
	return !t.ways.none
}

// findWayOut adds to the duty of a process that holds the device of a tunnel that it carries a way out.
func (t *Terminator) findWayOut(ctx context.Context, pid int, d *processes.Duty) {
	t.ways.once.Do(func() { t.ways.list, t.ways.err = tunnels.New(t.root).Out(ctx) })
	d.WayOut = slices.ContainsFunc(t.ways.list, func(out sessions.Tunnel) bool { return slices.Contains(out.Processes, pid) })
	if t.ways.err != nil {
		d.Unread = errors.Join(d.Unread, fmt.Errorf("find the tunnels by which this machine reaches others: %w", t.ways.err))
	}
}
