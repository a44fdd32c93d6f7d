// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	// Essential finds the first process that must not end with its service, says why and names it; why is empty if all
	// may. along are those that end at the same time and need not be looked at. An error is about the process with the
	// PID.
	Essential func(ctx context.Context, list []Ending, along []int) (pid int, who, why string, err error)
}

// An Ending is a process that ends with its service.
type Ending struct {
	PID       int
	ComesBack bool // its service is started again
	Carries   bool // it is known whose sessions it carries
}

// A refusal names so many mount points, each with so many characters.
const (
	maxPoints = 3
	maxPoint  = 64
)

// maxEnding bounds how many processes of a unit are looked at.
const maxEnding = 128

// A dependence is what is known of them for one plan.
type dependence struct {
	essential func(ctx context.Context, list []Ending, along []int) (pid int, who, why string, err error)
	ended     []int // processes of units that have been looked at, which end at the same time
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

// A loss is what would be lost if the processes of a unit ended.
type loss struct {
	why      string           // empty for nothing
	sessions *fault.Protected // those that would end; nil for none
}

// An end is that of a unit.
type end struct {
	comesBack bool // others take the place of its processes
	agreed    bool // sessions of others may end with it
}

// lost refuses for a loss, with which the sentence goes on.
func (p *planner) lost(lead string, l loss) error {
	return p.refusal(lead+l.why, true).Protecting(l.sessions)
}

func (p *planner) loses(ctx context.Context, u Unit, e end) (loss, error) {
	claim, ok := p.carries(u, e.comesBack)
	if ok && (!e.agreed || claim.Listens || claim.EndsOwn()) {
		return loss{claim.Carrying(), claim.Data()}, nil
	}
	if why := p.on.model.Hides(0, false); !ok && why != "" {
		return loss{}, unknownDependence(ctx, "Whether "+shown(u.Name)+" carries this call's own session is not known", errors.New(why))
	}
	for group, points := range p.on.mounted {
		if within(group, u.Group) {
			return loss{why: "it serves the file system mounted at " + shownPoints(points)}, nil
		}
	}
	return p.losesProcess(ctx, u, e)
}

// losesProcess looks at each process that ends with a unit: the main one may only have started what matters. Some
// matter only together with others. The one that is to be ended has been looked at.
func (p *planner) losesProcess(ctx context.Context, u Unit, e end) (loss, error) {
	if p.on.essential == nil {
		return loss{}, nil
	}
	pids, err := p.ending(ctx, u)
	if err != nil {
		return loss{}, unknownDependence(ctx, "Which processes "+shown(u.Name)+" has cannot be read", err)
	}
	var list []Ending
	along := slices.Clone(p.on.ended)
	for _, pid := range pids {
		if pid != p.judged && len(list) < maxEnding {
			list = append(list, Ending{pid, e.comesBack, p.on.model.Carries(pid)})
		} else {
			along = append(along, pid)
		}
	}
	p.on.ended = append(p.on.ended, pids...)
	pid, who, why, err := p.on.essential(ctx, list, along)
	if err != nil {
		return loss{}, unknownDependence(ctx, fmt.Sprintf("What depends on process %d of %s cannot be read", pid, shown(u.Name)), err)
	}
	if why != "" && pid != u.MainPID {
		why = "it runs " + who + ", which must not end: " + why
	}
	return loss{why: why}, nil
}

// ending lists the processes that end with a unit, the main one first.
func (p *planner) ending(ctx context.Context, u Unit) ([]int, error) {
	var list []int
	if u.MainPID != 0 {
		list = append(list, u.MainPID)
	}
	if u.SparesOthers {
		return list, nil
	}
	use, err := p.manager.Use(ctx, u)
	if err != nil && use.PIDs == nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, pid := range use.PIDs {
		if pid != u.MainPID {
			list = append(list, pid)
		}
	}
	return list, nil
}

// carries returns whose sessions end with the unit, and which logins to come where it stays off. Where only its main
// process is stopped, the sessions of its others go on, as those of sshd do. That one is stopped wherever it is: pam_systemd(8)
// moves what serves a login into the control group of the session.
func (p *planner) carries(u Unit, comesBack bool) (sessions.Claim, bool) {
	claims := []sessions.Claim{p.on.model.Processes[u.MainPID], p.on.model.Processes[u.ControlPID]}
	if !u.SparesOthers {
		claims = slices.Insert(claims, 0, p.on.model.Units[u.Name])
	}
	for _, claim := range claims {
		if len(claim.Sessions) > 0 && (!claim.Listens || !comesBack && !claim.Untrusted) {
			return claim, true
		}
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
