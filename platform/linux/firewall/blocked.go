// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"sentinel/internal/firewall"
)

// The programs that print the rules of iptables as the kernel has them.
const (
	saveProgram  = "/usr/sbin/iptables-save"
	saveProgram6 = "/usr/sbin/ip6tables-save"
)

// A snapshot is the loaded rules of iptables, by the program that printed them.
type snapshot map[string]tables

// snapshot reads the rules of both families. Without iptables there are none.
func (w *Manager) snapshot(ctx context.Context) (snapshot, error) {
	s := snapshot{}
	for _, program := range []string{saveProgram, saveProgram6} {
		if !w.installed(program) {
			continue
		}
		out, err := w.run(ctx, askLimit, program)
		if err != nil {
			return nil, fmt.Errorf("read the loaded rules: %w", err)
		}
		s[program] = parseTables(out)
	}
	return s, nil
}

// admits says whether the rules let new connections to ports in. What stood in
// their way before is not looked at: it was no firewall that was switched on.
func (s snapshot) admits(ports []firewall.Port, peers []netip.Addr, before snapshot) error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, program := range []string{saveProgram, saveProgram6} {
		v6 := program == saveProgram6
		for _, port := range ports {
			p := packet{port, addresses(own, v6), slices.DeleteFunc(slices.Clone(peers), func(a netip.Addr) bool { return a.Is6() != v6 })}
			if by := s[program].blocked(p); by != "" && by != before[program].blocked(p) {
				return fmt.Errorf("the loaded rules do not let %s in: %s", port, by)
			}
		}
	}
	return nil
}

// verified is admits for a manager that loads its rules by iptables.
func (s snapshot) verified(ports []firewall.Port, peers []netip.Addr, before snapshot) error {
	if s[saveProgram] == nil {
		return errors.New("the loaded rules cannot be read back without " + saveProgram)
	}
	return s.admits(ports, peers, before)
}

// addresses returns those of one family that others may send to.
func addresses(all []net.Addr, v6 bool) []netip.Addr {
	var list []netip.Addr
	for _, a := range all {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Addr().Is6() == v6 && !p.Addr().IsLoopback() {
			list = append(list, p.Addr().WithZone(""))
		}
	}
	return list
}
