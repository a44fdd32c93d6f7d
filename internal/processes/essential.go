// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"slices"
)

// An Ending is a process that ends along with another.
type Ending struct {
	PID       int
	ComesBack bool // its service is started again
	Carries   bool // it is known whose sessions it carries
}

// Essential says why a process must not end along with another, and names it for a sentence; why is empty if it
// may, and for a process that is gone, or that nobody gets to read: users have such in any service that runs theirs.
// protected are names that the configuration protects.
func Essential(ctx context.Context, source TerminationSource, e Ending, protected []string) (who, why string, err error) {
	if e.ComesBack && !slices.ContainsFunc(source.Critical(), func(r CriticalRule) bool { return r.Restart }) {
		return "", "", nil // a platform without such rules has no duties either
	}
	p, err := hold(ctx, source, e.PID)
	if errors.Is(err, ErrNoProcess) || errors.Is(err, ErrHeldUp) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	defer p.Close()
	p.protected = protected
	why, err = p.essential(ctx, e)
	return p.who(), why, err
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
