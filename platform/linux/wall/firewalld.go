// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wall

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

// A firewalld switches firewalld on, and remembers what it did.
type firewalld struct {
	w       *Wall
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

var _ firewall.Manager = (*firewalld)(nil)

// Name implements [firewall.Manager].
func (*firewalld) Name() string { return firewall.Firewalld }

// zones returns those that packets can come in through: the default one, and
// those that have interfaces or sources. program is the one that knows the permanent
// ones or the one that asks the running daemon.
func (f *firewalld) zones(ctx context.Context, program string) ([]zone, error) {
	name, err := f.w.run(ctx, askLimit, program, "--get-default-zone")
	if err != nil {
		return nil, err
	}
	out, err := f.w.run(ctx, askLimit, program, "--list-all-zones")
	if err != nil {
		return nil, err
	}
	standard := strings.TrimSpace(string(name))
	zones := slices.DeleteFunc(parseZones(out), func(z zone) bool {
		return !plainName(z.name) || z.name != standard && !z.bound
	})
	if !slices.ContainsFunc(zones, func(z zone) bool { return z.name == standard }) {
		return nil, fmt.Errorf("the default zone %q of firewalld is not there", standard)
	}
	return zones, f.services(ctx, zones)
}

// Rules implements [firewall.Manager]: a port counts as open when every zone
// lets it in.
func (f *firewalld) Rules(ctx context.Context) (firewall.Rules, error) {
	zones, err := f.zones(ctx, offlineProgram)
	if err != nil {
		return nil, err
	}
	return func(p firewall.Port) firewall.Verdict {
		for _, z := range zones {
			if !z.admits(p) {
				return firewall.Closed
			}
		}
		return firewall.Open
	}, nil
}

// services adds the ports of the services of each zone to the zone's own.
func (f *firewalld) services(ctx context.Context, zones []zone) error {
	known := map[string]spans{}
	for i := range zones {
		for _, name := range zones[i].services {
			ports, ok := known[name]
			if !ok && plainName(name) && len(known) < maxServices {
				out, err := f.w.run(ctx, askLimit, offlineProgram, "--info-service="+name)
				if err != nil {
					return err
				}
				ports = parseService(out)
				known[name] = ports
			}
			zones[i].ports = append(zones[i].ports, ports...)
		}
	}
	return nil
}

// Enable implements [firewall.Manager]. The ports are let in while firewalld is
// off, so that it never runs without them.
func (f *firewalld) Enable(ctx context.Context, ports []firewall.Port) error {
	if !f.w.units.running() {
		return errors.New("systemd, which starts firewalld, does not run here")
	}
	zones, err := f.zones(ctx, offlineProgram)
	if err != nil {
		return err
	}
	f.reload = f.w.units.state(ctx, firewalldUnit).active
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
	if err := f.w.units.start(ctx, firewalldUnit); err != nil {
		return err
	}
	// The unit counts as started when the daemon has its name on the bus. It
	// loads the rules after that, and answers after those.
	_, err = f.w.run(ctx, changeLimit, clientProgram, "--state")
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

// Admits implements [firewall.Manager]. The zones of the running daemon can be
// others than the permanent ones: NetworkManager binds interfaces to zones itself.
// Such a zone gets the port now.
func (f *firewalld) Admits(ctx context.Context, ports []firewall.Port) error {
	zones, err := f.zones(ctx, clientProgram)
	if err != nil {
		return err
	}
	for _, z := range zones {
		for _, p := range ports {
			if z.admits(p) {
				continue
			}
			if err := f.openNow(ctx, z.name, p); err != nil {
				return err
			}
		}
	}
	return nil
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

// Keep implements [firewall.Manager].
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

// Undo implements [firewall.Manager].
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
