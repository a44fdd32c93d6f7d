// SPDX-License-Identifier: Apache-2.0

// Package ops is the table of everything sentinel can do.
//
// An operation is described once, here. The flags of sentinel, the tools of
// sentinel-mcp, the help texts and the checks of arguments all follow from its
// entry. The package holds data and the rules for arguments, and imports nothing but
// the standard library, so that both binaries and every generator can use it.
package ops

import (
	"embed"
	"encoding/json"
	"time"
)

// Effect says what an operation does to the world.
type Effect int

// The effects. A client may run a Read without asking a person.
const (
	Read        Effect = iota // changes nothing, sends nothing to another host
	Write                     // changes the system; can be undone
	Destructive               // changes the system; what it ends stays ended
	SendsOut                  // sends packets to other hosts
)

// Privilege says whether an operation needs root.
type Privilege int

// The privileges.
const (
	AnyUser    Privilege = iota // root sees no more than a user
	BetterRoot                  // works for everyone; root gets a fuller answer
	NeedsRoot                   // refused without root
)

// The toolsets.
const (
	// DefaultToolset is the one that a client gets unless it asks for another.
	DefaultToolset = "default"
	// DiagnosticsToolset is for looking into a problem.
	DiagnosticsToolset = "diagnostics"
)

// Toolsets lists the names that an operation may have as its toolset. A client
// may ask for each of them, also while no operation is in it.
func Toolsets() []string { return []string{DefaultToolset, DiagnosticsToolset} }

// An Operation is one entry of the table.
type Operation struct {
	Name        string // of the tool, and of --request: "get_top_processes"
	Action      string // "action" in its documents: "top_processes"
	Flag        string // on the command line, without dashes; "" is the default action
	Title       string // for people, a few words
	Description string // for a model: what it gives, when to use it, what it refuses
	Usage       string // for people, one line of --help
	Toolset     string // "" for what is no tool
	Effect      Effect
	Recorded    bool // has a record in the journal when root does it, although it changes nothing here
	Idempotent  bool // running it twice leaves the same state as once
	Privilege   Privilege
	Deadline    time.Duration // after which it answers TIMEOUT
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
		restartService,
		checkUpdates,
		securityAudit,
		scanPorts,
		sendTelemetryWebhook,
		dnsLookup,
		traceroute,
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

// OutputSchema returns the JSON Schema of the operation's documents. It is
// generated from the result types by `make generate`; an operation without one is a
// fault of the build that a test catches.
func (o Operation) OutputSchema() json.RawMessage {
	raw, err := schemas.ReadFile("schemas/" + o.Name + ".json")
	if err != nil {
		return nil
	}
	return raw
}
