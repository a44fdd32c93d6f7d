// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"

	"github.com/vishvananda/netlink"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/tunnels"
)

// Container implements [sessions.Source].
func (r *reading) Container(ctx context.Context, host netip.Addr) (c sessions.Container, on bool, err error) {
	return r.container(ctx, tunnels.Hop{Address: host.Unmap()})
}

// container looks for the one that has the address of a neighbour, among those that packets to it may go to. Where none
// has, the error says why, and the processes are those of all that may have it. What is around a container that this
// run is in, whose programs it does not see, is another machine to it.
func (r *reading) container(ctx context.Context, at tunnels.Hop) (c sessions.Container, on bool, err error) {
	ids, err := r.tunnels.Behind(ctx, at)
	if len(ids) == 0 {
		return c, err != nil, err
	}
	var others []int
	unseen := false
	for _, id := range ids {
		name, known := r.numbered(ctx)[id]
		unseen = unseen || !known
		addresses, bad := r.addressesIn(ctx, name)
		switch pids := r.living()[name]; {
		case !known:
		case slices.Contains(addresses, at.Address.WithZone("")):
			c, err = r.visit(ctx, name)
			c.Processes = pids
			return c, true, err
		case bad != nil:
			c.Processes, err = append(c.Processes, pids...), errors.Join(err, bad)
		default:
			others = append(others, pids...)
		}
	}
	switch {
	case err != nil:
		return c, true, err
	case unseen && r.nested:
		return c, false, nil
	case unseen:
		return c, true, errEmpty
	}
	c.Processes = others
	return c, true, errOthers
}

var (
	errEmpty  = errors.New("no program in its network namespace is seen")
	errOthers = errors.New("its network namespace does not have that address")
)

// A Found is a container that a neighbour is in.
type Found struct {
	sessions.Container
	Err error // why it is not known whether it is in this one, or what is in there
}

// Containers looks into those of this machine that neighbours are in, each for its neighbour. None counts as one that a
// neighbour is in without its address, whoever sends packets from that.
func (r *Reader) Containers(ctx context.Context, neighbours []tunnels.Hop) (list []Found, unread error) {
	pass := r.reading(nil)
	defer pass.leave()
	if _, _, err := pass.begin(ctx); err != nil {
		return nil, err
	}
	list = make([]Found, len(neighbours))
	sockets := map[sessions.Space][]sessions.Socket{}
	for i, at := range neighbours {
		c, on, err := pass.container(ctx, at)
		if errors.Is(err, errEmpty) || errors.Is(err, errOthers) || !on {
			continue
		}
		if err != nil && len(c.Processes) == 0 {
			unread = errors.Join(unread, err)
			continue
		}
		if sockets[c.Space] == nil {
			sockets[c.Space] = c.Sockets
		}
		c.Sockets = sockets[c.Space]
		list[i] = Found{c, err}
	}
	return list, unread
}

// addressesIn lists those of a network namespace, once.
func (r *reading) addressesIn(ctx context.Context, name string) ([]netip.Addr, error) {
	if known, met := r.addresses[name]; met || ctx.Err() != nil {
		return known, ctx.Err()
	}
	f, err := r.openSpace(name)
	if f == nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	var list []netip.Addr
	err = within(f, func() (err error) {
		list, err = interfaces.Addresses()
		return err
	})
	if err == nil {
		r.addresses[name] = list
	}
	return list, err
}

// visit reads a network namespace, once.
func (r *reading) visit(ctx context.Context, name string) (sessions.Container, error) {
	known, met := r.spaces[name]
	if met {
		return known, nil
	}
	if len(r.entered) >= maxContainers {
		return sessions.Container{}, fmt.Errorf("more than %d containers are not looked into", maxContainers)
	}
	f, err := r.openSpace(name)
	if err != nil {
		return sessions.Container{}, err
	}
	r.entered = append(r.entered, f)
	n, err := look(ctx, f)
	if err != nil {
		return sessions.Container{}, err
	}
	c := sessions.Container{Space: sessions.Space(len(r.spaces) + 1), Addresses: n.addresses}
	r.spaces[name] = c
	c.Sockets = n.in(c.Space)
	r.keep(c.Sockets)
	return c, nil
}

// living lists the processes that live in each network namespace but this run's.
func (r *reading) living() map[string][]int {
	if r.lives == nil {
		r.lives = map[string][]int{}
		for _, pid := range r.pidsSeen {
			if name := r.namespace(pid, "net"); name != "" && name != r.space {
				r.lives[name] = append(r.lives[name], pid)
			}
		}
	}
	return r.lives
}

// numbered names the network namespaces by the numbers that this run's has for them.
func (r *reading) numbered(ctx context.Context) map[int]string {
	if r.numbers == nil {
		r.numbers = map[int]string{}
		for _, name := range slices.Sorted(maps.Keys(r.living())) {
			if ctx.Err() != nil {
				break
			}
			if id := r.number(name); id >= 0 {
				r.numbers[id] = name
			}
		}
	}
	return r.numbers
}

// number returns the one that this run's network namespace has for another; negative for none.
func (r *reading) number(name string) int {
	f, err := r.openSpace(name)
	if err != nil {
		return -1
	}
	defer f.Close() //nolint:errcheck // only read from
	if id, err := netlink.GetNetNsIdByFd(int(f.Fd())); err == nil {
		return id
	}
	return -1
}

// openSpace opens a network namespace by the first process that still lives in it.
func (r *reading) openSpace(name string) (f *os.File, err error) {
	for _, pid := range r.living()[name] {
		if f, err = r.open(pid); err == nil && r.namespace(pid, "net") == name {
			return f, nil
		}
		if err == nil {
			f.Close() //nolint:errcheck // only read from
			err = errors.New("its processes are in another one now")
		}
	}
	return nil, err
}

// leave closes the network namespaces that were entered.
func (r *reading) leave() {
	for _, f := range r.entered {
		f.Close() //nolint:errcheck // only read from
	}
}
