// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netattr

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
)

// Dumps bounds how often a list is asked for that changes while it is read.
const Dumps = 3

// Complete repeats a dump as long as something changed while it was read, at most [Dumps] times. The
// library panics where an attribute is shorter than the kernel makes it; that is [ErrFormat].
func Complete[T any](ctx context.Context, dump func() ([]T, error)) (list []T, err error) {
	defer func() {
		if r := recover(); r != nil {
			list, err = nil, fmt.Errorf("%w: %v", ErrFormat, r)
		}
	}()
	for range Dumps {
		if list, err = dump(); ctx.Err() != nil || !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return list, errors.Join(err, ctx.Err())
}
