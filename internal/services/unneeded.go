// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
)

// maxRelated bounds how many units are looked at for what no other one needs.
const maxRelated = 4 * maxReach

// unneeded finds what stops with a unit because nothing else that is on needs it. What is gone ends as well. That a job
// which is queued for another unit may keep it on is left out: it is told all the same.
func (p *planner) unneeded(ctx context.Context, u Unit, gone func(name string) bool) (list []string, err error) {
	for _, name := range u.Holds {
		held, err := p.related(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(held.HeldBy) == 0 || !on(held) {
			continue
		}
		needed, err := p.anyOn(ctx, slices.DeleteFunc(slices.Clone(held.HeldBy), gone))
		if err != nil {
			return nil, err
		}
		if !needed {
			list = append(list, name)
		}
	}
	return list, nil
}

func (p *planner) anyOn(ctx context.Context, names []string) (bool, error) {
	for _, name := range names {
		if u, err := p.related(ctx, name); err != nil || on(u) {
			return true, err
		}
	}
	return false, nil
}

// related reads a unit once for all that asks for it.
func (p *planner) related(ctx context.Context, name string) (Unit, error) {
	if u, ok := p.relations[name]; ok {
		return u, nil
	}
	if len(p.relations) == maxRelated {
		return Unit{}, p.refusal(p.what+" may stop more other units than can be looked at", false)
	}
	u, err := p.manager.Unit(ctx, name)
	if err != nil {
		return Unit{}, unavailable(p.kind, err)
	}
	if p.relations == nil {
		p.relations = map[string]Unit{}
	}
	p.relations[name] = u
	return u, nil
}
