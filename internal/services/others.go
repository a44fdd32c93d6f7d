// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxOthers caps how many other units of a sort a document names, and maxOthersSaid a sentence.
	maxOthers     = 20
	maxOthersSaid = 5
	// othersLimit bounds the look at them after a restart.
	othersLimit = 3 * time.Second
)

// Also names the units that go with a service: the first 20 of a sort by name.
type Also struct {
	AlsoRestarts []string `json:"also_restarts,omitempty"` // other units that are restarted with it
	AlsoStops    []string `json:"also_stops,omitempty"`    // other units that stop with it, and stay off
	AlsoStarts   []string `json:"also_starts,omitempty"`   // other units that are off and may be started with it
	AlsoTotal    int      `json:"also_total,omitempty"`    // how many all of these are
}

// Others are all the units that go with a service: those that are on and are restarted or stopped with it, and
// those that are off and started.
type Others struct {
	Also
	restarts, stops, starts []string
}

// add keeps a unit that a walk has come by.
func (o *Others) add(how string, u Unit) {
	switch how {
	case restarts:
		o.restarts = append(o.restarts, u.Name)
	case stops:
		o.stops = append(o.stops, u.Name)
	case starts:
		o.starts = append(o.starts, u.Name)
	}
}

// settle sorts the lists. What is stopped stays off, whatever else is said of it.
func (o *Others) settle() {
	lost := func(name string) bool { return slices.Contains(o.stops, name) }
	o.restarts = slices.DeleteFunc(o.restarts, lost)
	for _, list := range []*[]string{&o.restarts, &o.stops, &o.starts} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	o.AlsoRestarts, o.AlsoStops, o.AlsoStarts = named(o.restarts), named(o.stops), named(o.starts)
	o.AlsoTotal = len(o.restarts) + len(o.stops) + len(o.starts)
}

func named(units []string) []string {
	var list []string
	for _, name := range units[:min(len(units), maxOthers)] {
		list = append(list, shown(name))
	}
	return list
}

// Bound is what who agrees to a change has agreed to: all of them.
func (o Others) Bound() []any { return []any{o.restarts, o.stops, o.starts} }

// Sentence names them, after a space; it is empty where there are none.
func (o Others) Sentence(what string) string {
	var parts []string
	for _, list := range []struct {
		how   string
		units []string
	}{{restarts, o.restarts}, {stops, o.stops}, {"may start", o.starts}} {
		if len(list.units) > 0 {
			parts = append(parts, list.how+" "+saidUnits(list.units))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + what + " also " + strings.Join(parts, "; ") + "."
}

func saidUnits(units []string) string {
	more := ""
	if n := len(units) - maxOthersSaid; n > 0 {
		units, more = units[:maxOthersSaid], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(named(units), ", ") + more
}

// lookAgain finds those of them that are to be on after a restart and are not.
func (r *Restart) lookAgain(ctx context.Context, done *Restarted) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), othersLimit)
	defer cancel()
	for _, name := range slices.Concat(r.others.restarts, r.others.starts) {
		u, err := r.manager.Unit(ctx, name)
		wanted := u.Active == "failed" || slices.Contains(r.others.restarts, name)
		switch {
		case err != nil:
			done.Unread = errors.Join(done.Unread, fmt.Errorf("%s: %w", shown(name), err))
		case wanted && !isUp(u) && u.Job != "start" && u.Job != "restart" && offForAReason(u) && len(done.AlsoOff) < maxOthers:
			done.AlsoOff = append(done.AlsoOff, shown(name))
		}
	}
}

// unreadSentence says that some of the others could not be looked at afterwards, and why.
func unreadSentence(err error) string {
	if err == nil {
		return ""
	}
	return " Not seen now: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "."
}

// offSentence says which of the others are not on.
func offSentence(off []string) string {
	if len(off) == 0 {
		return ""
	}
	return " Not on now: " + saidUnits(off) + "."
}
