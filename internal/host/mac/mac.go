// SPDX-License-Identifier: Apache-2.0

// Package mac assembles macOS. It builds and runs on every system, because it accesses a Mac only
// through a System: the files below a root and the programs of a runner, both of which a test can
// replace.
package mac

import (
	"context"
	"net"
	"strings"
	"syscall"
	"time"

	"sentinel/internal/blocklist"
	"sentinel/internal/dnslookup"
	"sentinel/internal/dnslookup/wire"
	"sentinel/internal/host"
	"sentinel/internal/portscan"
	"sentinel/internal/portscan/connectscan"
	"sentinel/internal/portscan/nmapscan"
	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
	"sentinel/internal/updates"
	"sentinel/platform/darwin/assets"
	macaudit "sentinel/platform/darwin/audit"
	macblocklist "sentinel/platform/darwin/blocklist"
	"sentinel/platform/darwin/containers"
	macusage "sentinel/platform/darwin/diskusage"
	macdns "sentinel/platform/darwin/dnslookup"
	"sentinel/platform/darwin/firewall"
	"sentinel/platform/darwin/health"
	"sentinel/platform/darwin/logins"
	maclogs "sentinel/platform/darwin/logs"
	"sentinel/platform/darwin/network"
	"sentinel/platform/darwin/pfctl"
	macscan "sentinel/platform/darwin/portscan"
	"sentinel/platform/darwin/processes"
	"sentinel/platform/darwin/services"
	macstartup "sentinel/platform/darwin/startup"
	mactrace "sentinel/platform/darwin/traceroute"
	macupdates "sentinel/platform/darwin/updates"
	"sentinel/platform/unix/hostfile"
)

// A System provides access to a Mac.
type System struct {
	Root   string         // below which files are read; "/" on a real Mac
	Live   bool           // whether it is the running system and can be changed
	Runner sysexec.Runner // runs its programs
	// Kill sends a signal to a process (kill(2)); signal 0 only checks.
	Kill func(pid int, signal syscall.Signal) error
	EUID int // effective user of this run
	PID  int // of this run
	// Own is the absolute path of this program, which runs itself again for work that may crash;
	// empty if unknown.
	Own      string
	Owner    int    // user that files of the system belong to; 0 on a real Mac
	StateDir string // where the token of the reference that keeps pf on is stored
	// Getenv reads the environment, which names the user who called sudo.
	Getenv func(string) string
	Now    func() time.Time
}

// Open assembles the Mac. It reads nothing.
func Open(s System) *host.Host {
	table := processes.New(s.Runner, s.PID, s.Now)
	sockets := network.New(s.Runner, s.EUID)
	front := firewall.New(s.Runner)
	pending := macupdates.New(s.Root, s.Runner)
	resolver := &net.Resolver{} // the resolver of macOS, which knows the name servers of a VPN
	return &host.Host{
		Now: s.Now,
		OS:  "darwin", Root: s.Root, Programs: s.Runner, Unreached: unreached(s.EUID),

		Health:    health.Sources(health.Mac{Runner: s.Runner, EUID: s.EUID, Executable: s.Own, Now: s.Now}),
		Processes: table,
		Inspector: processes.NewInspector(s.Runner, s.Root, s.EUID, s.Now),
		Listable:  hostfile.Listable,
		StartID:   table.StartID,
		Network:   sockets,
		Firewall:  front,
		Assets:    assets.New(assets.Parts{Root: s.Root, Runner: s.Runner, Now: s.Now}),

		Live:       s.Live,
		Terminator: processes.NewTerminator(processes.Mac{Root: s.Root, Runner: s.Runner, Kill: s.Kill, EUID: s.EUID, PID: s.PID}),
		Services: services.Services{
			Root: s.Root, Runner: s.Runner, EUID: s.EUID, PID: s.PID, User: services.InvokingUser(s.EUID, s.Getenv), Now: s.Now,
		},
		FirewallManager: front,
		Updates:         pending,
		Containers:      containers.Source{Root: s.Root, Home: s.Getenv("HOME"), UID: services.InvokingUser(s.EUID, s.Getenv)},
		Audit:           posture(s, front, sockets, pending),
		Scan: host.Scan{
			Sources: portscan.Sources{Resolver: resolver, Machine: macscan.NewMachine(s.Runner, s.EUID), Engine: connectscan.New(connectscan.NetDialer{}), RouteCheck: routeCheck(s.EUID)},
			Nmap:    nmapscan.New(s.Runner),
		},
		Logins:     logins.New(s.Root, s.Runner, s.Now),
		DNS:        dnslookup.Sources{Servers: macdns.NameServers(s.Runner), Exchanger: wire.Client{}, Configured: "scutil --dns", Unreached: unreached(s.EUID)},
		Traceroute: traceroute.Sources{Resolver: resolver, Tracer: mactrace.NewTracer(s.Runner), Names: resolver, RouteCheck: routeCheck(s.EUID)},
		DiskUsage:  macusage.New(s.Root, s.Runner),
		Startup:    macstartup.New(macstartup.Parts{Root: s.Root, Runner: s.Runner, EUID: s.EUID, Owner: s.Owner}),
		Logs:       maclogs.Source{Runner: s.Runner, EUID: s.EUID},
		Recorder:   host.Recorder{Job: "com.sentinel.record", Start: "sudo launchctl bootstrap system /Library/LaunchDaemons/com.sentinel.record.plist"},
		Blocklist:  packetFilter(s),
	}
}

// unreached is about Local Network privacy (TN3179 of Apple): macOS refuses with
// EHOSTUNREACH before a packet is sent. root, jobs of launchd's system domain and programs that
// Terminal or sshd has started are exempt; a command line program that a client starts apart from
// itself has no line in System Settings where it could be allowed.
func unreached(euid int) string {
	if euid == 0 {
		return ""
	}
	return "From macOS 15 on, programs that an application such as Claude has started may not reach hosts of the local network, and System Settings has no switch for them; run sentinel in Terminal, over ssh or as root instead."
}

func routeCheck(euid int) func(address string) string {
	return func(address string) string {
		return strings.TrimSuffix("route -n get "+address+". "+unreached(euid), ". ")
	}
}

// packetFilter returns what the blocklist needs. The Application Firewall, which macOS keeps on by
// itself, has no rules that would have to be restored.
func packetFilter(s System) host.Blocklist {
	parts := macblocklist.Parts{Runner: s.Runner, StateDir: s.StateDir, EUID: s.EUID}
	nothing := func(context.Context) (bool, error) { return false, nil }
	return host.Blocklist{
		Backend:         func(ctx context.Context) (blocklist.Backend, error) { return macblocklist.DetectBackend(ctx, parts) },
		Resolver:        &net.Resolver{},
		Context:         macblocklist.NewHostContext(s.Runner, s.EUID, s.PID, s.Root),
		Killer:          macblocklist.ConnKiller{Tool: pfctl.New(s.Runner)},
		Baseline:        nothing,
		BaselineMissing: nothing,
		Watch:           func(_ context.Context, on bool) error { return macblocklist.Watch(s.StateDir, on) },
	}
}

// posture returns the checks of the audit.
func posture(s System, front *firewall.Manager, sockets *network.Source, pending *macupdates.Updates) *macaudit.Source {
	return macaudit.New(macaudit.Parts{
		Root: s.Root, Runner: s.Runner, Firewall: front, Sockets: sockets, Now: s.Now(), EUID: s.EUID, Owner: s.Owner,
		SecurityUpdates: func(ctx context.Context) ([]string, error) { return updates.SecurityNames(ctx, pending, s.Now()) },
	})
}
