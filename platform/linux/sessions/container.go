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
	"strconv"

	"github.com/vishvananda/netlink"

	"sentinel/internal/sessions"
)

// Container implements [sessions.Source]. What is around a container that this run is in, whose programs it does not
// see, is another machine to it.
func (r *reading) Container(ctx context.Context, host netip.Addr) (c sessions.Container, on bool, err error) {
	ids, err := r.tunnels.Behind(ctx, host)
	if len(ids) == 0 {
		return c, err != nil, err
	}
	for _, id := range ids {
		name, known := r.numbered(ctx)[id]
		switch {
		case !known && r.nested:
			return c, false, nil
		case !known:
			return c, true, errEmpty
		}
		c, err = r.visit(ctx, name)
		c.Processes = r.living()[name]
		if err != nil || slices.Contains(c.Addresses, host) {
			return c, true, err
		}
	}
	return c, true, errors.New("its network namespace does not have that address")
}

// errEmpty is no want where programs are looked for.
var errEmpty = errors.New("no program in its network namespace is seen")

// Containers looks into those of this machine that hosts are in, by the rules of [reading.Container], each for its
// host. What could not be looked at is an error beside the rest.
func (r *Reader) Containers(ctx context.Context, hosts []netip.Addr) (map[netip.Addr]sessions.Container, error) {
	pass := r.reading(nil)
	defer pass.leave()
	if _, _, err := pass.begin(ctx); err != nil {
		return nil, err
	}
	found, sockets := map[netip.Addr]sessions.Container{}, map[sessions.Space][]sessions.Socket{}
	var errs []error
	for _, host := range hosts {
		c, on, err := pass.Container(ctx, host)
		if err != nil && !errors.Is(err, errEmpty) {
			errs = append(errs, fmt.Errorf("%s: %w", host, err))
		}
		if sockets[c.Space] == nil {
			sockets[c.Space] = c.Sockets
		}
		if c.Sockets = sockets[c.Space]; on {
			found[host] = c
		}
	}
	return found, errors.Join(errs...)
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
			if name := r.namespace(strconv.Itoa(pid), "net"); name != "" && name != r.space {
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
		if f, err = r.open(pid); err == nil && r.namespace(strconv.Itoa(pid), "net") == name {
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
