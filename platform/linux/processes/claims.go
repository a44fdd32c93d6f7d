// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

// Bounds of a look at what all processes call themselves: each costs some 10 µs.
const (
	maxClaims  = 5000
	claimsTime = 300 * time.Millisecond
)

// Why not all processes were looked at.
var (
	ErrHiddenPrograms = errors.New("the programs of other users' processes cannot be seen without root")
	ErrManyClaims     = errors.New("there are too many processes to look at each in time")
)

// A Disguised process hides what it is.
type Disguised struct {
	PID      int
	Name     string
	Disguise processes.Disguise
	How      string // in words that follow its name
}

// Disguises judges what processes call themselves, those that began last first: what is planted is
// younger than the system. The error says that not all could be looked at; what was found is returned
// all the same.
func (s *Source) Disguises(ctx context.Context) ([]Disguised, error) {
	table, err := s.Recent(ctx)
	if err != nil {
		return nil, err
	}
	var found []Disguised
	var lacking error
	began, looked := time.Now(), 0
	for _, p := range slices.Backward(table) {
		if p.Flags&kernelThread != 0 || p.State == 'Z' {
			continue
		}
		if looked++; looked > maxClaims || looked%64 == 0 && time.Since(began) > claimsTime {
			return found, ErrManyClaims
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		c, err := s.claimOf(p)
		if errors.Is(err, fs.ErrPermission) {
			lacking = ErrHiddenPrograms
		}
		if disguise, how := c.Judge(); disguise != processes.NoDisguise {
			found = append(found, Disguised{p.PID, p.Name, disguise, how})
		}
	}
	return found, lacking
}

// claimOf reads one process, the dear part only where that can matter. The command line is read only of
// one whose program is known.
func (s *Source) claimOf(p procfs.Process) (processes.Claim, error) {
	c := processes.Claim{PID: p.PID, Name: p.Name, Terminal: p.Terminal != 0, Owner: -1, Daemons: daemons}
	program, err := s.proc.Link(p.PID, "exe")
	if err != nil {
		return c, err
	}
	if arguments, err := s.proc.CommandLine(p.PID); err == nil && len(arguments) > 0 {
		c.Argument = arguments[0]
	}
	if c.Program = program; c.Plain() {
		return c, nil
	}
	uid, err := s.proc.UID(p.PID)
	if err != nil {
		return c, err
	}
	c.UserID = uid
	return s.claim(c, s.owner())
}
