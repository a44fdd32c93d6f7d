// SPDX-License-Identifier: Apache-2.0

// Package ops is the table of everything sentinel can do.
//
// Each operation is described once, here. The flags of sentinel, the tools of
// sentinel-mcp, the help texts and the validation of arguments are all derived from
// its entry. The package holds data and the rules for arguments, and imports
// nothing but the standard library, so that both binaries and every generator can
// use it.
package ops

import (
	"embed"
	"encoding/json"
	"time"
)

// Effect says what an operation does to this machine and to others.
type Effect int

// The effects. A client may run a Read without asking a person.
const (
	Read        Effect = iota // changes nothing, sends nothing to another host
	Write                     // changes the system; can be undone
	Destructive               // changes the system and cannot be undone
	SendsOut                  // sends packets to other hosts
)

// Privilege says whether an operation needs root.
type Privilege int

// The privileges.
const (
	AnyUser    Privilege = iota // root sees no more than an ordinary user
	BetterRoot                  // works for everyone; root gets a fuller answer
	NeedsRoot                   // refused without root
)

// The toolsets.
const (
	// DefaultToolset is the one that a client gets unless it requests another.
	DefaultToolset = "default"
	// DiagnosticsToolset is for investigating a problem.
	DiagnosticsToolset = "diagnostics"
)

// Toolsets lists the toolsets that an operation may belong to. A client may request
// any of them, even one without operations.
func Toolsets() []string { return []string{DefaultToolset, DiagnosticsToolset} }

// InstalledToolsets is the value of --toolsets of a server that is entered into a client, unless its
// user says otherwise.
const InstalledToolsets = DefaultToolset + "," + DiagnosticsToolset

// An Operation is one entry of the table.
type Operation struct {
	Name        string // of the tool, and of --request: "get_top_processes"
	Action      string // the "action" in its documents: "top_processes"
	Flag        string // on the command line, without dashes; "" is the default action
	Alias       string // short form of the flag as a word; "" where the flag is short enough
	Title       string // for people, a few words
	Description string // for a model: what it returns, when to use it, what it refuses
	Usage       string // for people, one line of --help
	Toolset     string // "" if it is not a tool
	Effect      Effect
	OptIn       bool // refused to programs until policy.enabled_tools names it
	Asks        bool // asks at a terminal before it changes something, unless --yes is given
	Recorded    bool // journaled when root runs it, although it changes nothing here
	Idempotent  bool // running it twice leaves the same state as once
	Privilege   Privilege
	Grant       Grant         // by which the rules of sudo let it run as root; "" for AnyUser
	Deadline    time.Duration // after which it answers TIMEOUT
	Preferred   bool          // short, and asked of a machine on its knees: it takes few threads, and root's goes before other processes
	Codes       []string      // error codes, of package fault, that not every operation has
	Lists       bool          // has lists that --limit can lengthen
	Fields      []Field
}

// All lists the operations that are tools, in the order of the documentation.
func All() []Operation {
	return []Operation{
		getSystemHealth,
		getTopProcesses,
		getNetworkStats,
		getAssetInfo,
		terminateProcess,
		blockIPAddress,
		unblockIPAddress,
		listBlockedIPs,
		enableFirewall,
		allowService,
		disableFirewall,
		restartService,
		checkUpdates,
		securityAudit,
		scanPorts,
		sendTelemetryWebhook,
		dnsLookup,
		traceroute,
		getContainers,
		getServiceStatus,
		getLogins,
		getStartupItems,
		getLogs,
		getDiskUsage,
		getProcessDetails,
		getHealthHistory,
		getFleetHealth,
		getActionHistory,
	}
}

// ByName returns the operation whose tool name is name.
func ByName(name string) (Operation, bool) {
	for _, op := range All() {
		if op.Name == name {
			return op, true
		}
	}
	return Operation{}, false
}

//go:embed schemas/*.json
var schemas embed.FS

// OutputSchema returns the JSON Schema of the operation's documents. `make
// generate` derives it from the result types; a test makes sure that each operation
// has one.
func (o Operation) OutputSchema() json.RawMessage {
	raw, err := schemas.ReadFile("schemas/" + o.Name + ".json")
	if err != nil {
		return nil
	}
	return raw
}
