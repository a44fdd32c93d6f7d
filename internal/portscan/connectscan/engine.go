// SPDX-License-Identifier: Apache-2.0

// Package connectscan is the built-in scan engine: it connects to each port and closes
// the connection at once. It needs no privileges. A [Dialer] makes a connection and
// interprets its end; everything else is the same on every system.
package connectscan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/portscan"
)

// rounds bounds how often silent ports are asked on a network that was seen to lose
// packets.
const rounds = 3

// An Engine scans with the connections of a dialer.
type Engine struct {
	dialer Dialer
}

var _ portscan.Engine = Engine{}

// New returns an Engine that connects with d.
func New(d Dialer) Engine { return Engine{d} }

// Name implements [portscan.Engine].
func (Engine) Name() string { return "connect" }

// Scan implements [portscan.Engine]. Every connection under way needs a file and a
// local port; when the system runs out of either, the scan goes on with fewer.
func (e Engine) Scan(ctx context.Context, job portscan.Job) (portscan.Result, error) {
	s := newSweep(e.dialer, job)
	ports := job.Ports
	for round := 1; ; round++ {
		err := s.run(ctx, ports)
		if err != nil || round == rounds || s.window.late == 0 || len(s.silent) == 0 {
			return s.result(ctx, err)
		}
		ports, s.silent = s.silent, nil
		s.window.size = smallWindow
	}
}

// result counts. Silent ports are filtered, unless packets were lost and there was
// no time to ask again: then they have no state.
func (s *sweep) result(ctx context.Context, err error) (portscan.Result, error) {
	filtered, silent := s.filtered, s.unreachable+s.absent
	if err == nil || s.window.late == 0 {
		filtered += len(s.silent)
		silent += len(s.silent)
	}
	if err == nil && s.job.Local {
		err = s.confirm(ctx)
	}
	return portscan.Result{Open: slices.Sorted(maps.Keys(s.open)), Closed: s.closed, Filtered: filtered, Silent: min(silent, filtered)}, err
}

func (s *sweep) confirm(ctx context.Context) error {
	s.window.size, s.window.most = 1, 1
	closed, err := confirm(s.open, func(ports []uint16) error { return s.run(ctx, ports) })
	s.closed += closed
	return err
}

// noRoute says what the system gave as the reason.
func noRoute(err error) error {
	return fmt.Errorf("%w (%s)", portscan.ErrNoRoute, strings.ToLower(errno(err).Error()))
}
