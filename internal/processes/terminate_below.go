// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sentinel/internal/sessions"
)

// maxBelow bounds how many processes are looked at that end with another.
const maxBelow = 128

// refuseBelow refuses what takes others along that must stay: the first process of a PID namespace takes all that
// is in there, and the master of a proxy its workers, of which only the caller's own session counts: nobody else
// can make a process carry that.
func (p *Termination) refuseBelow(ctx context.Context, model *sessions.Model) error {
	below, err := p.source.Below(ctx, p.target.PID)
	if err != nil {
		return unavailable(ctx, "What ends with "+p.who()+" cannot be read", err)
	}
	if p.facts.First {
		return p.refuseNamespace(ctx, model, below)
	}
	looked := 0
	for _, r := range below {
		claim, known := model.Processes[r.PID]
		if !known || !claim.EndsOwn() || looked == maxBelow {
			continue
		}
		looked++
		worker, err := p.sharesUnit(ctx, r.PID)
		if err != nil {
			return unavailable(ctx, "Which service "+r.who()+" belongs to cannot be read", err)
		}
		if worker {
			return p.refuseClaim(by(r, claim))
		}
	}
	return nil
}

// sharesUnit says whether a process belongs to the unit of this one, or to none as this one does. What a service
// manager has started is in others.
func (p *Termination) sharesUnit(ctx context.Context, pid int) (bool, error) {
	other, err := hold(ctx, p.source, pid)
	if errors.Is(err, ErrNoProcess) || errors.Is(err, ErrHeldUp) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer other.Close()
	return other.facts.Unit == p.facts.Unit, nil
}

// by is the claim of a process as one of what it ends with.
func by(r Relative, claim sessions.Claim) sessions.Claim {
	switch {
	case claim.How == "":
		claim.How = "by " + r.who()
	case !strings.HasSuffix(claim.How, r.who()):
		claim.How += ", by " + r.who()
	}
	claim.How += ", which ends with it"
	return claim
}

// refuseNamespace refuses for each process of a PID namespace what is refused of that process itself.
func (p *Termination) refuseNamespace(ctx context.Context, model *sessions.Model, below []Relative) error {
	for _, r := range below {
		if claim, known := model.Processes[r.PID]; known {
			if err := p.refuseClaim(by(r, claim)); err != nil {
				return err
			}
		}
	}
	var list []Ending
	along := []int{p.target.PID}
	for i, r := range below {
		if i < maxBelow {
			list = append(list, Ending{PID: r.PID, Carries: model.Carries(r.PID)})
		} else {
			along = append(along, r.PID)
		}
	}
	pid, who, why, err := Essential(ctx, p.source, list, along, p.protected)
	switch {
	case err != nil:
		return unavailable(ctx, fmt.Sprintf("What depends on process %d, which ends with %s, cannot be read", pid, p.who()), err)
	case why != "":
		return p.protectedAs(who + " ends with it, and " + why).WithFix(p.instead())
	}
	return nil
}
