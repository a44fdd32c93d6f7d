// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package firewall reads which packet filter rules Linux has loaded, and switches a
// firewall on: ufw, else firewalld, else a rule set of its own in nftables. It finds the
// ports of remote sessions that have to stay reachable.
package firewall

import (
	"context"
	"os"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/systemd"
)

// The programs of the managers, where all distributions have them.
const (
	ufwProgram     = "/usr/sbin/ufw"
	offlineProgram = "/usr/bin/firewall-offline-cmd"
	clientProgram  = "/usr/bin/firewall-cmd"
)

// Time limits of one call. ufw and firewalld are written in Python, which takes a second of the
// processor to begin, and run iptables or nft dozens of times.
const (
	changeLimit = 20 * time.Second
	askLimit    = 10 * time.Second
	// maxPrinted bounds what a manager prints, in bytes.
	maxPrinted = 1 << 20
)

// A Manager finds and switches on the firewall of the live system.
type Manager struct {
	root      string // "/", below which the files of ufw are
	runner    sysexec.Runner
	units     units
	sockets   sockets
	installed func(path string) bool
	rules     ruleset
	state     stateFile
	detach    func(program string, args ...string) error
}

var _ firewall.Manager = (*Manager)(nil)

// NewManager returns the Manager of the live system. Nothing is read yet.
func NewManager(runner sysexec.Runner) *Manager {
	return &Manager{
		root: "/", runner: runner, units: systemd.Units{}, sockets: liveSockets(), installed: installed, rules: liveRuleset(),
		state: stateFile{path: StatePath}, detach: sysexec.Detach,
	}
}

func installed(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Backend implements [firewall.Manager]. Where both ufw and firewalld are
// installed, a firewalld that runs or starts has been chosen; otherwise the one whose
// unit is enabled is the owner's choice. A masked unit has been ruled out by the owner.
func (m *Manager) Backend(ctx context.Context) (firewall.Backend, error) {
	hasUFW, hasFirewalld := m.installed(ufwProgram), m.installed(offlineProgram) && m.installed(clientProgram)
	var daemon, service systemd.UnitState
	if hasFirewalld {
		daemon = m.units.State(ctx, firewalldUnit)
		hasFirewalld = daemon.Loaded
	}
	if hasUFW {
		service = m.units.State(ctx, ufwUnit)
		hasUFW = !service.Masked
	}
	switch {
	case hasFirewalld && (daemon.Active || daemon.Starting):
		return &firewalld{m: m}, nil
	case hasUFW && (!hasFirewalld || !daemon.Enabled || service.Enabled && ufwEnabled(m.root)):
		return &ufw{m: m}, nil
	case hasFirewalld:
		return &firewalld{m: m}, nil
	}
	if err := m.rules.usable(); err != nil {
		return nil, err
	}
	return &ownRuleset{m: m}, nil
}

// noFirewall is the refusal of a kernel that cannot filter the way we can ask.
func noFirewall(cause error) error {
	return fault.Wrap(fault.FirewallUnavailable, "Neither ufw nor firewalld can be used here, and the kernel has no nftables", cause).
		WithFix("Install ufw, or start a kernel with nf_tables.")
}
