// SPDX-License-Identifier: Apache-2.0

// Package audit has the checks of the security audit on macOS.
//
// Each family of checks is a file. A check reads files below a root directory and
// runs programs of macOS that only report; it changes nothing and never prompts the user. It says
// what it cannot see: output that it does not know, because a later macOS or another language
// words it differently, is not a verdict.
package audit

import (
	"context"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/sysexec"
)

// Parts are the means by which the checks examine the system.
type Parts struct {
	Root   string         // "/" on a live system
	Runner sysexec.Runner // nil for a tree of files
	// Firewall is that of the running system; nil for a tree of files.
	Firewall firewall.Source
	// Sockets are those of the running system; nil for a tree of files.
	Sockets network.Source
	// SecurityUpdates names the available updates that close security holes; nil if
	// they cannot be determined.
	SecurityUpdates func(ctx context.Context) ([]string, error)
	// Now is the time that ages refer to; zero means the time of the check.
	Now time.Time
	// EUID is the effective user of sentinel, 0 for root.
	EUID int
	// Owner is the user who must own system files: 0 on a live system.
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
