// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/firewall"
)

const firewalldUnit = "firewalld.service"

// A firewalld switches firewalld on, and remembers what it did.
type firewalld struct {
	w       *Manager
	before  snapshot // the rules of iptables that were loaded before
	added   []opening
	started bool
	reload  bool // it ran before, with fewer rules
	unit    bool // enabled at boot by us
}

// An opening is a port that was added to a zone.
type opening struct {
	zone string
	port firewall.Port
}

var _ firewall.Backend = (*firewalld)(nil)

// Name implements [firewall.Backend].
func (*firewalld) Name() string { return firewall.Firewalld }

// Enable implements [firewall.Backend]. The ports are let in while firewalld is
// off, so that it never runs without them.
func (f *firewalld) Enable(ctx context.Context, ports []firewall.Port) error {
	if !f.w.units.running() {
		return errors.New("systemd, which starts firewalld, does not run here")
	}
	zones, err := f.zones(ctx, offlineProgram)
	if err != nil {
		return err
	}
	if f.before, err = f.w.snapshot(ctx); err != nil {
		return err
	}
	u := f.w.units.state(ctx, firewalldUnit)
	if u.starting { // somebody else has it started, and it is not ours to stop
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	f.reload = u.active || u.starting
	for _, z := range zones {
		for _, p := range ports {
			if err := f.open(ctx, z, p); err != nil {
				return err
			}
		}
	}
	if f.reload {
		_, err := f.w.run(ctx, changeLimit, clientProgram, "--reload")
		return err
	}
	f.started = true
	return f.begin(ctx)
}

// begin starts the daemon and waits. Its unit counts as started when the daemon
// has its name on the bus. It loads the rules after that, and answers after those.
func (f *firewalld) begin(ctx context.Context) error {
	if err := f.w.units.start(ctx, firewalldUnit); err != nil {
		return err
	}
	_, err := f.w.run(ctx, changeLimit, clientProgram, "--state")
	return err
}

// open lets a port in permanently. A daemon that runs has to be asked: it would
// not see what is written behind its back, and may write over it.
func (f *firewalld) open(ctx context.Context, z zone, p firewall.Port) error {
	if z.admits(p) {
		return nil
	}
	f.added = append(f.added, opening{z.name, p})
	_, err := f.change(ctx, "--zone="+z.name, "--add-port="+p.String())
	return err
}

func (f *firewalld) change(ctx context.Context, args ...string) ([]byte, error) {
	if f.w.units.state(ctx, firewalldUnit).active {
		return f.w.run(ctx, changeLimit, clientProgram, append([]string{"--permanent"}, args...)...)
	}
	return f.w.run(ctx, changeLimit, offlineProgram, args...)
}

// Admits implements [firewall.Backend]. The zones of the running daemon can be
// others than the permanent ones: NetworkManager binds interfaces to zones itself.
// Such a zone gets the port now. Direct rules are not in any zone but in iptables.
func (f *firewalld) Admits(ctx context.Context, ports []firewall.Port, peers []netip.Addr) error {
	zones, err := f.zones(ctx, clientProgram)
	if err != nil {
		return err
	}
	policies, err := f.policies(ctx, clientProgram)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if r, ok := refused(append(slices.Clone(policies), zones...), p, peers, ""); ok {
			return fmt.Errorf("%s is shut out: %s", p, r.Rule)
		}
		for _, z := range zones {
			if z.admits(p) {
				continue
			}
			if err := f.openNow(ctx, z.name, p); err != nil {
				return err
			}
		}
	}
	now, err := f.w.snapshot(ctx)
	if err != nil {
		return err
	}
	return now.admits(ports, peers, f.before)
}

// openNow lets a port into a zone both now and permanently, and asks whether it
// is in.
func (f *firewalld) openNow(ctx context.Context, zone string, p firewall.Port) error {
	f.added = append(f.added, opening{zone, p})
	for _, args := range [][]string{
		{"--zone=" + zone, "--add-port=" + p.String()},
		{"--permanent", "--zone=" + zone, "--add-port=" + p.String()},
		{"--zone=" + zone, "--query-port=" + p.String()},
	} {
		if _, err := f.w.run(ctx, askLimit, clientProgram, args...); err != nil {
			return fmt.Errorf("zone %s does not let %s in: %w", zone, p, err)
		}
	}
	return nil
}

// Keep implements [firewall.Backend].
func (f *firewalld) Keep(ctx context.Context) (bool, string) {
	if f.w.units.state(ctx, firewalldUnit).enabled {
		return true, ""
	}
	if err := f.w.units.enable(ctx, firewalldUnit); err != nil {
		return false, err.Error()
	}
	f.unit = true
	return true, ""
}

// Undo implements [firewall.Backend].
func (f *firewalld) Undo(ctx context.Context) error {
	var failed []error
	if f.started {
		failed = append(failed, f.w.units.stop(ctx, firewalldUnit))
	}
	for _, o := range f.added {
		_, err := f.change(ctx, "--zone="+o.zone, "--remove-port="+o.port.String())
		failed = append(failed, err)
	}
	if f.reload && len(f.added) > 0 {
		_, err := f.w.run(ctx, changeLimit, clientProgram, "--reload")
		failed = append(failed, err)
	}
	if f.unit {
		failed = append(failed, f.w.units.disable(ctx, firewalldUnit))
	}
	return errors.Join(failed...)
}
