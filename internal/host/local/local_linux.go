// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"net"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/blocklist"
	"sentinel/internal/dnslookup"
	"sentinel/internal/dnslookup/wire"
	"sentinel/internal/firewall"
	"sentinel/internal/host"
	"sentinel/internal/portscan"
	"sentinel/internal/portscan/connectscan"
	"sentinel/internal/portscan/nmapscan"
	"sentinel/internal/privilege"
	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
	"sentinel/internal/updates"
	"sentinel/platform/linux/assets"
	linuxaudit "sentinel/platform/linux/audit"
	linuxblocklist "sentinel/platform/linux/blocklist"
	"sentinel/platform/linux/containers"
	linuxusage "sentinel/platform/linux/diskusage"
	linuxdns "sentinel/platform/linux/dnslookup"
	linuxfirewall "sentinel/platform/linux/firewall"
	"sentinel/platform/linux/fuse"
	"sentinel/platform/linux/health"
	linuxlogins "sentinel/platform/linux/logins"
	linuxlogs "sentinel/platform/linux/logs"
	"sentinel/platform/linux/network"
	linuxscan "sentinel/platform/linux/portscan"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/services"
	linuxsessions "sentinel/platform/linux/sessions"
	linuxstartup "sentinel/platform/linux/startup"
	"sentinel/platform/linux/systemd"
	linuxtrace "sentinel/platform/linux/traceroute"
	linuxupdates "sentinel/platform/linux/updates"
	"sentinel/platform/unix/hostfile"
)

// Open assembles Linux below root, "/" on a live system. It reads nothing.
func Open(root string) (*host.Host, error) {
	table := processes.New(root)
	runner := sysexec.Host{}
	rules := linuxfirewall.NewSource(root, runner)
	front := linuxfirewall.NewManager(runner)
	pending := linuxupdates.NewUpdates(root, runner)
	resolver := &net.Resolver{PreferGo: true}
	return &host.Host{
		OS: "linux", Root: root, Programs: runner, Now: time.Now,

		Health:    health.Sources(root, table),
		Processes: table,
		Inspector: processes.NewInspector(root, runner, time.Now),
		Listable:  hostfile.Listable,
		StartID:   table.StartID,
		Network:   network.New(root),
		Firewall:  rules,
		Assets:    assets.New(root),

		Live:            root == "/",
		Terminator:      processes.NewTerminator(root),
		Services:        services.NewServices(root, runner),
		Sessions:        linuxsessions.New(root).Model,
		Mounted:         fuse.New(root, procfs.New(root)).ByGroup,
		FirewallManager: front,
		FirewallTrials:  front,
		Updates:         pending,
		Containers:      containers.Source(root),
		Audit:           posture(root, runner, rules, pending, table),
		Scan: host.Scan{
			Sources: portscan.Sources{Resolver: resolver, Machine: linuxscan.NewMachine(root), Engine: connectscan.New(linuxscan.Dialer{}), RouteCheck: routeCheck},
			Nmap:    nmapscan.New(runner),
		},
		Logins:     linuxlogins.New(root, onLive(root, runner), time.Now),
		DNS:        dnslookup.Sources{Servers: linuxdns.NameServers(root), Exchanger: wire.Client{}, Configured: "/etc/resolv.conf"},
		Traceroute: traceroute.Sources{Resolver: resolver, Prober: linuxtrace.Prober{}, Names: resolver, RouteCheck: routeCheck},
		DiskUsage:  linuxusage.New(root),
		Startup:    linuxstartup.New(linuxstartup.Parts{Root: root, Runner: liveRunner(root, runner), EUID: privilege.EffectiveUID()}),
		Logs:       &linuxlogs.Source{Root: root, Runner: runner},
		Recorder:   recorder(root),
		Blocklist: host.Blocklist{
			Backend:         func(ctx context.Context) (blocklist.Backend, error) { return linuxblocklist.DetectBackend(ctx, runner) },
			Resolver:        resolver,
			Context:         linuxblocklist.NewHostContext(root),
			Killer:          linuxblocklist.ConnKiller{},
			Baseline:        func(ctx context.Context) (bool, error) { return front.Restore(ctx, rules) },
			BaselineMissing: func(ctx context.Context) (bool, error) { return front.Missing(ctx, rules) },
			BaselineKept:    front.Kept,
			Watch:           func(ctx context.Context, on bool) error { return linuxblocklist.Watch(ctx, systemd.Units{}, on) },
		},
	}, nil
}

// recorder names the timer of systemd, if that runs here.
func recorder(root string) host.Recorder {
	if root == "/" && !systemd.Booted() {
		return host.Recorder{}
	}
	return host.Recorder{Job: "sentinel-record.timer", Start: "sudo systemctl enable --now sentinel-record.timer"}
}

// onLive returns the runner of programs on a live system. Beside a copy of a machine's files they would
// tell of this one.
func onLive(root string, runner sysexec.Runner) sysexec.Runner {
	if root != "/" {
		return nil
	}
	return runner
}

func routeCheck(address string) string { return "ip route get " + address }

// posture returns the checks of the audit. A copy of a machine's files has neither sockets nor
// programs to run.
func posture(root string, runner sysexec.Runner, rules firewall.Source, pending *linuxupdates.Updates, table *processes.Source) audit.Source {
	p := linuxaudit.Parts{Root: root, Firewall: rules, EUID: privilege.EffectiveUID()}
	if root == "/" {
		p.Runner, p.Sockets, p.GonePrograms = runner, network.New(root), table.GonePrograms
		p.SecurityUpdates = func(ctx context.Context) ([]string, error) { return updates.SecurityNames(ctx, pending, time.Now()) }
	}
	return linuxaudit.New(p)
}

// liveRunner is nil for a copy of a machine's files, about which no program can be asked.
func liveRunner(root string, runner sysexec.Runner) sysexec.Runner {
	if root == "/" {
		return runner
	}
	return nil
}
