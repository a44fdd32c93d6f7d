// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
	"strings"
)

const (
	// maxDepth is how many units lie between a service and what is followed.
	maxDepth = 8
	// maxNeeds caps how many causes an answer names.
	maxNeeds = 5
)

// A Need is a unit that a service needs and that is not well, though all that it needs itself is.
type Need struct {
	Name string `json:"name"` // of the unit
	// Path leads there: what the service needs, what that needs, and so on; the unit itself comes last.
	Path []string `json:"path"`
	Why  string   `json:"why"`            // what is wrong with it, a sentence
	Soft bool     `json:"soft,omitempty"` // it may fail: the service is started without it as well
}

// A needWalk follows what units need. It visits each once, so that loops end.
type needWalk struct {
	kind    *Kind
	manager Inspector
	read    func(ctx context.Context, name string) (Unit, error)
	seen    map[string]bool
	found   []Need
}

// failedNeeds finds the root causes among what a service needs. Of what it merely wants, what failed
// itself counts.
func (i *inspection) failedNeeds(ctx context.Context, u Unit) []Need {
	w := &needWalk{kind: i.kind, manager: i.manager, read: i.manager.Unit, seen: map[string]bool{u.Name: true}}
	w.follow(ctx, u, nil)
	for _, name := range u.Wishes {
		if n, ok := w.unit(ctx, name); ok && (n.Active == "failed" || waitsToRestart(n)) {
			w.add(n, []string{n.Name}, true)
		}
	}
	if len(w.seen) > maxReach {
		i.gaps.Note("failed_needs", shown(u.Name)+" needs more units than are looked at")
	}
	return w.found
}

// follow looks at what a unit needs, and reports whether anything there is not well.
func (w *needWalk) follow(ctx context.Context, u Unit, path []string) (broken bool) {
	if len(path) >= maxDepth {
		return false
	}
	for _, name := range u.Needs {
		n, ok := w.unit(ctx, name)
		if !ok || isUp(n) {
			continue
		}
		way := append(slices.Clone(path), n.Name)
		switch {
		case w.follow(ctx, n, way):
			broken = true
		case offForAReason(n):
			w.add(n, way, false)
			broken = true
		}
	}
	return broken
}

// unit reads a unit that was not looked at yet.
func (w *needWalk) unit(ctx context.Context, name string) (Unit, bool) {
	if w.seen[name] || len(w.seen) > maxReach {
		return Unit{}, false
	}
	w.seen[name] = true
	n, err := w.read(ctx, name)
	return n, err == nil
}

func (w *needWalk) add(n Unit, path []string, soft bool) {
	if len(w.found) == maxNeeds {
		return
	}
	need := Need{Name: shown(n.Name), Why: w.kind.trouble(n), Soft: soft}
	for _, name := range path {
		need.Path = append(need.Path, shown(name))
	}
	w.found = append(w.found, need)
}

// isUp says that a unit is on, or on its way there.
func isUp(u Unit) bool { return on(u) && !waitsToRestart(u) }

// offForAReason tells a unit that is missing from one that has done its work.
func offForAReason(u Unit) bool {
	return u.Active != "inactive" || u.Missing || u.Unmet || u.Unusable != nil || u.Type != "oneshot" || u.Result != "success"
}

// inNeeds is what a summary says of the causes.
func inNeeds(needs []Need) string {
	var said []string
	for _, n := range needs {
		if n.Soft {
			continue
		}
		way := ""
		if len(n.Path) > 1 {
			way = " (through " + strings.Join(n.Path[:len(n.Path)-1], ", ") + ")"
		}
		said = append(said, n.Why+way)
	}
	return strings.Join(said, " ")
}
