// SPDX-License-Identifier: Apache-2.0

// Package connect is a scan engine that any system can run: it connects to each
// port and hangs up at once. It needs no privilege.
package connect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sentinel/internal/portscan"
)

// rounds bounds how often ports that stayed silent are asked on a network that
// was seen to lose packets.
const rounds = 3

// An Engine scans with the sockets of this system.
type Engine struct {
	dialer dialer
}

var _ portscan.Engine = Engine{}

// New returns the Engine of this system.
func New() Engine { return Engine{live{}} }

// Name implements [portscan.Engine].
func (Engine) Name() string { return "connect" }

// Scan implements [portscan.Engine]. It needs one file for every connection
// under way; when the system has no more of them, or of local ports, it goes on with fewer.
func (e Engine) Scan(ctx context.Context, job portscan.Job) (portscan.Result, error) {
	s := newSweep(e.dialer, job)
	due := job.Ports
	for round := 1; ; round++ {
		err := s.run(ctx, due)
		if err != nil || round == rounds || s.pace.late == 0 || len(s.silent) == 0 {
			return s.result(ctx, err)
		}
		due, s.silent = s.silent, nil
		s.pace.window = smallWindow
	}
}

// result counts. Ports that stayed silent are filtered, but where packets were
// lost and there was no time to ask again they have no state.
func (s *sweep) result(ctx context.Context, err error) (portscan.Result, error) {
	filtered := s.filtered
	if err == nil || s.pace.late == 0 {
		filtered += len(s.silent)
	}
	if err == nil {
		err = s.confirm(ctx)
	}
	return portscan.Result{Open: slices.Sorted(maps.Keys(s.open)), Closed: s.closed, Filtered: filtered}, err
}

// confirm asks again where a scan of this machine may have met itself.
func (s *sweep) confirm(ctx context.Context) error {
	if !s.job.Local {
		return nil
	}
	s.pace.window, s.pace.most = 1, 1
	closed, err := portscan.Confirm(s.open, func(ports []uint16) error { return s.run(ctx, ports) })
	s.closed += closed
	return err
}

// describe names an error with what it means for the scan.
func describe(err error) error {
	return fmt.Errorf("%w (%s)", portscan.ErrNoRoute, strings.ToLower(number(err).Error()))
}
