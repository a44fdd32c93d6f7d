// SPDX-License-Identifier: Apache-2.0

// Package doctor checks everything that has to be right on a machine for
// sentinel to do its work, and says what is wrong and how to fix it.
//
// Each check looks at one thing, changes nothing and is bounded: one that does
// not come back is itself a finding. A check that cannot tell says so and is never ok.
package doctor

import (
	"context"
	"sync"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/sanitize"
)

// The statuses of a finding.
const (
	OK      = "ok"
	Warning = "warning" // something works less well, or not for everyone
	Problem = "problem" // something will fail, or is not safe
	Unknown = "unknown" // cannot be told, often without root
)

// A Finding is what one check saw.
type Finding struct {
	ID     string   `json:"id"` // stable: "binary", "sudo_rules"
	Name   string   `json:"name"`
	Status string   `json:"status"`          // [OK], [Warning], [Problem] or [Unknown]
	Value  string   `json:"value"`           // what was seen
	Tools  []string `json:"tools,omitempty"` // the tools it concerns
	Fix    string   `json:"fix,omitempty"`   // what to do, a command where there is one
}

// A Report is all that was found, in the order in which it is to be read.
type Report struct {
	Checks   []Finding `json:"checks"`
	Problems int       `json:"problems"`
	Warnings int       `json:"warnings"`
}

// asAdministrator is the fix for what only root can tell. The rules of sudo for sentinel do not
// include it.
const asAdministrator = "An administrator of this machine sees it with: sudo sentinel --doctor"

// limit bounds a check without a limit of its own.
const limit = 5 * time.Second

// A check looks at one thing. Findings without an id and a name get those of the
// check.
type check struct {
	id, name string
	goos     string // where it applies; "" is everywhere
	limit    time.Duration
	look     func(context.Context, Target) []Finding
}

// checks lists them in the order of the report.
func checks() []check {
	return []check{
		{id: "system", name: "operating system", look: system},
		{id: "binary", name: "sentinel", look: binary},
		{id: "server", name: "sentinel-mcp", look: server},
		{id: "sudo", name: "sudo", look: sudoProgram},
		{id: "sudoers_file", name: "sudoers file", look: sudoersFile},
		{id: "sudo_rules", name: "rules of sudo", limit: 2 * limit, look: sudoRules},
		{id: "configuration", name: "configuration", look: configuration},
		{id: "asking", name: "asking the user", look: asking},
		{id: "configuration_folder", name: "configuration folder", look: configurationDir},
		{id: "state_folder", name: "state folder", look: stateDir},
		{id: "journal_folder", name: "journal folder", look: journalDir},
		{id: "journal", name: "journal", limit: 3 * limit, look: journal},
		{id: "blocklist", name: "blocklist", look: blocklist},
		{id: "packet_filter", name: "packet filter", look: packetFilter},
		{id: "firewall", name: "firewall", look: firewall},
		{id: "service_manager", name: "service manager", look: serviceManager},
		{id: "restore", name: "restoring of blocks", limit: 2 * limit, look: restore},
		{id: "background_items", name: "background items", goos: "darwin", limit: 2 * limit, look: backgroundItems},
		{id: "reporting", name: "reporting", limit: 2 * limit, look: reporting},
		{id: "recorder", name: "recorder", look: recording},
		{id: "hosts", name: "other machines", limit: 3 * limit, look: otherMachines},
		{id: "full_disk_access", name: "full disk access", goos: "darwin", look: fullDiskAccess},
		{id: "local_network", name: "local network", goos: "darwin", limit: 2 * limit, look: localNetwork},
		{id: "quarantine", name: "quarantine", goos: "darwin", look: quarantine},
		{id: "programs", name: "programs of macOS", goos: "darwin", look: macPrograms},
		{id: "clients", name: "clients", look: clientPrograms},
	}
}

// Examine runs all checks at the same time. It takes as long as the slowest, at
// most fifteen seconds.
func Examine(ctx context.Context, t Target) Report {
	list := checks()
	found := make([][]Finding, len(list))
	var all sync.WaitGroup
	for i, c := range list {
		all.Go(func() { found[i] = c.run(ctx, t) })
	}
	all.Wait()
	r := Report{Checks: []Finding{}}
	for _, findings := range found {
		for _, f := range findings {
			r.add(f)
		}
	}
	return r
}

// The longest texts of a finding, in characters. A fix that was cut is useless.
const (
	maxValue = 300
	maxFix   = 400
)

func (r *Report) add(f Finding) {
	f.Value, f.Fix = sanitize.Text(f.Value, maxValue), sanitize.Text(f.Fix, maxFix)
	switch f.Status {
	case Problem:
		r.Problems++
	case Warning:
		r.Warnings++
	}
	r.Checks = append(r.Checks, f)
}

func (c check) run(ctx context.Context, t Target) []Finding {
	if c.goos != "" && c.goos != t.OS {
		return nil
	}
	if c.limit == 0 {
		c.limit = limit
	}
	findings, err := deadline.Call(ctx, c.limit, func(ctx context.Context) ([]Finding, error) { return c.look(ctx, t), nil })
	if err != nil {
		findings = one(Unknown, "It did not answer within "+c.limit.String()+".", "Look for a hung disk or directory service, then try again.")
	}
	for i := range findings {
		if findings[i].ID == "" {
			findings[i].ID, findings[i].Name = c.id, c.name
		}
	}
	return findings
}

func one(status, value, fix string) []Finding {
	return []Finding{{Status: status, Value: value, Fix: fix}}
}
