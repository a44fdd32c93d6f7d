// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"net"
	"os"

	"sentinel/internal/audit"
	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
	"sentinel/internal/host"
	"sentinel/internal/netdiag"
	"sentinel/internal/netdiag/wire"
	"sentinel/internal/portscan"
	"sentinel/internal/portscan/nmapscan"
	"sentinel/internal/sysexec"
	linuxaudit "sentinel/platform/linux/audit"
	"sentinel/platform/linux/blocking"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/connections"
	"sentinel/platform/linux/inventory"
	"sentinel/platform/linux/netfilter"
	"sentinel/platform/linux/packages"
	"sentinel/platform/linux/probe"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/systemd"
	"sentinel/platform/linux/vitals"
	"sentinel/platform/linux/wall"
)

// Open assembles Linux below root, "/" on a live system. Nothing is read yet.
func Open(root string) (*host.Host, error) {
	table := processes.New(root)
	runner := sysexec.Host{}
	rules := netfilter.New(root, runner)
	front := wall.New(runner)
	pending := packages.NewUpdates(root, runner)
	resolver := &net.Resolver{PreferGo: true}
	return &host.Host{
		OS: "linux", Root: root, Programs: runner,

		Health:    vitals.Sources(root),
		Processes: table,
		StartID:   table.StartID,
		Network:   connections.New(root),
		Firewall:  rules,
		Assets:    inventory.New(root),

		Live:       root == "/",
		Detach:     func() error { return cgroup.Leave(root) },
		Terminator: processes.NewTerminator(root),
		Services:   systemd.NewServices(root, runner),
		Wall:       front,
		Updates:    pending,
		Audit:      posture(root, runner, rules, pending),
		Scan: host.Scan{
			Sources: portscan.Sources{Resolver: resolver, Machine: probe.NewMachine(root), Engine: probe.NewConnect(root)},
			Nmap:    nmapscan.New(runner),
		},
		Names: netdiag.Names{Servers: probe.NameServers(root), Exchanger: wire.Client{}},
		Ways:  netdiag.Ways{Resolver: resolver, Prober: probe.Prober{}, Names: resolver},
		Blocking: host.Blocking{
			Backend:         func(ctx context.Context) (blocklist.Backend, error) { return blocking.Choose(ctx, runner) },
			Around:          blocking.NewSurroundings(root),
			Cut:             blocking.Cutter{},
			Baseline:        func(ctx context.Context) (bool, error) { return front.Restore(ctx, rules) },
			BaselineMissing: func(ctx context.Context) (bool, error) { return front.Missing(ctx, rules) },
		},
	}, nil
}

// posture returns the checks of the audit. A picture of a machine has neither
// sockets nor programs to ask.
func posture(root string, runner sysexec.Runner, rules firewall.Source, pending *packages.Updates) audit.Source {
	p := linuxaudit.Parts{Root: root, Firewall: rules, EUID: os.Geteuid()}
	if root == "/" {
		p.Runner, p.Sockets = runner, connections.New(root)
		p.SecurityUpdates = func(ctx context.Context) (linuxaudit.Waiting, error) { return waiting(ctx, pending) }
	}
	return linuxaudit.New(p)
}

// waiting counts the security updates that wait.
func waiting(ctx context.Context, pending *packages.Updates) (linuxaudit.Waiting, error) {
	p, err := pending.Pending(ctx)
	switch {
	case err != nil:
		return linuxaudit.Waiting{}, err
	case p.Unknown != nil:
		return linuxaudit.Waiting{}, p.Unknown
	case p.Security == nil:
		return linuxaudit.Waiting{}, errors.New("the package manager does not tell security updates apart")
	}
	return linuxaudit.Waiting{Count: len(p.Security), Names: p.Security}, nil
}
