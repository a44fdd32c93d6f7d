// SPDX-License-Identifier: Apache-2.0

// Package audit judges how well a machine is secured: it runs a list of checks,
// each with evidence for its verdict, and scores those with a verdict.
//
// A check that could not look, or that does not apply to this machine, gives no
// verdict. It is reported with the reason and left out of the score: nothing passes
// without having been seen.
package audit

import (
	"context"
	"time"

	"sentinel/internal/answer"
)

// A Status is the verdict of a check.
type Status string

// The verdicts, in the words of the specification.
const (
	Pass Status = "PASS"
	Warn Status = "WARN"
	Fail Status = "FAIL"
)

// A Severity says how much a failed check matters.
type Severity string

// The severities. A failed check of severity High fails the whole audit.
const (
	High   Severity = "high"   // lets somebody in, or makes a user root
	Medium Severity = "medium" // takes away a line of defence
	Low    Severity = "low"    // hardening that many machines do without
)

// MaxWeight is the largest weight of a check; the smallest is 1.
const MaxWeight = 10

// An About describes a check. It is the same on every machine.
type About struct {
	// ID has the form family.name: "ssh.root_login". It never changes: exemptions
	// and the verdicts of the last run refer to it.
	ID       string
	Name     string // for people, a few words
	Severity Severity
	Weight   int // in the score, 1 to MaxWeight
	// Unusual says that no system is installed in that state: when the check does not pass, somebody has
	// done something here, and not left something undone.
	Unusual bool
	// Reference names the rule in a published catalogue: "CIS 5.1.20" of the Debian
	// 12 benchmark 1.1.0, "Lynis SSH-7408", "mSCP os_sip_enable" of the macOS
	// Security Compliance Project.
	Reference string
	// Description explains the risk in one sentence. It is shown when the check
	// does not pass.
	Description string
	// Formula says when the check passes, warns and fails, and when it does not
	// apply.
	Formula string
}

// A Check judges one thing about the machine.
type Check struct {
	About
	// Limit bounds Run; 0 means DefaultLimit.
	Limit time.Duration
	// Run looks and judges; it changes nothing. It is called once, concurrently
	// with other checks, and abandoned at its limit.
	Run func(ctx context.Context) Finding
}

// A Source provides the checks of the platform.
type Source interface {
	// Checks returns all checks in a fixed order, each with a unique ID. It reads
	// nothing; data that several checks need is read once, by the first of them.
	Checks() []Check
}

// A Finding is the result of a check: a verdict, or the reason why there is none.
// Its texts may hold any text of the machine; [Run] makes them safe to show.
type Finding struct {
	Status   Status   // "" when there is no verdict
	Value    string   // what was found, a few words
	Evidence []string // where it was seen: "FILE:LINE: text" or "COMMAND: text"
	Owners   []string // of each piece of evidence, as in [Line]; nil where all is the system's
	Fix      string   // what to do, with a command where there is one
	Reason   string   // why there is no verdict
	// Applies says that the machine has what the check is about. A check that
	// applies but has no verdict lowers the coverage.
	Applies bool
}

// Passed is the finding that nothing is wrong.
func Passed(value string) Finding { return Finding{Status: Pass, Value: value} }

// Warned is the finding of a weakness, or of something that is wrong on some
// machines and intended on others.
func Warned(value, fix string, evidence ...string) Finding {
	return Finding{Status: Warn, Value: value, Fix: fix, Evidence: evidence}
}

// Failed is the finding of something that is wrong.
func Failed(value, fix string, evidence ...string) Finding {
	return Finding{Status: Fail, Value: value, Fix: fix, Evidence: evidence}
}

// NotApplicable is the finding on a machine that does not have what the check is
// about.
func NotApplicable(reason string) Finding { return Finding{Reason: reason} }

// Unseen is the finding of a check that could not look; reason says at what, and
// why.
func Unseen(reason string) Finding { return Finding{Reason: reason, Applies: true} }

// Unread is the finding of a check that could not read what, because of err.
func Unread(what string, err error) Finding { return Unseen(what + ": " + answer.Reason(err)) }
