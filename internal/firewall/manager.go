// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
)

// The managers that can be turned on.
const (
	UFW       = "ufw"
	Firewalld = "firewalld"
	// Nftables is the rule set of sentinel itself, for a machine without a manager.
	Nftables = "nftables"
	// ApplicationFirewall is that of macOS.
	ApplicationFirewall = "application-firewall"
)

// BaselineTable is the table of family inet in which the rule set of sentinel
// itself lives. Unlike [OwnTable] it is a firewall and counts as one.
const BaselineTable = "sentinel_firewall"

// A Port is a local port that receives packets, or a protocol without ports.
type Port struct {
	Number   uint16 `json:"port"`     // 1 to 65535; 0 is a protocol without ports
	Protocol string `json:"protocol"` // "tcp", "udp" or "udplite", or the one without ports
}

// String shows a port as ufw(8) and firewall-cmd(1) take it: "22/tcp". A protocol without ports is
// its name.
func (p Port) String() string {
	if p.ProtocolNumber() != 0 {
		return p.Protocol
	}
	return fmt.Sprintf("%d/%s", p.Number, p.Protocol)
}

// Compare orders ports by protocol and number.
func (p Port) Compare(o Port) int {
	return cmp.Or(cmp.Compare(p.Protocol, o.Protocol), cmp.Compare(p.Number, o.Number))
}

// ParsePort parses the form of [Port.String].
func ParsePort(text string) (Port, error) {
	digits, protocol, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' || protocol != "tcp" && protocol != "udp" {
		return Port{}, fmt.Errorf("%s is no port such as 22/tcp", sanitize.Quoted(text, 40))
	}
	return Port{Number: uint16(n), Protocol: protocol}, nil
}

// A Listener is a socket that other hosts can reach as long as no firewall blocks it.
type Listener struct {
	Port
	Process string `json:"process,omitempty"` // absent if the kernel itself listens, or nothing does
	// Connections are the open TCP connections of other hosts to the port, without those of this machine
	// to itself; absent for UDP and where they are not counted.
	Connections *int `json:"connections,omitempty"`
}

// OpenPorts holds the ports of this machine that are open to other hosts.
type OpenPorts struct {
	// Remote are the ports of remote sessions: those of SSH servers, and that of a tunnel that
	// carries a live session.
	Remote []Port
	// Listeners are all exposed sockets, those of Remote included.
	Listeners []Listener
	// Protocols are those without ports that services of the system receive.
	Protocols []Port
	// WaysOut are what the packets of tunnels come in at by which this machine reaches others.
	WaysOut []WayOut
	// Servers tells which user listens at a port: 0 where one is the system's, and the least of several.
	Servers map[Port]int
	// OnlyIPv6 are the ports at which all sockets that listen for other hosts take IPv6 alone.
	OnlyIPv6 []Port
	// Inside are the ports whose servers only this machine itself can reach.
	Inside []Port
	// Cut says that more sockets listen than were looked at; those of the system, and at ports that
	// only root opens, were.
	Cut bool
}

// A WayOut is a port or protocol of a tunnel.
type WayOut struct {
	Port
	Interface string
}

// A Verdict is what a firewall does with new connections to one port.
type Verdict int

// The verdicts. Denied means that a rule of the owner blocks the port; a port that no rule names is
// Closed once the firewall is on.
const (
	Closed Verdict = iota
	Open
	Denied
)

// A Ruling is a verdict and its reason.
type Ruling struct {
	Verdict Verdict
	Rule    string // the rule that denies, as its manager writes it
	Fix     string // a sentence that says how to remove it
}

// Rules are those of the owner, as far as a manager lists them in plain terms.
type Rules struct {
	// For returns what happens to new connections to a port once the firewall is on.
	For func(Port) Ruling
	// Unread are the rules that For ignores, as their manager writes them.
	Unread []string
	// Drops are rules that may drop packets of open connections, as their manager writes them. Whose was not looked at.
	Drops []string
	// IPv6 is Denied where the manager shuts out all of IPv6, whatever its rules say of ports.
	IPv6 Ruling
	// Forwarded reports that this machine forwards packets, and that the manager drops those that no
	// rule lets through.
	Forwarded bool
	// ForwardsAll reports that this machine forwards packets that no rule lets through once the manager is on, and
	// drops them now.
	ForwardsAll bool
}

// A Manager inspects the machine on which a firewall is to be turned on. Its methods change
// nothing.
type Manager interface {
	// Backend returns the backend that can turn the firewall on here, or an error with code
	// FIREWALL_UNAVAILABLE if there is none.
	Backend(ctx context.Context) (Backend, error)
	// OpenPorts lists the open ports. An error means that some could be missing.
	OpenPorts(ctx context.Context) (OpenPorts, error)
	// Loaded returns the firewall of that name, which is on.
	Loaded(name string) (Loaded, error)
}

// A Pending change has been made, and can be kept or undone.
type Pending interface {
	// Keep makes the change outlast a reboot. If it does not, remark gives the reason in words;
	// otherwise it is a sentence about what else was done, or "". It is idempotent.
	Keep(ctx context.Context) (lasting bool, remark string)
	// Undo reverts the change, and nothing else. It is idempotent, and also works if the change was
	// interrupted.
	Undo(ctx context.Context) error
}

// A Resumed change is one that another run has made completely or in part.
type Resumed interface {
	Pending
	// InForce returns what is the case instead if the change is in force no longer, or is not known to be. It
	// changes nothing.
	InForce(ctx context.Context) error
}

// A Backend turns one kind of firewall on.
type Backend interface {
	// Name is [UFW], [Firewalld], [Nftables] or [ApplicationFirewall].
	Name() string
	// Rules reads which ports the manager already allows. It changes nothing.
	Rules(ctx context.Context) (Rules, error)
	// Enable allows ports and then turns the firewall on. If it fails, Undo reverts its changes.
	// Before it changes anything that another run may have to roll back, it calls note with all
	// changes that it is about to make, and stops at an error.
	Enable(ctx context.Context, ports []Port, note func(Change) error) error
	// Admits reads back whether the firewall allows ports, as far as its manager reports it. The
	// error names the first port that is not allowed.
	Admits(ctx context.Context, ports []Port) error
	Pending
}

// A Forgetful backend cannot keep all open connections.
type Forgetful interface {
	// Forgotten returns how many open connections the last Enable has not taken over.
	// Those go on, if at all, only if this host sends first.
	Forgotten() int
}

// A Careful firewall, a [Backend] or one that is [Loaded], knows when turning it on or off could not be taken
// back whole.
type Careful interface {
	// Reversible returns the refusal, or nil. It changes nothing.
	Reversible(ctx context.Context) error
}

// reversible asks a firewall that is [Careful].
func reversible(ctx context.Context, firewall any) error {
	if c, ok := firewall.(Careful); ok {
		return c.Reversible(ctx)
	}
	return nil
}

// A Loaded firewall is one that is on. Allow and Disable call note before they change anything, as
// Enable of a [Backend] does.
type Loaded interface {
	Name() string // as that of a [Backend]
	// Rules reads which ports it lets in now. It changes nothing.
	Rules(ctx context.Context) (Rules, error)
	// Allow lets more ports in.
	Allow(ctx context.Context, ports []Port, note func(Change) error) error
	// Disable turns it off.
	Disable(ctx context.Context, note func(Change) error) error
	Pending
}

// A Kind of change.
type Kind string

// The kinds. The empty one is what records of earlier versions have.
const (
	TurnOn  Kind = ""
	LetIn   Kind = "allow"
	TurnOff Kind = "disable"
)

// A Change records what is done to a firewall: everything that a rollback has to undo.
type Change struct {
	Kind    Kind   `json:"kind,omitempty"`
	Manager string `json:"manager"`
	// Openings are the ports that are added to the rules of the manager; of sentinel's own firewall
	// that is turned off, those that it has let in.
	Openings []Opening `json:"openings,omitempty"`
	// WasEnabled reports that the manager was already set to start at boot.
	WasEnabled bool `json:"was_enabled,omitempty"`
	// ForwardDropped are the families, "ip" and "ip6", of which this machine forwarded nothing that no rule
	// let through.
	ForwardDropped []string `json:"forward_dropped,omitempty"`
	// Rebooted reports that the machine has been rebooted since then. It is not recorded.
	Rebooted bool `json:"-"`
}

// An Opening is a port that is allowed; with firewalld, in one zone.
type Opening struct {
	Zone string `json:"zone,omitempty"`
	Port
}

// A TrialSource provides what a trial of a firewall needs from the platform.
type TrialSource interface {
	// Boot returns an ID of the current boot, and the uptime, including sleep.
	Boot() (id string, uptime time.Duration, err error)
	// Endable fails where [TrialSource.Arrange] would, as far as that is known of a change that has not begun. It changes
	// nothing.
	Endable(ctx context.Context, kind Kind, manager string) error
	// Arrange schedules "sentinel --restore-blocklist" after a delay, independent of this process
	// and its session, and makes sure that it runs at the next boot if c would take effect again
	// then. program is the absolute path of sentinel.
	Arrange(ctx context.Context, program string, after time.Duration, c Change) error
	// Cancel takes back what Arrange has scheduled. Where it cannot, that run finds nothing to do.
	Cancel(ctx context.Context)
	// Resume returns a change that another run has made completely or in part.
	Resume(c Change) (Resumed, error)
}
