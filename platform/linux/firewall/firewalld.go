// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

const firewalldUnit = "firewalld.service"

// maxServices bounds how many services of zones are looked up; each costs a run
// of a Python program.
const maxServices = 16

// A firewalld switches firewalld on, and remembers what it changes.
type firewalld struct {
	m      *Manager
	change firewall.Change
	note   func(firewall.Change) error
	untaken
}

var (
	_ firewall.Backend   = (*firewalld)(nil)
	_ firewall.Forgetful = (*firewalld)(nil)
)

// Name implements [firewall.Backend].
func (*firewalld) Name() string { return firewall.Firewalld }

// Rules implements [firewall.Backend]: a port counts as open when every zone
// lets it in.
func (f *firewalld) Rules(ctx context.Context) (firewall.Rules, error) {
	return f.rulesOf(ctx, offlineProgram)
}

// rulesOf reads what zones let in, with the program that [firewalld.zones] takes.
func (f *firewalld) rulesOf(ctx context.Context, program string) (firewall.Rules, error) {
	zones, err := f.zones(ctx, program)
	if err != nil {
		return firewall.Rules{}, err
	}
	list := firewall.Rules{For: func(p firewall.Port) firewall.Ruling {
		if slices.ContainsFunc(zones, func(z zone) bool { return !z.admits(p) }) {
			return firewall.Ruling{}
		}
		return firewall.Ruling{Verdict: firewall.Open}
	}}
	for _, z := range zones {
		for _, text := range z.other {
			list.Unread = append(list.Unread, "in the zone "+z.name+", "+text)
		}
	}
	return list, nil
}

// zones returns those that packets can come in through: the default one, and
// those that have interfaces, or sources that they do not keep out. program is the one that knows the permanent
// ones or the one that asks the running daemon.
func (f *firewalld) zones(ctx context.Context, program string) ([]zone, error) {
	name, err := f.m.run(ctx, askLimit, program, "--get-default-zone")
	if err != nil {
		return nil, err
	}
	out, err := f.m.run(ctx, askLimit, program, "--list-all-zones")
	if err != nil {
		return nil, err
	}
	standard := strings.TrimSpace(string(name))
	zones := slices.DeleteFunc(parseZones(out), func(z zone) bool {
		return !plainName(z.name) || z.name != standard && !z.reached()
	})
	if !slices.ContainsFunc(zones, func(z zone) bool { return z.name == standard }) {
		return nil, fmt.Errorf("the default zone %q of firewalld is not there", standard)
	}
	return zones, f.services(ctx, zones)
}

// services adds the ports and protocols of the services of each zone to the zone's own.
func (f *firewalld) services(ctx context.Context, zones []zone) error {
	known := map[string]zone{}
	for i, z := range zones {
		for _, name := range z.services {
			if _, ok := known[name]; !ok && plainName(name) && len(known) < maxServices {
				out, err := f.m.run(ctx, askLimit, offlineProgram, "--info-service="+name)
				if err != nil {
					return err
				}
				known[name] = parseService(out)
			}
			zones[i].ports = append(zones[i].ports, known[name].ports...)
			zones[i].other = append(zones[i].other, known[name].other...)
		}
	}
	return nil
}

// Enable implements [firewall.Backend]. The ports are let in while firewalld is
// off, so that it never runs without them. One that runs already has fewer rules than it
// should, and gets all of them.
func (f *firewalld) Enable(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	if !f.m.units.Running() {
		return errors.New("systemd, which starts firewalld, does not run here")
	}
	if err := f.Reversible(ctx); err != nil {
		return err
	}
	zones, err := f.zones(ctx, offlineProgram)
	if err != nil {
		return err
	}
	u := f.m.units.State(ctx, firewalldUnit)
	if u.Starting { // while it starts, nothing can be written to its files or asked of it
		if err := f.start(ctx); err != nil {
			return err
		}
	}
	f.note = note
	c := firewall.Change{Manager: firewall.Firewalld, WasEnabled: u.Enabled, Openings: missing(zones, ports)}
	if err := note(c); err != nil {
		return err
	}
	f.change = c
	for _, o := range c.Openings {
		if err := f.permanently(ctx, "--zone="+o.Zone, "--add-port="+o.String()); err != nil {
			return err
		}
	}
	f.left, err = f.m.takingOver(ctx, func() error { return f.loadRules(ctx, u.Active || u.Starting) })
	return err
}

// loadRules has the daemon load its rules, by a start where it does not run.
func (f *firewalld) loadRules(ctx context.Context, runs bool) error {
	if !runs {
		return f.start(ctx)
	}
	_, err := f.m.run(ctx, changeLimit, clientProgram, "--reload")
	return err
}

// missing lists what has to be let in where.
func missing(zones []zone, ports []firewall.Port) []firewall.Opening {
	var list []firewall.Opening
	for _, z := range zones {
		for _, p := range ports {
			if !z.admits(p) {
				list = append(list, firewall.Opening{Zone: z.name, Port: p})
			}
		}
	}
	return list
}

// start starts the daemon and waits.
func (f *firewalld) start(ctx context.Context) error {
	if err := f.m.units.Start(ctx, firewalldUnit); err != nil {
		return err
	}
	return f.answers(ctx)
}

// answers waits until the daemon answers. Its unit counts as started when it has its name on the bus. It
// loads the rules after that, and answers after those.
func (f *firewalld) answers(ctx context.Context) error {
	_, err := f.m.run(ctx, changeLimit, clientProgram, "--state")
	return err
}

// permanently changes what is there after the next start. A daemon that runs has
// to be asked: it would not see what is written behind its back, and may write over it.
func (f *firewalld) permanently(ctx context.Context, args ...string) error {
	program := offlineProgram
	if f.m.units.State(ctx, firewalldUnit).Active {
		program, args = clientProgram, slices.Insert(args, 0, "--permanent")
	}
	_, err := f.m.run(ctx, changeLimit, program, args...)
	return err
}

// Admits implements [firewall.Backend]. The zones of the running daemon can be
// others than the permanent ones: NetworkManager binds interfaces to zones itself.
// Such a zone gets the port now.
func (f *firewalld) Admits(ctx context.Context, ports []firewall.Port) error {
	zones, err := f.zones(ctx, clientProgram)
	if err != nil {
		return err
	}
	for _, o := range missing(zones, ports) {
		f.change.Openings = append(f.change.Openings, o)
		if err := f.note(f.change); err != nil {
			return err
		}
		if err := f.openNow(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// openNow lets a port in both now and permanently, and asks whether it is let in.
func (f *firewalld) openNow(ctx context.Context, o firewall.Opening) error {
	for _, args := range [][]string{
		{"--zone=" + o.Zone, "--add-port=" + o.String()},
		{"--permanent", "--zone=" + o.Zone, "--add-port=" + o.String()},
		{"--zone=" + o.Zone, "--query-port=" + o.String()},
	} {
		if _, err := f.m.run(ctx, askLimit, clientProgram, args...); err != nil {
			return fmt.Errorf("zone %s does not let %s in: %w", o.Zone, o.Port, err)
		}
	}
	return nil
}

// InForce implements [firewall.Resumed].
func (f *firewalld) InForce(ctx context.Context) error { return f.answers(ctx) }

// Keep implements [firewall.Backend].
func (f *firewalld) Keep(ctx context.Context) (bool, string) {
	return f.m.retire(f.m.startAtBoot(ctx, firewalldUnit))
}

// Undo implements [firewall.Backend]. It stops a daemon, too, that ran before
// without rules: with those that it has now it filters. The ports stay where the owner
// has set it to start at boot since: without them the next boot would shut out remote
// sessions. Where firewalld was uninstalled since, nothing is left to undo.
func (f *firewalld) Undo(ctx context.Context) error {
	if !f.m.installed(offlineProgram) {
		return nil
	}
	var failed []error
	if f.change.Manager != "" && !f.change.Rebooted {
		failed = append(failed, f.m.units.Stop(ctx, firewalldUnit))
	}
	if !f.change.WasEnabled && f.m.units.State(ctx, firewalldUnit).Enabled {
		return errors.Join(failed...)
	}
	for _, o := range f.change.Openings {
		failed = append(failed, f.permanently(ctx, "--zone="+o.Zone, "--remove-port="+o.String()))
	}
	return errors.Join(failed...)
}
