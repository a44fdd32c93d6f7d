// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"sentinel/internal/fault"
)

// maxReach bounds how many other units are looked at.
const maxReach = 64

// How another unit goes with a service.
const (
	restarts = "restarts"
	stops    = "stops"
	starts   = "starts"
)

// checkReach refuses a service by what its restart does to other units, since
// units that take the system down can have any name.
func (p *planner) checkReach(ctx context.Context, u Unit) error {
	if why, lifts, err := p.ownService(u); err != nil || why != "" {
		return cmp.Or(err, p.refused(why, lifts))
	}
	if l, err := p.loses(ctx, u, end{comesBack: u.watched()}); err != nil || l.why != "" {
		return cmp.Or(err, p.lost("", l))
	}
	defer p.others.settle()
	return p.checkStopAndStart(ctx, u)
}

// watched says that the manager sees whether what a restart starts runs. What a oneshot has left running is seen by
// nobody: its commands may end well, or at once, without it. So may those of another service that stays on without a
// process, as systemd makes them of scripts in /etc/init.d.
func (u Unit) watched() bool { return u.Type != "oneshot" && (u.MainPID != 0 || !u.StaysExited) }

// checkStopAndStart looks at what the stop and the new start of a service do.
func (p *planner) checkStopAndStart(ctx context.Context, u Unit) error {
	if err := p.checkStarts(ctx, u); err != nil {
		return err
	}
	return p.checkLost(ctx, u.Name, u.Carries, restarts)
}

// refused is the refusal as an error.
func (p *planner) refused(why string, lifts bool) error { return p.refusal(why, lifts) }

// checkItself refuses a unit whose end, or whose commands, end the system.
func (p *planner) checkItself(u Unit) error {
	for _, action := range u.Actions {
		if action != "none" {
			return p.refusal("when "+shown(u.Name)+" ends or fails, "+p.kind.Name+" may "+shown(action)+" the system", false)
		}
	}
	for _, command := range u.Commands {
		if p.kind.EndsSystem(command) {
			return p.refusal(shown(u.Name)+" runs "+shown(strings.Join(command, " "))+", which ends the system", false)
		}
	}
	return nil
}

// EndsSystem knows the programs that shut the system down, also in the words of
// a shell. It does not look into scripts.
func (k *Kind) EndsSystem(command []string) bool {
	if len(command) == 0 {
		return false
	}
	switch program := path.Base(command[0]); program {
	case "poweroff", "reboot", "halt", "shutdown", "telinit", "kexec":
		return true
	case "init":
		return len(command) > 1
	case "sh", "bash", "dash", "ash", "ksh", "zsh", "env":
		return slices.ContainsFunc(simpleCommands(command[1:]), k.EndsSystem)
	default:
		return slices.Contains(k.Shutdown.Programs, program) && slices.ContainsFunc(command[1:], func(word string) bool {
			return k.shutsDown(word) || anyMatches(k.Shutdown.Verbs, word)
		})
	}
}

// prefixes are words that may stand before the program of a command.
var prefixes = []string{"exec", "then", "do", "else", "if", "while", "until", "!", "env", "sudo", "nohup", "command", "time"}

// simpleCommands cuts the arguments of a shell into its commands, roughly: where
// quotes stand does not matter to what is looked for.
func simpleCommands(arguments []string) [][]string {
	var commands [][]string
	text := strings.Join(arguments, " ")
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";&|(){}`$\n", r) }) {
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t'\"", r) })
		for len(words) > 0 && (slices.Contains(prefixes, words[0]) || strings.Contains(words[0], "=") || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		commands = append(commands, words)
	}
	return commands
}

// ownService says why the service that sentinel runs in is protected, and one that is an ancestor of it,
// such as the getty of the session; and whether force lifts that.
func (p *planner) ownService(u Unit) (why string, lifts bool, err error) {
	own, err := p.manager.Ancestry()
	if err != nil {
		return "", false, fault.Wrap(fault.Unavailable, "Which service this call comes from cannot be found out", err)
	}
	if len(own.Groups) > 0 && within(own.Groups[0], u.Group) && !u.SparesOthers || len(own.PIDs) > 0 && u.MainPID == own.PIDs[0] {
		return "this very call runs in it and would end with it", false, nil
	}
	above := slices.ContainsFunc(own.Groups, func(group string) bool { return within(group, u.Group) }) ||
		slices.ContainsFunc(own.PIDs, func(pid int) bool { return pid == u.MainPID || pid == u.ControlPID })
	if above && !p.options.Force {
		return "this call comes from a session of it", true, nil
	}
	return "", true, nil
}

// within says whether a control group is that of a service or below it.
func within(group, of string) bool {
	return of != "" && of != "/" && (group == of || strings.HasPrefix(group, of+"/"))
}

// checkStarts looks at the service, at what its start starts besides, and at
// what that stops. Units that are on are not followed: they have been started before, and
// the system is still there.
func (p *planner) checkStarts(ctx context.Context, u Unit) error {
	seen := map[string]bool{u.Name: true}
	// What is started in any case comes first: it is noted, also where a failure would start it as well.
	certain, onFailure := u.Starts, u.OnFailure
	if err := p.checkOne(ctx, u.Name, u, false); err != nil {
		return err
	}
	for len(certain)+len(onFailure) > 0 {
		queue, failed := &certain, len(certain) == 0
		if failed {
			queue = &onFailure
		}
		next, err := p.started(ctx, (*queue)[0], seen)
		if *queue = (*queue)[1:]; err != nil {
			return err
		}
		if next == nil {
			continue
		}
		p.noteStart(*next, failed)
		if err := p.checkOne(ctx, u.Name, *next, failed); err != nil {
			return err
		}
		*queue = append(slices.Clip(*queue), next.Starts...)
		onFailure = append(slices.Clip(onFailure), next.OnFailure...)
	}
	return nil
}

// checkOne looks at a unit that a start of a service starts, and at what that stops.
func (p *planner) checkOne(ctx context.Context, service string, u Unit, failed bool) error {
	if err := p.checkItself(u); err != nil {
		return err
	}
	return p.checkStopped(ctx, service, u.Stops, failed)
}

// noteStart keeps a unit that is started, and not one that cannot be, or only after a failure.
func (p *planner) noteStart(u Unit, failed bool) {
	if !failed && !u.Missing && u.Unusable == nil {
		p.others.add(starts, u)
	}
}

// checkStopped is [planner.checkLost] of what a start stops. What a failure would stop is not told.
func (p *planner) checkStopped(ctx context.Context, service string, names []string, failed bool) error {
	kept := p.others
	err := p.checkLost(ctx, service, names, stops)
	if failed {
		p.others = kept
	}
	return err
}

// started reads a unit that a restart starts as well; nil for one that need not
// be looked at.
func (p *planner) started(ctx context.Context, name string, seen map[string]bool) (*Unit, error) {
	if p.kind.shutsDown(name) {
		return nil, p.refusal(p.what+" may start "+shown(name)+", which ends the system", false)
	}
	starter := slices.ContainsFunc(p.kind.Starters, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	if seen[name] || name == p.kind.AlwaysStarted || !starter {
		return nil, nil
	}
	if seen[name] = true; len(seen) > maxReach {
		return nil, p.refusal(p.what+" may start more other units than can be looked at", false)
	}
	next, err := p.manager.Unit(ctx, name)
	if err != nil {
		return nil, unavailable(p.kind, err)
	}
	if on(next) {
		return nil, nil
	}
	return &next, nil
}

// checkLost refuses a service that takes units along which must stay: those in names, and those that go with
// them.
func (p *planner) checkLost(ctx context.Context, service string, names []string, how string) error {
	seen := map[string]bool{service: true}
	gone := func(name string) bool { return name == p.ends || seen[name] && name != service }
	for queue := names; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if seen[name] || p.kind.shutsDown(name) { // what ends the system conflicts with everything
			continue
		}
		if seen[name] = true; len(seen) > maxReach {
			return p.refusal(p.what+" "+how+" more other units than can be looked at", false)
		}
		other, err := p.manager.Unit(ctx, name)
		if err != nil {
			return unavailable(p.kind, err)
		}
		if !on(other) || seen[other.Name] && other.Name != name {
			continue
		}
		if err := p.checkOther(ctx, other, how); err != nil {
			return err
		}
		seen[other.Name] = true
		p.others.add(how, other)
		queue = slices.Concat(queue, other.Carries)
		if how == stops {
			unneeded, err := p.unneeded(ctx, other, gone)
			if err != nil {
				return err
			}
			queue = slices.Concat(queue, other.BoundTo, unneeded)
		}
	}
	return nil
}

// checkOther refuses for one unit that is on and goes with the service.
func (p *planner) checkOther(ctx context.Context, other Unit, how string) error {
	if lifts, kept := p.mustStay(other, how == stops); kept {
		return p.refusal(p.what+" "+how+" "+shown(other.Name)+" as well", lifts)
	}
	if l, err := p.loses(ctx, other, end{comesBack: how == restarts && other.watched()}); err != nil || l.why != "" {
		return cmp.Or(err, p.lost(p.what+" "+how+" "+shown(other.Name)+" as well, and ", l))
	}
	if how == stops {
		other = other.ending()
	}
	return p.checkItself(other)
}

// ending is a unit of which nothing is run any more but what its end runs.
func (u Unit) ending() Unit {
	u.Commands = u.LastCommands
	return u
}

// mustStay says whether a unit that is on must not be stopped, or not even
// restarted, along with another, and whether force lifts that.
func (p *planner) mustStay(u Unit, stops bool) (lifts, kept bool) {
	if slices.Contains(p.kind.Essential, u.Name) {
		return false, true
	}
	if !u.Service {
		return false, stops && !u.Trigger
	}
	if why, _ := p.kind.protectNames(u, u.Name, p.options); why == "" {
		return false, false
	}
	forced := p.options
	forced.Force = true
	why, _ := p.kind.protectNames(u, u.Name, forced)
	return why == "", true
}

// on says whether a unit runs or is about to. One that stops for a restart that
// somebody has asked for already is about to.
func on(u Unit) bool {
	switch u.Active {
	case "active", "reloading", "refreshing", "activating":
		return true
	case "deactivating":
		return u.Job == "restart" || u.Job == "start"
	}
	return false
}
