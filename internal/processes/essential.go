// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"slices"
	"time"
)

// An Ending is a process that ends along with another.
type Ending struct {
	PID       int
	ComesBack bool // its service is started again
	Carries   bool // it is known whose sessions it carries
}

// lookLimit is how long processes of people are looked at that end along with another, their open files
// aside; those beyond count as nothing, or anybody could make a program impossible to end by what it starts.
const lookLimit = 2 * time.Second

// Essential finds the first process that must not end along with another, says why, and names it for a sentence; why is
// empty if all may. One that is gone may, and one that nobody gets to read: users have such in any service that runs
// theirs. along are those that end at the same time and need not be looked at. protected are names that the configuration
// protects. An error is about the process with the PID.
func Essential(ctx context.Context, source TerminationSource, list []Ending, along []int, protected []string) (pid int, who, why string, err error) {
	if !slices.ContainsFunc(source.Critical(), func(r CriticalRule) bool { return r.Restart }) { // a platform without such rules has no duties either
		list = slices.DeleteFunc(slices.Clone(list), func(e Ending) bool { return e.ComesBack })
	}
	g := group{held: map[int]*Termination{}}
	defer g.close()
	if pid, err := g.hold(ctx, source, list, protected); err != nil {
		return pid, "", "", err
	}
	source.Holdings(ctx, g.facts(), along, false)
	for _, e := range list {
		if why, err := g.judge(ctx, e); err != nil || why != "" {
			return e.PID, g.held[e.PID].who(), why, err
		}
	}
	return 0, "", "", ctx.Err()
}

// A group is what ends along with a process.
type group struct {
	held map[int]*Termination
	took time.Duration // for what people run
}

// hold takes hold of those of a list that are there. An error is about the process with the PID.
func (g *group) hold(ctx context.Context, source TerminationSource, list []Ending, protected []string) (int, error) {
	for _, e := range list {
		began := time.Now()
		p, err := hold(ctx, source, e.PID)
		if errors.Is(err, ErrNoProcess) || errors.Is(err, ErrHeldUp) {
			continue
		}
		if err != nil {
			return e.PID, err
		}
		p.protected, p.along, g.held[e.PID] = protected, true, p
		g.spend(p, began)
	}
	return 0, nil
}

// judge says why one must not end; empty if it may.
func (g *group) judge(ctx context.Context, e Ending) (string, error) {
	p, found := g.held[e.PID]
	if !found || person(p.facts.UserID) && g.took > lookLimit {
		return "", nil
	}
	defer g.spend(p, time.Now())
	return p.essential(ctx, e)
}

func (g *group) spend(p *Termination, began time.Time) {
	if person(p.facts.UserID) {
		g.took += time.Since(began)
	}
}

func (g *group) facts() map[int]*Facts {
	all := make(map[int]*Facts, len(g.held))
	for pid, p := range g.held {
		all[pid] = &p.facts
	}
	return all
}

func (g *group) close() {
	for _, p := range g.held {
		p.Close()
	}
}

// hold takes hold of a process only to look at it.
func hold(ctx context.Context, source TerminationSource, pid int) (*Termination, error) {
	pinned, err := source.Pin(pid)
	if err != nil {
		return nil, err
	}
	p := &Termination{source: source, target: Target{PID: pid}, pinned: pinned}
	if p.facts, err = pinned.Facts(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Termination) essential(ctx context.Context, e Ending) (string, error) {
	duty := p.facts.Duty
	duty.NameServer = duty.NameServer && !e.ComesBack
	why := duty.why()
	if why == "" && !e.ComesBack {
		why = p.kept(ctx)
	}
	if why == "" {
		why = p.critical(ctx, e)
	}
	if why != "" {
		return why, nil
	}
	return "", duty.Unread
}

// kept says why a process must stay in a container as well; empty if it need not.
func (p *Termination) kept(ctx context.Context) string {
	if p.protectedByName(ctx) {
		return whyConfigured
	}
	if point := p.facts.mountOfRoot(); point != "" {
		return whyServes + point
	}
	return p.facts.watches()
}
