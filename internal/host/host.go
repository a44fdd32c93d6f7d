// SPDX-License-Identifier: Apache-2.0

// Package host says what the domains need from an operating system, in one
// value. The packages below it make that value and are the only ones that import
// platform packages: mac for macOS, local for the system this program was built for.
package host

import (
	"context"
	"runtime"

	"sentinel/internal/assets"
	"sentinel/internal/audit"
	"sentinel/internal/blocklist"
	"sentinel/internal/dnslookup"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/portscan"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/traceroute"
	"sentinel/internal/updates"
)

// BuiltFor is the operating system that this program was built for, as Go names
// it. A [Host] says which one is looked at.
const BuiltFor = runtime.GOOS

// A Host gives the domains what they need from this operating system.
type Host struct {
	OS       string         // as Go names it
	Root     string         // below which the files of the machine are; "/" on a live system
	Programs sysexec.Runner // runs those of the machine

	Health    health.Sources
	Processes processes.Source
	Network   network.Source
	Firewall  firewall.Source
	Assets    assets.Source

	// Live says that this is the running system, which can be changed, and not a
	// directory with the files of one.
	Live bool
	// Detach moves this process out of the control group of the user who started
	// it, who could otherwise freeze it while it holds a lock.
	Detach          func() error
	Terminator      processes.TerminationSource
	Services        services.Source
	FirewallManager firewall.Manager
	// FirewallTrials is nil where a firewall is switched on without a trial.
	FirewallTrials firewall.TrialSource
	Blocklist      Blocklist
	Updates        updates.Source
	Audit          audit.Source
	Scan           Scan
	DNS            dnslookup.Sources  // of dns_lookup
	Traceroute     traceroute.Sources // of traceroute
	// StartID tells the process that has a PID now from all others that had it.
	StartID func(pid int) (string, error)
}

// Blocklist is what the blocklist needs of the platform.
type Blocklist struct {
	// Backend finds the packet filter to use, or fails with FIREWALL_UNAVAILABLE.
	Backend func(ctx context.Context) (blocklist.Backend, error)
	Context blocklist.HostContext
	Killer  blocklist.ConnKiller
	// Baseline puts the rules of the firewall back that sentinel switched on
	// itself, where it did, and says whether they were missing.
	Baseline func(ctx context.Context) (restored bool, err error)
	// BaselineMissing says whether Baseline has something to put back.
	BaselineMissing func(ctx context.Context) (bool, error)
}

// Scan is what scan_ports needs, with the engine that the configuration chooses.
type Scan struct {
	Sources portscan.Sources // with the engine that is built in
	Nmap    portscan.Engine
}

// With returns the sources with the engine of that name.
func (s Scan) With(engine string) portscan.Sources {
	if engine == "nmap" {
		s.Sources.Engine = s.Nmap
	}
	return s.Sources
}
