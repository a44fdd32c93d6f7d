// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
)

// DefaultPath is where the list is kept. Everyone can read it, so that finding out
// why an address cannot be reached does not take root.
const DefaultPath = "/var/lib/sentinel/blocklist.json"

const (
	// lockTimeout is how long to wait for other runs. Each needs some milliseconds,
	// or some tens on a slow disk, and there may be hundreds.
	lockTimeout = 25 * time.Second
	// doLimit bounds a change once it has begun, even if its caller is gone.
	doLimit = 10 * time.Second
	// undoLimit bounds rolling it back, in addition.
	undoLimit = 5 * time.Second
)

// A List keeps the file and the packet filter in step. It is safe for concurrent
// use, by several processes too.
type List struct {
	path         string
	backend      func(context.Context) (Backend, error)
	hostContext  HostContext
	killer       ConnKiller // nil where connections cannot be ended
	allow        []netip.Prefix
	now          func() time.Time
	lockTimeout  time.Duration
	readInterval time.Duration // between two readings of the same
	locked       func(path string) (bool, error)
}

// New returns the list kept at path. backend is asked when the packet filter is
// needed, and not before. allow holds what the configuration protects.
func New(path string, backend func(context.Context) (Backend, error), hostContext HostContext, killer ConnKiller, allow []netip.Prefix) *List {
	return &List{path, backend, hostContext, killer, allow, time.Now, lockTimeout, readInterval, lockfile.Locked}
}

// filter returns the packet filter.
func (l *List) filter(ctx context.Context) (Backend, error) {
	b, err := l.backend(ctx)
	var known *fault.Error
	if err != nil && !errors.As(err, &known) {
		return nil, fault.Wrap(fault.FirewallUnavailable, "No packet filter can be used", err)
	}
	return b, err
}

// An addrState is what the kernel does with one address.
type addrState struct {
	Block
	found     bool
	effective bool
}

// inForce says that packets of the address are dropped.
func (s addrState) inForce() bool { return s.found && s.effective }

// findInFilter asks for one address, without reading all of them where the backend
// can.
func findInFilter(ctx context.Context, b Backend, a netip.Addr) (addrState, error) {
	if f, ok := b.(Finder); ok {
		block, found, effective, err := f.Find(ctx, a)
		return addrState{block, found, effective}, readError(ctx, err)
	}
	blocks, effective, err := b.Loaded(ctx)
	s := addrState{effective: effective}
	for _, block := range blocks {
		if block.Address == a {
			s.Block, s.found = block, true
		}
	}
	return s, readError(ctx, err)
}

// ready asks the packet filter whether a block would be in force.
func ready(ctx context.Context, b Backend) error {
	if p, ok := b.(Preflighter); ok {
		return readError(ctx, p.Ready(ctx))
	}
	return nil
}

// loaded reads all that the kernel drops.
func loaded(ctx context.Context, b Backend) ([]Block, bool, error) {
	blocks, effective, err := b.Loaded(ctx)
	return blocks, effective, readError(ctx, err)
}

// readError gives a failure to read the packet filter its code.
func readError(ctx context.Context, err error) error {
	var known *fault.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrPermission):
		return fault.Wrap(fault.PermissionDenied, "The packet filter is not readable without root", err)
	default:
		return fault.Wrap(fault.FirewallFailed, "The packet filter cannot be read", err)
	}
}

// detached returns a context for a change that has begun: it ends in time, but
// not with its caller.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
