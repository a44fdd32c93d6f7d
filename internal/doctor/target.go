// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// A Target is the machine that is looked at and the run that looks.
type Target struct {
	Root    string // files are looked for below it; "/" on a live system
	OS      string // as runtime.GOOS has it
	Version string // of sentinel
	User    User   // for whom the clients and the rules of sudo are looked at
	AsRoot  bool   // this run is root's
	// Binary returns the absolute path of the running sentinel, links followed.
	Binary func() (string, error)
	// Trusted says why somebody other than root could change what is at a path:
	// [sentinel/internal/trust.RootOnly].
	Trusted func(path string) error
	// TrustedLog is Trusted for the journal: [sentinel/internal/trust.InLogs].
	TrustedLog func(path string) error
	Tools      []Tool
	// ConfigPath is the file of the configuration, and ConfigError why it cannot
	// be used.
	ConfigPath  string
	ConfigError error
	StateDir    string
	JournalDir  string
	// Programs asks sudo what it allows, and macOS what only its programs tell.
	Programs sysexec.Runner
	// OSVersion names the operating system with its version: "macOS 26.6 (25G72)".
	// It is only asked on macOS.
	OSVersion func(ctx context.Context) (string, error)

	Journal        Probe // verifies the journal
	Blocklist      Probe // reads the list of blocked addresses
	PacketFilter   Probe // finds what can block addresses
	Firewall       Probe // finds what can be switched on as a firewall, and whether it is
	ServiceManager Probe // asks the service manager for a sign of life
	// UnitState returns the active state of a unit, such as "failed"
	// (systemctl(1)); nil where nobody can tell.
	UnitState func(ctx context.Context, unit string) (string, error)
}

// A User is a person who uses sentinel.
type User struct {
	UID  int    // behind sudo, of who started it
	Name string // as sudo has it; "" is looked up
	// Env reads the user's environment as os.Getenv does; nil where it is not
	// known, as behind sudo.
	Env func(string) string
}

func (u User) env(name string) string {
	if u.Env == nil {
		return ""
	}
	return u.Env(name)
}

// A Tool is one that root is of use to.
type Tool struct {
	Name string
	// Needs says that the tool is refused without root, and not only poorer.
	Needs bool
}

// A Probe asks a part of sentinel that has code of its own. What was seen is a
// few words. An error that is fs.ErrPermission says that only root can tell; a nil Probe that
// nobody can here.
type Probe func(ctx context.Context) (seen string, err error)

// ask turns the answer of a probe into a finding. worst is the status of an
// error that is not about permission.
func (probe Probe) ask(ctx context.Context, worst, fix string) []Finding {
	if probe == nil {
		return one(Unknown, "Not looked at on this system.", "")
	}
	seen, err := probe(ctx)
	var known *fault.Error
	switch {
	case err == nil:
		return one(OK, seen, "")
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can tell.", "Run: sudo sentinel --doctor")
	case errors.Is(err, context.DeadlineExceeded):
		return one(Unknown, "It did not answer in time.", fix)
	case errors.As(err, &known) && known.Fix != "":
		return one(worst, known.Message, known.Fix)
	default:
		return one(worst, err.Error(), fix)
	}
}

// mac says that the machine is a Mac.
func (p Target) mac() bool { return p.OS == "darwin" }

// either returns the one of two texts that fits the machine.
func (p Target) either(linux, mac string) string {
	if p.mac() {
		return mac
	}
	return linux
}

// at returns where a path of the machine is found.
func (p Target) at(path string) string { return filepath.Join(p.Root, path) }

func journal(ctx context.Context, p Target) []Finding {
	return p.Journal.ask(ctx, Problem, "See what is wrong with: sudo sentinel --verify-journal")
}

func blocklist(ctx context.Context, p Target) []Finding {
	return p.Blocklist.ask(ctx, Problem, "See what is blocked with: sudo sentinel --list-blocked")
}

func packetFilter(ctx context.Context, p Target) []Finding {
	return p.PacketFilter.ask(ctx, Warning, p.either("Install nftables; without it, or iptables, no address can be blocked.", "Without pf no address can be blocked; see what it says with: sudo /sbin/pfctl -s info"))
}

func firewall(ctx context.Context, p Target) []Finding {
	return p.Firewall.ask(ctx, Warning, "Switch a firewall on with: sudo sentinel --fix-firewall")
}

func serviceManager(ctx context.Context, p Target) []Finding {
	return p.ServiceManager.ask(ctx, Warning, p.either("Without systemd no service can be restarted through sentinel.", "See what launchd says with: /bin/launchctl print system"))
}
