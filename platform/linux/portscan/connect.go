// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package portscan finds out which TCP ports take connections, with connect(2) on
// one thread and epoll(7), and tells a scan about the machine that it starts from. It needs no
// privilege.
package portscan

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/portscan"
	"sentinel/platform/linux/errqueue"
	"sentinel/platform/unix/hostfile"
)

const (
	// patience is how long a port may take to answer. The kernel sends the
	// first packet again after a second (TCP_TIMEOUT_INIT in include/net/tcp.h), so that
	// one lost packet never hides an open port.
	patience = 2200 * time.Millisecond
	// resent is how old an answer is that only the second packet can have got.
	resent = 950 * time.Millisecond
	// rounds bounds how often ports that stayed silent are asked on a network
	// that was seen to lose packets.
	rounds = 3
)

const (
	firstWindow = 256  // connections under way at first
	smallWindow = 64   // and at least on a network that loses packets
	maxWindow   = 4096 // and at most
	// ramp is how often the window doubles while no packet was seen to be lost.
	ramp = 10 * time.Millisecond
	// reserve is how many files the rest of the process may have open.
	reserve = 64
)

// A Connect is the built-in scan engine: it connects and hangs up at once.
type Connect struct{ root string }

var _ portscan.Engine = Connect{}

// NewConnect returns the engine for root, "/" on a live system, which tells the
// range of local ports.
func NewConnect(root string) Connect { return Connect{root} }

// Name implements [portscan.Engine].
func (Connect) Name() string { return "connect" }

// Scan implements [portscan.Engine]. It needs one file for every connection
// under way; when the system has no more of them, or of local ports, it goes on with fewer.
func (c Connect) Scan(ctx context.Context, job portscan.Job) (portscan.Result, error) {
	s, err := newSweep(job, c.room())
	if err != nil {
		return portscan.Result{}, err
	}
	defer s.close()
	due := job.Ports
	for round := 1; ; round++ {
		err := s.run(ctx, due)
		if round > 1 { // what was not asked again stays silent
			s.filtered += len(job.Ports) - s.known()
		}
		if err != nil || round == rounds || s.late == 0 || len(s.silent) == 0 {
			return s.result(ctx, err)
		}
		due, s.silent = s.silent, nil
		s.window = min(smallWindow, s.most)
	}
}

// room is how many connections may be under way: as many as there are files to
// be had, and at most half of the local ports.
func (c Connect) room() int {
	room := maxWindow
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < maxWindow+reserve {
		room = max(1, int(files.Cur)-reserve)
	}
	var low, high int
	text, err := hostfile.Text(filepath.Join(c.root, "proc/sys/net/ipv4/ip_local_port_range"))
	if _, bad := fmt.Sscan(text, &low, &high); err == nil && bad == nil && high >= low {
		room = min(room, max(1, (high-low+1)/2))
	}
	return room
}

// known is how many ports have a state.
func (s *sweep) known() int { return len(s.open) + s.closed + s.filtered + len(s.silent) }

// result counts. Ports that stayed silent are filtered.
func (s *sweep) result(ctx context.Context, err error) (portscan.Result, error) {
	if err == nil {
		err = s.confirm(ctx)
	}
	r := portscan.Result{Open: make([]uint16, 0, len(s.open)), Closed: s.closed, Filtered: s.filtered + len(s.silent)}
	for port := range s.open {
		r.Open = append(r.Open, port)
	}
	slices.Sort(r.Open)
	return r, err
}

// confirm asks again where a scan of this machine may have met itself.
func (s *sweep) confirm(ctx context.Context) error {
	if !s.job.Local {
		return nil
	}
	s.window, s.most = 1, 1
	closed, err := portscan.Confirm(s.open, func(ports []uint16) error { return s.run(ctx, ports) })
	s.closed += closed
	return err
}

// number returns what a system call said, 0 for success.
func number(err error) unix.Errno {
	n, _ := errors.AsType[unix.Errno](err)
	return n
}

// scarce says that the system has run out of what a connection needs.
func scarce(err error) bool {
	switch number(err) {
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.EADDRNOTAVAIL, unix.EAGAIN:
		return true
	default:
		return false
	}
}

// describe names an error with what it means for the scan.
func describe(err error) error {
	if errqueue.NoRoute(err) {
		return fmt.Errorf("%w (%s)", portscan.ErrNoRoute, strings.ToLower(err.Error()))
	}
	return err
}
