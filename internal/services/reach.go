// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"path"
	"slices"
	"strings"

	"sentinel/internal/fault"
)

// maxReach bounds how many other units are looked at.
const maxReach = 64

// checkReach refuses a service by what its restart does to others: the system
// has no fewer names for its end than administrators give to their units.
func (p *planner) checkReach(ctx context.Context, u Unit) error {
	if err := p.checkCaller(u); err != nil {
		return err
	}
	if err := p.checkStarts(ctx, u); err != nil {
		return err
	}
	return p.checkLost(ctx, u.Name, u.Carries, "restarts")
}

// checkItself refuses a unit whose end, or whose commands, end the system. name
// is that of the service.
func checkItself(name string, u Unit) error {
	for _, action := range u.Actions {
		if action != "none" {
			return refusal(name, "when "+shown(u.Name)+" ends or fails, systemd may "+shown(action)+" the system", false)
		}
	}
	for _, command := range u.Commands {
		if endsSystem(command) {
			return refusal(name, shown(u.Name)+" runs "+shown(strings.Join(command, " "))+", which ends the system", false)
		}
	}
	return nil
}

// endsSystem knows the programs of systemctl(1) and loginctl(1) that shut down,
// also in the words of a shell. What a script of its own does is not looked at.
func endsSystem(command []string) bool {
	if len(command) == 0 {
		return false
	}
	switch path.Base(command[0]) {
	case "poweroff", "reboot", "halt", "shutdown", "telinit", "kexec":
		return true
	case "init":
		return len(command) > 1
	case "systemctl", "loginctl":
		return slices.ContainsFunc(command[1:], func(word string) bool {
			return ending(word) || ending(word+".target") || word == "isolate" || word == "default" || word == "switch-root"
		})
	case "sh", "bash", "dash", "ash", "ksh", "zsh", "env":
		return slices.ContainsFunc(simpleCommands(command[1:]), endsSystem)
	}
	return false
}

// before stands in front of a command without being one.
var before = []string{"exec", "then", "do", "else", "if", "while", "until", "!", "env", "sudo", "nohup", "command", "time"}

// simpleCommands cuts the arguments of a shell into its commands, roughly: where
// quotes stand does not matter to what is looked for.
func simpleCommands(arguments []string) [][]string {
	var commands [][]string
	text := strings.Join(arguments, " ")
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";&|(){}`$\n", r) }) {
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t'\"", r) })
		for len(words) > 0 && (slices.Contains(before, words[0]) || strings.Contains(words[0], "=") || strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		commands = append(commands, words)
	}
	return commands
}

// checkCaller refuses the service that sentinel runs in, or that is an ancestor
// of it, such as the getty of the session.
func (p *planner) checkCaller(u Unit) error {
	who, err := p.manager.Caller()
	if err != nil {
		return fault.Wrap(fault.Unavailable, "Which service this call comes from cannot be found out", err)
	}
	if len(who.Groups) > 0 && within(who.Groups[0], u.Group) && !u.SparesOthers || len(who.PIDs) > 0 && u.MainPID == who.PIDs[0] {
		return refusal(u.Name, "this very call runs in it and would end with it", false)
	}
	above := slices.ContainsFunc(who.Groups, func(group string) bool { return within(group, u.Group) }) ||
		slices.ContainsFunc(who.PIDs, func(pid int) bool { return pid == u.MainPID || pid == u.ControlPID })
	if above && !p.options.Force {
		return refusal(u.Name, "this call comes from a session of it", true)
	}
	return nil
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
	for queue := []Unit{u}; len(queue) > 0; queue = queue[1:] {
		if err := checkItself(u.Name, queue[0]); err != nil {
			return err
		}
		if err := p.checkLost(ctx, u.Name, queue[0].Stops, "stops"); err != nil {
			return err
		}
		for _, name := range queue[0].Starts {
			next, err := p.started(ctx, u.Name, name, seen)
			if err != nil {
				return err
			}
			if next != nil {
				queue = append(slices.Clone(queue), *next)
			}
		}
	}
	return nil
}

// started reads a unit that a restart starts as well; nil for one that need not
// be looked at.
func (p *planner) started(ctx context.Context, service, name string, seen map[string]bool) (*Unit, error) {
	if ending(name) {
		return nil, refusal(service, "its restart may start "+shown(name)+", which ends the system", false)
	}
	if seen[name] || name == "sysinit.target" || !strings.HasSuffix(name, ".target") && !strings.HasSuffix(name, suffix) {
		return nil, nil
	}
	if seen[name] = true; len(seen) > maxReach {
		return nil, refusal(service, "its restart may start more other units than can be looked at", false)
	}
	next, err := p.manager.Unit(ctx, name)
	if err != nil {
		return nil, unavailable(p.house, err)
	}
	if on(next) {
		return nil, nil
	}
	return &next, nil
}

// checkLost refuses a service that stops, or restarts, what must stay: names,
// and what goes with these.
func (p *planner) checkLost(ctx context.Context, service string, names []string, how string) error {
	seen := map[string]bool{service: true}
	for queue := names; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if seen[name] || ending(name) { // what ends the system conflicts with everything
			continue
		}
		if seen[name] = true; len(seen) > maxReach {
			return refusal(service, "its restart "+how+" more other units than can be looked at", false)
		}
		other, err := p.manager.Unit(ctx, name)
		if err != nil {
			return unavailable(p.house, err)
		}
		if !on(other) {
			continue
		}
		if lifts, kept := p.mustStay(other, how == "stops"); kept {
			return refusal(service, "its restart "+how+" "+shown(other.Name)+" as well", lifts)
		}
		queue = append(slices.Clone(queue), other.Carries...)
	}
	return nil
}

// mustStay says whether a unit that is on must not be stopped, or not even
// restarted, along with another, and whether force lifts that.
func (p *planner) mustStay(u Unit, stops bool) (lifts, kept bool) {
	if slices.Contains(early, u.Name) {
		return false, true
	}
	if !strings.HasSuffix(u.Name, suffix) {
		return false, stops && !strings.HasSuffix(u.Name, ".socket") && !strings.HasSuffix(u.Name, ".timer") && !strings.HasSuffix(u.Name, ".path")
	}
	if err := protectNames(p.house, u, u.Name, p.options); err == nil {
		return false, false
	}
	forced := p.options
	forced.Force = true
	return protectNames(p.house, u, u.Name, forced) == nil, true
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
