// SPDX-License-Identifier: Apache-2.0

// Package audit has the checks of the security audit on macOS.
//
// Each family of checks is a file. A check reads files below a root directory and
// runs programs of macOS that only tell; it changes nothing and never asks for anything on
// the screen. What it may not or cannot see, it says so of: a sentence that is not
// understood, because a later macOS or another language words it otherwise, is no verdict.
package audit

import (
	"context"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/network"
	"sentinel/internal/sysexec"
)

// Parts are what the checks look at the system with.
type Parts struct {
	Root   string         // "/" on a live system
	Runner sysexec.Runner // nil of a tree of files
	// Sockets are those of the running system; nil of a tree of files.
	Sockets network.Source
	// SecurityUpdates counts the updates that wait to be installed and close
	// security holes; nil when it cannot be asked.
	SecurityUpdates func(ctx context.Context) ([]string, error)
	// Now is what ages are counted to; zero means the time of the check.
	Now time.Time
	// EUID is the user that sentinel runs as, 0 for root.
	EUID int
	// Owner is the user that files of the system must belong to: 0 on a live one.
	Owner int
}

// A Source is the checks of one Mac. It is safe for concurrent use.
type Source struct{ parts Parts }

var _ audit.Source = (*Source)(nil)

// New returns the checks of the Mac that p describes.
func New(p Parts) *Source { return &Source{parts: p} }

// Checks implements [audit.Source].
func (s *Source) Checks() []audit.Check { return audit.Bind(&machine{Parts: s.parts}, families()) }

// A check is one line of a family.
type check = audit.CheckOf[*machine]
