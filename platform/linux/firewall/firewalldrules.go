// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"sentinel/internal/firewall"
)

// maxServices bounds how many services of zones are looked up; each costs a run
// of a Python program.
const maxServices = 16

// usageStatus is how firewalld's programs end when they do not know an option.
const usageStatus = 2

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

// policies returns those about this host, and the others that forward ports.
// firewalld before 0.9 knows no policies.
func (f *firewalld) policies(ctx context.Context, program string) ([]zone, error) {
	out, err := f.w.run(ctx, askLimit, program, "--list-all-policies")
	var old *ended
	if errors.As(err, &old) && old.status == usageStatus {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(parseZones(out), func(z zone) bool { return !z.bound && len(z.forwards) == 0 })
	return list, f.services(ctx, list)
}

// Rules implements [firewall.Backend]: a port counts as open when every zone
// lets it in.
func (f *firewalld) Rules(ctx context.Context, peers []netip.Addr) (firewall.Rules, error) {
	zones, err := f.zones(ctx, offlineProgram)
	if err != nil {
		return nil, err
	}
	policies, err := f.policies(ctx, offlineProgram)
	if err != nil {
		return nil, err
	}
	tool := path.Base(offlineProgram)
	if f.w.units.state(ctx, firewalldUnit).active {
		tool = path.Base(clientProgram) + " --permanent"
	}
	return func(p firewall.Port) firewall.Ruling {
		if r, ok := refused(append(slices.Clone(policies), zones...), p, peers, tool); ok {
			return r
		}
		if slices.ContainsFunc(zones, func(z zone) bool { return !z.admits(p) }) {
			return firewall.Ruling{}
		}
		return firewall.Ruling{Verdict: firewall.Open}
	}, nil
}

// refused looks for what shuts a port, in the order of firewalld. tool is what
// the owner removes it with.
func refused(zones []zone, p firewall.Port, peers []netip.Addr, tool string) (firewall.Ruling, bool) {
	for _, z := range zones {
		text, option := z.denies(p, peers)
		if text == "" {
			continue
		}
		kind := "zone"
		if z.policy {
			kind = "policy"
		}
		r := firewall.Ruling{
			Verdict: firewall.Refused, Rule: fmt.Sprintf("in the %s %s, %s", kind, z.name, text),
			Fix: fmt.Sprintf("Remove that first: sudo %s --%s=%s %s", tool, kind, z.name, option),
		}
		if strings.Count(option, "'") != 2 && strings.Contains(option, "'") || !plainName(z.name) {
			r.Fix = "Remove that from its " + kind + " first."
		}
		return r, true
	}
	return firewall.Ruling{}, false
}

// services adds the ports of the services of each zone to the zone's own, and
// those of rich rules to the rules.
func (f *firewalld) services(ctx context.Context, zones []zone) error {
	known := map[string]spans{}
	for i := range zones {
		for _, name := range zones[i].services {
			ports, err := f.service(ctx, known, name)
			if err != nil {
				return err
			}
			zones[i].ports = append(zones[i].ports, ports...)
		}
		for j, r := range zones[i].rich {
			if r.element != "service" {
				continue
			}
			ports, err := f.service(ctx, known, r.value)
			if err != nil {
				return err
			}
			zones[i].rich[j].ports = ports
		}
	}
	return nil
}

// service looks up the ports of one; nil when that is one too many.
func (f *firewalld) service(ctx context.Context, known map[string]spans, name string) (spans, error) {
	if ports, ok := known[name]; ok || !plainName(name) || len(known) >= maxServices {
		return ports, nil
	}
	out, err := f.w.run(ctx, askLimit, offlineProgram, "--info-service="+name)
	if err != nil {
		return nil, err
	}
	known[name] = parseService(out)
	return known[name], nil
}
