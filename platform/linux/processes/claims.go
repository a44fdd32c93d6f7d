// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"sentinel/internal/humanize"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/procfs"
)

// Bounds of a look at what all processes call themselves, and how many are looked at together.
const (
	maxClaims  = 5000
	claimsTime = 300 * time.Millisecond
	together   = 64
)

// Why not all processes were looked at.
var (
	errHiddenPrograms = errors.New("the programs of other users' processes cannot be seen without root")
	errManyClaims     = errors.New("there are too many processes to look at each in time")
)

// unseen says why the programs of some processes were not seen. In a container, or where a security
// module protects them, that is so for root, too.
func unseen(user int, barred []procfs.Process) error {
	switch {
	case len(barred) == 0:
		return nil
	case user != 0:
		return errHiddenPrograms
	}
	others := ""
	if n := len(barred) - 1; n > 0 {
		others = " and of " + humanize.Count(n, "other process", "other processes")
	}
	return fmt.Errorf("not even root may see the program of %s (PID %d)%s here", sanitize.Text(barred[0].Name, 64), barred[0].PID, others)
}

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
	running := newestFirst(table)
	var found []Disguised
	var barred []procfs.Process
	began := time.Now()
	for some := range slices.Chunk(running[:min(maxClaims, len(running))], together) {
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		if time.Since(began) > claimsTime {
			return found, errManyClaims
		}
		more, hidden, err := s.judge(some)
		if err != nil {
			return found, err
		}
		found, barred = append(found, more...), append(barred, hidden...)
	}
	if len(running) > maxClaims {
		return found, errManyClaims
	}
	return found, unseen(privilege.EffectiveUID(), barred)
}

// newestFirst lists the processes that run a program.
func newestFirst(table []procfs.Process) []procfs.Process {
	list := slices.DeleteFunc(slices.Clone(table), func(p procfs.Process) bool { return p.Flags&kernelThread != 0 || p.State == 'Z' })
	slices.Reverse(list)
	return list
}

// judge judges what some processes call themselves, and returns those whose program may not be seen.
func (s *Source) judge(some []procfs.Process) (found []Disguised, barred []procfs.Process, err error) {
	pids := make([]int, len(some))
	for i, p := range some {
		pids[i] = p.PID
	}
	faces, err := s.proc.Faces(pids)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range some {
		c, err := s.claimOf(p, faces[i])
		if errors.Is(err, fs.ErrPermission) {
			barred = append(barred, p)
		}
		if disguise, how := c.Judge(); disguise != processes.NoDisguise {
			found = append(found, Disguised{p.PID, p.Name, disguise, how})
		}
	}
	return found, barred, nil
}

// claimOf completes what one process shows of itself, the dear part only where that can matter.
func (s *Source) claimOf(p procfs.Process, face procfs.Face) (processes.Claim, error) {
	c := processes.Claim{PID: p.PID, Name: p.Name, Terminal: p.Terminal != 0, Owner: -1, Daemons: daemons}
	if face.Err != nil {
		return c, face.Err
	}
	c.Program, c.Argument = face.Program, face.Argument
	if c.Plain() {
		return c, nil
	}
	uid, err := s.proc.UID(p.PID)
	if err != nil {
		return c, err
	}
	c.UserID = uid
	return s.claim(c, s.owner())
}
