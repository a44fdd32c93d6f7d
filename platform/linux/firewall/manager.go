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
)

// The programs of the managers, where all distributions have them.
const (
	ufwProgram     = "/usr/sbin/ufw"
	offlineProgram = "/usr/bin/firewall-offline-cmd"
	clientProgram  = "/usr/bin/firewall-cmd"
)

// Time limits of one call. ufw and firewalld are written in Python and run
// iptables or nft dozens of times.
const (
	changeLimit = 20 * time.Second
	askLimit    = 5 * time.Second
	// maxPrinted bounds what a manager prints, in bytes.
	maxPrinted = 1 << 20
)

// A Manager finds and switches on the firewall of the live system.
type Manager struct {
	runner    sysexec.Runner
	units     units
	sockets   sockets
	installed func(path string) bool
	usable    func() error // nil when the kernel has nftables
	state     stateFile
}

var _ firewall.Manager = (*Manager)(nil)

// NewManager returns the Wall of the live system. Nothing is read yet.
func NewManager(runner sysexec.Runner) *Manager {
	return &Manager{
		runner: runner, units: bus{}, sockets: liveSockets(), installed: installed, usable: nftUsable,
		state: stateFile{path: StatePath},
	}
}

func installed(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Manager implements [firewall.Manager]. Where both ufw and firewalld are
// installed, a firewalld that runs or starts has been chosen; otherwise the one whose
// unit is enabled is the owner's choice. A masked unit has been ruled out by the owner.
func (w *Manager) Backend(ctx context.Context) (firewall.Backend, error) {
	hasUFW, hasFirewalld := w.installed(ufwProgram), w.installed(offlineProgram) && w.installed(clientProgram)
	var daemon, service unit
	if hasFirewalld {
		daemon = w.units.state(ctx, firewalldUnit)
		hasFirewalld = daemon.loaded
	}
	if hasUFW {
		service = w.units.state(ctx, ufwUnit)
		hasUFW = !service.masked
	}
	switch {
	case hasFirewalld && (daemon.active || daemon.starting):
		return &firewalld{w: w}, nil
	case hasUFW && (!hasFirewalld || !daemon.enabled || service.enabled && w.ufwEnabled()):
		return &ufw{w: w}, nil
	case hasFirewalld:
		return &firewalld{w: w}, nil
	}
	if err := w.usable(); err != nil {
		return nil, err
	}
	return &baseline{w: w}, nil
}

// noFirewall is the refusal of a kernel that cannot filter the way we can ask.
func noFirewall(cause error) error {
	return fault.Wrap(fault.NoFirewall, "Neither ufw nor firewalld can be used here, and the kernel has no nftables", cause).
		WithFix("Install ufw, or start a kernel with nf_tables.")
}
