// SPDX-License-Identifier: Apache-2.0

// Package host defines what the domains need from an operating system, as one value. The packages
// below it make that value and are the only ones that import platform packages: mac for macOS,
// local for the system this program was built for.
package host

import (
	"context"
	"runtime"
	"time"

	"sentinel/internal/assets"
	"sentinel/internal/audit"
	"sentinel/internal/blocklist"
	"sentinel/internal/containers"
	"sentinel/internal/diskusage"
	"sentinel/internal/dnslookup"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/logins"
	"sentinel/internal/logs"
	"sentinel/internal/network"
	"sentinel/internal/portscan"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/internal/sessions"
	"sentinel/internal/startup"
	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
	"sentinel/internal/updates"
)

// BuiltFor is the operating system that this program was built for, as Go names it. [Host.OS] is
// the one that is inspected.
const BuiltFor = runtime.GOOS

// A Host provides what the domains need from an operating system.
type Host struct {
	OS       string         // as Go names it
	Root     string         // directory of the machine's files; "/" on a live system
	Programs sysexec.Runner // runs the machine's programs
	Now      func() time.Time
	// Unreached says what may keep this run, and not others, from hosts of the local network, and
	// what to do, in a sentence; empty for nothing.
	Unreached string

	Health    health.Sources
	Processes processes.Source
	Inspector processes.Inspector // of get_process_details
	// Listable reports whether a path is there in a directory that this thread may read. It follows no link
	// to what a process holds.
	Listable func(path string) bool
	Network  network.Source
	Firewall firewall.Source
	Assets   assets.Source

	// Live reports that this is the running system, which can be changed, and not a directory with
	// the files of one.
	Live bool
	// Sessions tells what carries the sessions of people. It is nil where that is not read.
	Sessions func(context.Context) (*sessions.Model, error)
	// Mounted lists where file systems are mounted that processes serve, by the control groups of
	// these. It is nil where that is not read.
	Mounted         func(context.Context) (map[string][]string, error)
	Terminator      processes.TerminationSource
	Services        services.Source
	FirewallManager firewall.Manager
	// FirewallTrials is nil if a firewall is turned on without a trial.
	FirewallTrials firewall.TrialSource
	Blocklist      Blocklist
	Updates        updates.Source
	Audit          audit.Source
	Containers     containers.Source
	Scan           Scan
	Logins         logins.Source
	DNS            dnslookup.Sources  // of dns_lookup
	Traceroute     traceroute.Sources // of traceroute
	DiskUsage      diskusage.Source   // of get_disk_usage
	Startup        startup.Source     // of get_startup_items
	Logs           logs.Source
	Recorder       Recorder
	// StartID identifies the process that has a PID now among all that ever had it.
	StartID func(pid int) (string, error)
}

// Recorder names what takes a sample each minute; nothing where no service manager can.
type Recorder struct {
	Job   string // of the service manager
	Start string // the command that switches it on for good
}

// Blocklist holds what the blocklist needs from the platform.
type Blocklist struct {
	// Backend finds the packet filter to use, or fails with FIREWALL_UNAVAILABLE.
	Backend func(ctx context.Context) (blocklist.Backend, error)
	Context blocklist.HostContext
	// Resolver finds the receivers of reports; nil where they are not protected.
	Resolver blocklist.Lookup
	Killer   blocklist.ConnKiller
	// Baseline restores the rules of a firewall that sentinel turned on itself, if it did, and
	// reports whether they were missing.
	Baseline func(ctx context.Context) (restored bool, err error)
	// BaselineMissing reports whether Baseline has rules to restore.
	BaselineMissing func(ctx context.Context) (bool, error)
	// BaselineKept reports whether there is such a firewall, whole or missing; nil if there never
	// is.
	BaselineKept func() bool
	// Watch has the service manager run "sentinel --restore-blocklist" every minute, or stops that.
	// It does nothing where that is so already or the units are not installed. It may be nil.
	Watch func(ctx context.Context, on bool) error
}

// Scan holds what scan_ports needs, with the engine that the configuration chooses.
type Scan struct {
	Sources portscan.Sources // with the built-in engine
	Nmap    portscan.Engine
}

// With returns the sources with the engine of that name.
func (s Scan) With(engine string) portscan.Sources {
	if engine == "nmap" {
		s.Sources.Engine = s.Nmap
	}
	return s.Sources
}
