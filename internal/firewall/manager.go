// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The managers that can be switched on.
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

// A Port is one that packets come in to.
type Port struct {
	Number   uint16 `json:"port"`     // 1 to 65535
	Protocol string `json:"protocol"` // "tcp" or "udp"
}

// String shows a port as ufw(8) and firewall-cmd(1) take it: "22/tcp".
func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Number, p.Protocol) }

// Compare orders ports by protocol and number.
func (p Port) Compare(o Port) int {
	return cmp.Or(cmp.Compare(p.Protocol, o.Protocol), cmp.Compare(p.Number, o.Number))
}

// ParsePort parses the form of [Port.String].
func ParsePort(text string) (Port, error) {
	digits, protocol, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' || protocol != "tcp" && protocol != "udp" {
		return Port{}, fmt.Errorf("%q is no port such as 22/tcp", text)
	}
	return Port{Number: uint16(n), Protocol: protocol}, nil
}

// A Listener is a socket that other hosts can reach as long as no firewall
// stands before it.
type Listener struct {
	Port
	Process string `json:"process,omitempty"` // absent when the kernel itself listens
}

// OpenPorts are the ways into this machine.
type OpenPorts struct {
	// Remote are the ports that remote sessions come in by, or would: those of
	// SSH servers, and that of a tunnel which carries a live session.
	Remote []Port
	// Listeners are all exposed sockets, those of Remote included.
	Listeners []Listener
}

// A Verdict is what a firewall does with new connections to one port.
type Verdict int

// The verdicts. Denied means that a rule of the owner keeps people from the port;
// what no rule names is Closed once the firewall is on.
const (
	Closed Verdict = iota
	Open
	Denied
)

// A Ruling is a verdict and where it comes from.
type Ruling struct {
	Verdict Verdict
	Rule    string // the one that denies, as its manager writes it
	Fix     string // a sentence that says how to remove it
}

// Rules are those of the owner, as far as a manager lists them in plain terms.
type Rules struct {
	// For says what becomes of new connections to a port once the firewall is on.
	For func(Port) Ruling
	// Unread are the rules that For does not take into account, as their manager
	// writes them.
	Unread []string
}

// A Manager looks at the machine on which a firewall is to be switched on. Its
// methods change nothing.
type Manager interface {
	// Backend returns what switches the firewall on here, or an error with code
	// FIREWALL_UNAVAILABLE when nothing can.
	Backend(ctx context.Context) (Backend, error)
	// OpenPorts lists the ways in. An error means that some could be missing.
	OpenPorts(ctx context.Context) (OpenPorts, error)
}

// A Backend switches one kind of firewall on.
type Backend interface {
	// Name is [UFW], [Firewalld], [Nftables] or [ApplicationFirewall].
	Name() string
	// Rules reads what the manager lets in by itself. It changes nothing.
	Rules(ctx context.Context) (Rules, error)
	// Enable lets ports in and then switches the firewall on. When it fails, Undo
	// reverts what it has done. Before it changes anything that another run may have to
	// take back, it calls note with all that it will have changed, and stops at an error.
	Enable(ctx context.Context, ports []Port, note func(Change) error) error
	// Admits reads back whether the firewall lets in ports, as far as its manager
	// tells. The error names the first that it does not.
	Admits(ctx context.Context, ports []Port) error
	// Keep makes the firewall come back after a reboot. why says in words what
	// stands in the way when it does not. It is idempotent.
	Keep(ctx context.Context) (lasting bool, why string)
	// Undo takes back what Enable did, and nothing else. It is idempotent, and
	// works as well where Enable was cut off.
	Undo(ctx context.Context) error
}

// A Change is what a Backend does to switch a firewall on: all that has to be
// undone to take it back.
type Change struct {
	Manager string `json:"manager"`
	// Openings are the ports that are added to the rules of the manager.
	Openings []Opening `json:"openings,omitempty"`
	// WasEnabled says that the manager was set to start at boot before.
	WasEnabled bool `json:"was_enabled,omitempty"`
	// Rebooted says that the machine was started again since. It is not recorded.
	Rebooted bool `json:"-"`
}

// An Opening is a port that is let in, with firewalld in one zone.
type Opening struct {
	Zone string `json:"zone,omitempty"`
	Port
}

// A TrialSource is what it takes to switch a firewall on for a trial.
type TrialSource interface {
	// Boot names the time since the machine was started, and says how long that
	// is, sleep included.
	Boot() (id string, uptime time.Duration, err error)
	// Arrange has "sentinel --restore-blocklist" run after a time, whatever
	// becomes of this process and its session until then, and makes sure that it runs at the
	// next boot if c would come back there. program is the absolute path of sentinel.
	Arrange(ctx context.Context, program string, after time.Duration, c Change) error
	// Resume returns a Backend whose Keep and Undo go on from a change that
	// another run has made, or has been cut off in.
	Resume(c Change) (Backend, error)
}
