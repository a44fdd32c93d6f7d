// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
)

// Dependents tell what would be lost with running processes, whatever their services are called.
// Each may be nil where it is not read.
type Dependents struct {
	// Sessions tells what carries the sessions of people.
	Sessions func(ctx context.Context) (*sessions.Model, error)
	// Mounted lists where file systems are mounted that processes serve, by the control groups of
	// these.
	Mounted func(ctx context.Context) (map[string][]string, error)
	// Essential says why a restart of the process would do as much harm as its end; empty if not.
	Essential func(ctx context.Context, pid int) (why string, err error)
}

// A refusal names so many mount points, each with so many characters.
const (
	maxPoints = 3
	maxPoint  = 64
)

// A dependence is what is known of them for one plan.
type dependence struct {
	essential func(ctx context.Context, pid int) (string, error)
	model     *sessions.Model
	mounted   map[string][]string
}

// depend reads it. What cannot be read could be lost; only force accepts that.
func (p *planner) depend(ctx context.Context) error {
	o := p.options
	p.on = dependence{essential: o.Essential, model: &sessions.Model{}}
	if o.Force {
		p.on.essential = nil
		return nil
	}
	if o.Sessions != nil {
		model, err := o.Sessions(ctx)
		if err != nil {
			return unknownDependence(ctx, "What carries the sessions of this machine cannot be read", err)
		}
		p.on.model = model
	}
	if o.Mounted != nil {
		mounted, err := o.Mounted(ctx)
		if err != nil {
			return unknownDependence(ctx, "Which services serve mounted file systems cannot be read", err)
		}
		p.on.mounted = mounted
	}
	return nil
}

const repairOrForce = "Repair that, or at a console of the machine add --force."

func unknownDependence(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, what, err).WithFix(repairOrForce)
}

// A loss is what would be lost if the processes of a unit ended and others took their place.
type loss struct {
	why      string           // empty for nothing
	sessions *fault.Protected // those that would end; nil for none
}

// lost refuses for a loss, with which the sentence goes on.
func (p *planner) lost(lead string, l loss) error {
	return p.refusal(lead+l.why, true).Protecting(l.sessions)
}

func (p *planner) loses(ctx context.Context, u Unit) (loss, error) {
	if claim, ok := p.carries(u); ok {
		return loss{claim.Carrying(), claim.Data()}, nil
	}
	if why := p.on.model.Hides(0, false); why != "" {
		return loss{}, unknownDependence(ctx, "Whether "+shown(u.Name)+" carries this call's own session is not known", errors.New(why))
	}
	for group, points := range p.on.mounted {
		if within(group, u.Group) {
			return loss{why: "it serves the file system mounted at " + shownPoints(points)}, nil
		}
	}
	if p.on.essential == nil || u.MainPID == 0 {
		return loss{}, nil
	}
	why, err := p.on.essential(ctx, u.MainPID)
	if err != nil {
		return loss{}, unknownDependence(ctx, "What depends on the main process of "+u.Name+" cannot be read", err)
	}
	return loss{why: why}, nil
}

// carries returns whose sessions end with the unit. Where only its main process is stopped, the
// sessions of its others go on, as those of sshd do.
func (p *planner) carries(u Unit) (sessions.Claim, bool) {
	claim, ok := p.on.model.Units[u.Name]
	if u.SparesOthers {
		claim, ok = p.on.model.Processes[u.MainPID]
	}
	if ok && !claim.Listens {
		return claim, true
	}
	return p.hostedCarries(u)
}

// hostedCarries is carries for what ends with the unit besides its own processes.
func (p *planner) hostedCarries(u Unit) (sessions.Claim, bool) {
	for _, name := range slices.Sorted(maps.Keys(p.on.model.Units)) {
		claim := p.on.model.Units[name]
		if hosted, err := path.Match(u.HostedUnits, name); err == nil && hosted && !claim.Listens {
			return claim, true
		}
	}
	return sessions.Claim{}, false
}

func shownPoints(points []string) string {
	points = slices.Sorted(slices.Values(points))
	more := ""
	if n := len(points) - maxPoints; n > 0 {
		points, more = points[:maxPoints], fmt.Sprintf(" and %d more", n)
	}
	for i, point := range points {
		points[i] = sanitize.Quoted(point, maxPoint)
	}
	return strings.Join(points, ", ") + more
}
