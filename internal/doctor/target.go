// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// A Target is the machine that is examined, and who examines it.
type Target struct {
	Root    string // files are looked for below it; "/" on a live system
	OS      string // as runtime.GOOS has it
	Version string // of sentinel
	User    User   // for whom the clients and the rules of sudo are looked at
	AsRoot  bool   // sentinel runs as root
	// Binary returns the absolute path of the running sentinel, after following links.
	Binary func() (string, error)
	// Trusted returns why somebody other than root could change what is at a path:
	// [sentinel/internal/trust.RootOnly].
	Trusted func(path string) error
	// TrustedLog is Trusted for the journal: [sentinel/internal/trust.InLogs].
	TrustedLog func(path string) error
	// Owned returns why somebody other than root and the user could change what is at a path:
	// [sentinel/internal/trust.User].
	Owned func(path string) error
	Tools []Tool
	// ConfigPath is the configuration file, and ConfigError why it, or a file beside
	// it, cannot be used.
	ConfigPath  string
	ConfigError error
	ConfigFiles []string // that are read, in their order
	AskRequired bool     // policy.ask is required
	StateDir    string
	JournalDir  string
	// Programs runs sudo, and on macOS the programs that alone tell something.
	Programs sysexec.Runner
	// OSVersion returns the name and version of the system: "macOS 26.6 (25G72)",
	// "Debian GNU/Linux 12 (bookworm)".
	OSVersion func(ctx context.Context) (string, error)

	Journal        Probe // verifies the journal
	Blocklist      Probe // reads the list of blocked addresses
	PacketFilter   Probe // finds what can block addresses
	Firewall       Probe // finds what can be switched on as a firewall, and whether it is
	ServiceManager Probe // asks the service manager for a sign of life
	// UnitState returns the active state of a unit, such as "failed" (systemctl(1)), or
	// [sentinel/internal/services.NotLoaded] or SwitchedOff; nil where there is no service manager
	// to ask.
	UnitState func(ctx context.Context, unit string) (string, error)
	// Reports returns what is known about reports to receivers.
	Reports func(ctx context.Context) (Reporting, error)
	// Recorder returns what is known about the recorder.
	Recorder func(ctx context.Context) (Recording, error)
	// Others asks the other machines of the configuration; nil where there are none to ask.
	Others func(ctx context.Context) ([]Other, error)
	// Restorable reports whether there is something that --restore-blocklist may have to restore; it
	// may be nil.
	Restorable func() bool
}

// A User is a person who uses sentinel.
type User struct {
	UID  int    // under sudo, of the user who called it
	Name string // as sudo has it; "" is looked up
	// Env reads the user's environment as os.Getenv does; nil where it is not
	// known, as under sudo.
	Env func(string) string
	// Groups are those of the running process; nil where it is not the user's.
	Groups []int
}

func (u User) env(name string) string {
	if u.Env == nil {
		return ""
	}
	return u.Env(name)
}

// A Tool is one that does more as root.
type Tool struct {
	Name string
	// Needs says that the tool is refused without root, rather than seeing less.
	Needs bool
	Alias string // that has it in the shipped rules of sudo
}

// A Probe asks another part of sentinel and returns what it saw, in a few words.
// The error fs.ErrPermission says that only root can tell; a nil Probe, that it cannot be told on
// this system.
type Probe func(ctx context.Context) (seen string, err error)

// finding runs a probe. worst is the status of an error that is not about
// permission.
func (probe Probe) finding(ctx context.Context, worst, fix string) []Finding {
	if probe == nil {
		return one(Unknown, "Not looked at on this system.", "")
	}
	seen, err := probe(ctx)
	var known *fault.Error
	switch {
	case err == nil:
		return one(OK, seen, "")
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can tell.", asAdministrator)
	case errors.Is(err, context.DeadlineExceeded):
		return one(Unknown, "It did not answer in time.", fix)
	case errors.As(err, &known) && known.Fix != "":
		return one(worst, known.Message, known.Fix)
	default:
		return one(worst, err.Error(), fix)
	}
}

// machine is the machine for what is said about root.
func (t Target) machine() elevation.Machine {
	own, err := t.Binary()
	if err != nil {
		own = ""
	}
	return elevation.Machine{Root: t.Root, OS: t.OS, Programs: t.Programs, Program: own, Trusted: t.Trusted, UID: t.User.UID, Name: t.User.Name, Groups: t.User.Groups}
}

// installFix says how to install both programs with what belongs to them.
func (t Target) installFix() string { return t.machine().InstallFix() }

// personal reports whether a program is the user's own, as in a copy of the source: it runs without
// root, and nobody else can change it.
func (t Target) personal(path string) bool {
	return t.User.UID != 0 && t.Trusted(t.at(path)) != nil && t.Owned(t.at(path)) == nil
}

// withoutRoot reports whether sentinel is a program of the user alone, and root has installed none.
func (t Target) withoutRoot(ctx context.Context) bool {
	own, err := t.Binary()
	return err == nil && t.personal(own) && elevation.Look(ctx, t.machine()).Installed == ""
}

// mac says that the machine is a Mac.
func (t Target) mac() bool { return t.OS == "darwin" }

// bySystem returns the text for the system of the machine.
func (t Target) bySystem(linux, mac string) string {
	if t.mac() {
		return mac
	}
	return linux
}

// at returns where a path of the machine is found.
func (t Target) at(path string) string { return filepath.Join(t.Root, path) }

func journal(ctx context.Context, t Target) []Finding {
	return t.Journal.finding(ctx, Problem, "See what is wrong with: sudo sentinel --verify-journal")
}

func blocklist(ctx context.Context, t Target) []Finding {
	return t.Blocklist.finding(ctx, Problem, "See what is blocked with: sudo sentinel --list-blocked")
}

func packetFilter(ctx context.Context, t Target) []Finding {
	return t.PacketFilter.finding(ctx, Warning, t.bySystem("Install nftables; without it, or iptables, no address can be blocked.", "Without pf no address can be blocked; see what it says with: sudo /sbin/pfctl -s info"))
}

func firewall(ctx context.Context, t Target) []Finding {
	return t.Firewall.finding(ctx, Warning, "See what a firewall would close, then switch it on without --dry-run: sudo sentinel --fix-firewall --dry-run")
}

func serviceManager(ctx context.Context, t Target) []Finding {
	return t.ServiceManager.finding(ctx, Warning, t.bySystem("Without systemd no service can be restarted through sentinel.", "See what launchd says with: /bin/launchctl print system"))
}
