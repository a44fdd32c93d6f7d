// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
)

const networkManagerUnit = "NetworkManager.service"

var _ firewall.Careful = (*loadedFirewalld)(nil)

// Reversible implements [firewall.Careful]: what firewalld was told for now is gone once it was stopped, and
// it comes back with its permanent rules, which may shut SSH out.
func (f *loadedFirewalld) Reversible(ctx context.Context) error {
	others, err := f.others(ctx)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return emptied("stops and when it starts again", others).
			WithFix("At a console of the machine: sudo systemctl disable --now firewalld.service, then restart what loads these rules, such as docker.service or wg-quick.")
	}
	differ, err := f.differences(ctx)
	if err != nil || len(differ) == 0 {
		return err
	}
	return fault.New(fault.FirewallFailed, "firewalld would come back from the trial with its permanent rules, and those in force differ: "+named(differ)+".").
		WithFix("Make those in force permanent: sudo firewall-cmd --runtime-to-permanent. Or, if the permanent ones let you in, load them: sudo firewall-cmd --reload")
}

// differences lists what is in force and not permanent, and the other way round.
func (f *loadedFirewalld) differences(ctx context.Context) ([]string, error) {
	now, err := f.properties(ctx, "")
	if err != nil {
		return nil, err
	}
	later, err := f.properties(ctx, "--permanent")
	if err != nil {
		return nil, err
	}
	if err := f.settleInterfaces(ctx, now, later); err != nil {
		return nil, err
	}
	return append(now.beyond(later, "now"), later.beyond(now, "permanently")...), nil
}

// settleInterfaces leaves those out that are bound again by themselves: to the default zone, as all that no
// zone names, or by NetworkManager.
func (f *loadedFirewalld) settleInterfaces(ctx context.Context, now, later properties) error {
	managed := f.m.units.State(ctx, networkManagerUnit).Active
	standard, err := f.m.run(ctx, askLimit, clientProgram, "--get-default-zone")
	if err != nil {
		return err
	}
	for _, all := range []properties{now, later} {
		for what := range all {
			if what.key == "interfaces" && (managed || what.name == "zone "+strings.TrimSpace(string(standard))) {
				delete(all, what)
			}
		}
	}
	return nil
}

// A property is one line of what firewalld lists of a zone, a policy or an ipset.
type property struct{ name, key string }

// properties are those of all of them, with their values.
type properties map[property][]string

// beyond lists the values that other does not have.
func (p properties) beyond(other properties, when string) []string {
	var list []string
	for what, values := range p {
		var more []string
		known := make(map[string]bool, len(other[what])) // ipsets have tens of thousands of entries
		for _, v := range other[what] {
			known[v] = true
		}
		for _, v := range values {
			if !known[v] {
				more = append(more, v)
			}
		}
		if len(more) > 0 {
			slices.Sort(more)
			list = append(list, fmt.Sprintf("%s, %s: %s (%s only)", what.name, what.key, strings.Join(more, ", "), when))
		}
	}
	slices.Sort(list)
	return list
}

// properties reads what is in force, or with "--permanent" what is there after the next start.
func (f *loadedFirewalld) properties(ctx context.Context, which string) (properties, error) {
	all := properties{}
	if err := f.list(ctx, all, "zone ", which, "--list-all-zones"); err != nil {
		return nil, err
	}
	if err := f.list(ctx, all, "policy ", which, "--list-all-policies"); err != nil {
		return nil, err
	}
	out, err := f.m.run(ctx, askLimit, clientProgram, arguments(which, "--get-ipsets")...)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(out))
	if len(names) > maxServices {
		return nil, fmt.Errorf("firewalld has %d ipsets, and at most %d are looked at", len(names), maxServices)
	}
	for _, name := range names {
		if !plainName(name) {
			continue
		}
		if err := f.list(ctx, all, "ipset ", which, "--info-ipset="+name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// list adds what one listing has. A firewalld that does not know an option, which is a mistake in how it
// was called (argparse of Python), has nothing of that kind: policies came with version 0.9.
func (f *loadedFirewalld) list(ctx context.Context, all properties, kind, which, option string) error {
	args := arguments(which, option)
	r, err := f.m.runner.Run(ctx, sysexec.Command{Path: clientProgram, Args: args, Timeout: askLimit, MaxOutput: maxPrinted})
	switch {
	case err != nil:
		return err
	case r.Exit == 2 && strings.Contains(string(r.Stderr), "unrecognized arguments"):
		return nil
	case r.Exit != 0:
		return fmt.Errorf("%s %s ended with status %d: %s", clientProgram, strings.Join(args, " "), r.Exit, firstLine(r.Stderr))
	}
	all.add(kind, string(r.Stdout))
	return nil
}

func arguments(which, option string) []string {
	if which == "" {
		return []string{option}
	}
	return []string{which, option}
}

// add parses the form that [parseZones] has.
func (p properties) add(kind, listed string) {
	var at property
	for line := range strings.Lines(listed) {
		text := strings.TrimSpace(line)
		key, value, ok := strings.Cut(text, ":")
		switch {
		case text == "":
		case line[0] != ' ' && line[0] != '\t':
			at = property{name: kind + strings.Fields(text)[0]}
		case line[0] == '\t' || !ok:
			p[at] = append(p[at], text)
		default:
			at.key = key
			p[at] = append(p[at], strings.Fields(value)...)
		}
	}
}
