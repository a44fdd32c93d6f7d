// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"os"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/identity"
	"sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/internal/recorder"
	"sentinel/internal/sampling"
	"sentinel/internal/sanitize"
)

// topRowsInHealth is how many processes a health document shows.
const topRowsInHealth = 3

// maxHealth is what a default health document is cut to, in bytes, unless fewer than fewestSockets
// connections and listeners each would be left.
const (
	maxHealth     = 4096
	fewestSockets = 5
)

// A healthDocument answers get_system_health. It is where the domains of
// health, network, firewall and processes come together.
type healthDocument struct {
	answer.Header
	health.Report
	*network.Connections                     // nil is unknown
	TopProcesses         []processes.Process `json:"top_processes,omitzero" schema:"brief"` // nil is unknown
	ProcessesTotal       *int                `json:"processes_total,omitempty"`             // processes of this machine

	thresholds health.Thresholds // that it was judged by
	isService  func(string) bool // tells services from other units; nil takes all for services
	kept       kept
}

// runSystemHealth reads everything that takes work first and measures CPU use
// afterwards, so that the measurement sees the machine and not sentinel. Where the recorder has just
// looked, use is measured since then, and nothing has to wait.
func runSystemHealth(ctx context.Context, s session, call invocation) (document, error) {
	gaps := answer.Gaps{}
	sockets := make(chan socketAnswer, 1)
	go func() { sockets <- collectSockets(ctx, s.host.Network, call.capped(network.DefaultRows)) }()
	firewalls := make(chan firewall.Facts, 1)
	go func() { firewalls <- firewallFacts(ctx, s.host.Firewall) }()

	began := time.Now()
	last, age := s.lastSample(ctx)
	facts := health.Collect(ctx, s.withRecorded(last), &gaps)
	report := health.Build(facts, health.Options{Rows: call.rows, Now: s.host.Now()}, &gaps)
	d := &healthDocument{Report: report, isService: s.isService}
	found, rules := <-sockets, <-firewalls
	d.Connections = found.connections
	gaps = append(gaps, found.gaps...)
	if d.Connections != nil {
		d.JudgeReach(rules.Reach(), &gaps)
	}
	status := firewall.Assess(rules)
	d.FirewallStatus, d.FirewallEvidence = status.State, sanitize.Text(status.Evidence, 120)

	before, err := s.baseline(ctx, last, age+time.Since(began))
	if err != nil {
		return nil, err
	}
	if err := d.measure(ctx, s, before, &gaps); err != nil {
		return nil, err
	}
	d.identify(s, &gaps)
	if call.form == metricsForm {
		d.kept = s.readKept(ctx, &gaps)
	}
	d.thresholds = health.Thresholds(s.config.Thresholds)
	d.Judge(d.thresholds)
	d.Header = answer.NewHeader(call.op.Action, true)
	d.Unavailable = gaps
	if call.brief() {
		d.nameOnce()
	}
	if call.rows == defaultRows {
		d.fit()
	}
	return d, nil
}

// nameOnce leaves what is behind several reasons to the first of them.
func (d *healthDocument) nameOnce() {
	named := map[string]bool{}
	for i, r := range d.ThreatReasons {
		if named[r.Culprit] {
			d.ThreatReasons[i].Culprit = ""
		}
		named[r.Culprit] = true
	}
}

// partLimit is how long connections, the firewall or the table of processes may take before the answer
// goes without them.
const partLimit = 3 * time.Second

// firewallFacts reads the firewall; one that does not answer is unknown.
func firewallFacts(ctx context.Context, source firewall.Source) firewall.Facts {
	facts, err := deadline.Call(ctx, partLimit, func(ctx context.Context) (firewall.Facts, error) {
		return source.Firewall(ctx), nil
	})
	if err != nil {
		facts = firewall.Facts{Unreadable: err}
	}
	return facts
}

type socketAnswer struct {
	connections *network.Connections // nil when they could not be read
	gaps        answer.Gaps
}

func collectSockets(ctx context.Context, source network.Source, rows int) socketAnswer {
	a, err := deadline.Call(ctx, partLimit, func(ctx context.Context) (socketAnswer, error) {
		var a socketAnswer
		found, err := network.Collect(ctx, source, rows, &a.gaps)
		a.connections = &found
		return a, err
	})
	if err != nil {
		a.connections = nil
		a.gaps.Add("flows", err)
	}
	return a
}

// A baseline is the first of the two samples that use is measured between.
type baseline struct {
	table    processes.Table
	tableErr error
	cpu      health.CPUSample
	cpuErr   error
	began    time.Time
	recorded bool // it is of another run
}

// baseline takes it, and waits for a window to pass, unless the recorder has one that is young enough.
func (s session) baseline(ctx context.Context, last *recorder.Last, age time.Duration) (baseline, error) {
	if last != nil && age >= leastAge && last.CPU.Spans() {
		table := last.Table(age)
		table.Busy = time.Duration(last.CPU.Tasks) * last.CPU.Tick
		return baseline{table: table, cpu: last.CPU, began: time.Now().Add(-age), recorded: true}, nil
	}
	var b baseline
	b.table, b.tableErr = deadline.Call(ctx, partLimit, s.host.Processes.Table)
	b.cpu, b.cpuErr = s.host.Health.CPU(ctx)
	if b.tableErr != nil && b.cpuErr != nil {
		return b, unavailable(ctx, "The state of this machine", b.cpuErr)
	}
	b.began = time.Now()
	return b, sampling.Wait(ctx)
}

// measure compares cores and processes with the baseline. Nothing at all to
// measure means that there is no /proc, and no answer.
func (d *healthDocument) measure(ctx context.Context, s session, before baseline, gaps *answer.Gaps) error {
	if before.cpuErr == nil {
		d.useCPU(ctx, s, before, gaps)
	} else {
		gaps.Add("cpu.percent", before.cpuErr)
	}
	if before.tableErr != nil {
		gaps.Add("top_processes", before.tableErr)
		return nil
	}
	after, err := deadline.Call(ctx, partLimit, s.host.Processes.Table)
	if err != nil {
		gaps.Add("top_processes", err)
		return ctx.Err()
	}
	ranking := processes.Rank(ctx, s.host.Processes, before.table, after, processes.Options{Count: topRowsInHealth, Sort: "cpu", Brief: true})
	d.TopProcesses, d.ProcessesTotal, d.Processes = ranking.Processes, &ranking.ProcessesTotal, &ranking.ProcessesTotal
	for _, gap := range ranking.Unavailable {
		*gaps = append(*gaps, answer.Gap{Field: "top_" + gap.Field, Reason: gap.Reason})
	}
	d.Behind = func(resource string) string {
		switch resource {
		case "cpu":
			return cpuUsers(ranking)
		case "swap":
			return swapUsers(after, topRowsInHealth)
		case "memory":
			return memoryUsers(processes.Rank(ctx, s.host.Processes, before.table, after, processes.Options{Count: topRowsInHealth, Sort: "memory", Brief: true}).Processes, after)
		default:
			return diskWaiters(after)
		}
	}
	return nil
}

func (d *healthDocument) useCPU(ctx context.Context, s session, before baseline, gaps *answer.Gaps) {
	first, elapsed := before.cpu, time.Since(before.began)
	after, err := s.host.Health.CPU(ctx)
	if err != nil {
		gaps.Add("cpu.percent", err)
		return
	}
	if before.recorded {
		first, after = health.Across(first, after, elapsed)
	}
	d.UseCPU(first, after, elapsed.Milliseconds(), gaps)
}

func (d *healthDocument) identify(s session, gaps *answer.Gaps) {
	d.AgentID = cmp.Or(s.config.AgentID, identity.AgentID(hostname()))
	id, err := identity.UUID(s.stateDir, s.root)
	gaps.Add("agent_uuid", err)
	d.AgentUUID = id
}

func hostname() string {
	name, _ := os.Hostname() //nolint:errcheck // an unnamed host has the empty name
	return name
}

// fit shortens the two long lists until the document keeps its bound, or they are as short as they
// may be.
func (d *healthDocument) fit() {
	for d.Connections != nil && max(len(d.Flows), len(d.Listening)) > fewestSockets {
		raw, err := encode(d, false)
		if err != nil || len(raw) <= maxHealth {
			return
		}
		if len(d.Flows) >= len(d.Listening) {
			d.Flows, d.FlowsTruncated = network.FewerFlows(d.Flows, len(d.Flows)-1), true
		} else {
			d.Listening, d.ListeningTruncated = network.FewerListeners(d.Listening, len(d.Listening)-1), true
		}
	}
}
