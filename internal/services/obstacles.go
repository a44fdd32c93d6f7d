// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
)

// maxDoubts and maxDoubt bound what is said of obstacles, and the characters of each.
const (
	maxDoubts = 5
	maxDoubt  = 200
)

// checkObstacles refuses to restart a service that runs and surely would not be started again, unless force accepts
// that. What else may keep it off is kept for the answer.
func (p *planner) checkObstacles(ctx context.Context, u Unit) (string, error) {
	if !isUp(u) {
		return "", nil
	}
	list, err := p.manager.Obstacles(ctx, u)
	if err != nil {
		return " Whether its start still finds what it needs could not be looked at: " + shown(err.Error()) + ".", ctx.Err()
	}
	var doubts []string
	for _, o := range list {
		if o.Sure && !p.options.Force && !p.startsMakers(u) {
			return "", wouldNotComeBack(u, sanitize.Text(o.Why, maxDoubt), "Put that right")
		}
		if len(doubts) < maxDoubts {
			doubts = append(doubts, sanitize.Text(o.Why, maxDoubt))
		}
	}
	if len(doubts) == 0 {
		return "", nil
	}
	return " It may not come back: " + strings.Join(doubts, "; ") + ".", nil
}

// startsMakers says that units are started with the service, or again before it, that may make what it needs, as
// services and mounts do. What only depends on it is started after it.
func (p *planner) startsMakers(u Unit) bool {
	after := func(name string) bool { return !slices.Contains(u.Holds, name) }
	before := slices.DeleteFunc(slices.Clone(p.others.restarts), after)
	return slices.ContainsFunc(append(before, p.others.starts...), func(name string) bool { return !strings.HasSuffix(name, ".target") })
}
