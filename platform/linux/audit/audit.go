// SPDX-License-Identifier: Apache-2.0

// Package audit has the checks of the security audit on Linux.
//
// Each family of checks has a file of its name: tree.setuid is in tree_setuid.go or in
// tree.go. A check looks at files below a root directory and, where files do not tell, runs a
// program that only reads. It changes nothing, and it says what it could not see.
package audit

import (
	"context"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
)

// Parts are what the checks see of a system.
type Parts struct {
	Root     string         // "/" on a live system
	Runner   sysexec.Runner // nil for a tree of files
	Firewall firewall.Source
	// Sockets are those of the running system; nil for a tree of files.
	Sockets network.Source
	// GonePrograms finds out what those of some processes are, each named by a thread, whose program was removed or is in no mount
	// of the system, and which threads ended meanwhile; nil for a tree of files.
	GonePrograms func(ctx context.Context, threads []int) (gone map[int]processes.Claim, lost []int, err error)
	// SecurityUpdates counts the updates that close security holes and wait to be
	// installed; nil when no package manager can be asked.
	SecurityUpdates func(ctx context.Context) ([]string, error)
	// Now is what ages are counted to; zero means the time of the check.
	Now time.Time
	// EUID is the user that sentinel runs as, 0 for root.
	EUID int
	// Owner is the user that system files must belong to: 0 on a live system.
	Owner int
}

// A Source gives the checks of one system. It is safe for concurrent use.
type Source struct{ parts Parts }

var _ audit.Source = (*Source)(nil)

// New returns the checks of the system that p describes.
func New(p Parts) *Source { return &Source{parts: p} }

// Checks implements [audit.Source].
func (s *Source) Checks() []audit.Check { return audit.Bind(&machine{Parts: s.parts}, families()) }

// A check is one entry of a family.
type check = audit.CheckOf[*machine]
