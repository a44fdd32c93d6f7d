// SPDX-License-Identifier: Apache-2.0

// Package fleet puts the health of several machines side by side, worst first.
package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// Bounds of a survey.
const (
	// atOnce is how many machines are asked at a time, and patience how long each may take: what does
	// not answer by then holds up at most those that waited for its place.
	atOnce   = 36
	patience = 15 * time.Second

	maxAnswer = 8 << 10 // bytes, to a program that did not ask for more
	maxReason = 120     // runes
	maxBrief  = 50      // runes, where there are many machines
)

// A Machine is one to ask.
type Machine struct {
	Host  string
	Local bool
	// Health returns the document of get_system_health there.
	Health func(context.Context) (json.RawMessage, error)
}

// A Row is what is said of one machine.
type Row struct {
	Host          string     `json:"host"`                                               // what host of the other tools takes; of this machine, its name
	Local         bool       `json:"local,omitempty"`                                    // this machine, for which host is left out
	ThreatLevel   string     `json:"threat_level,omitempty" enum:"LOW,WARNING,CRITICAL"` // absent where it did not answer
	Reason        string     `json:"reason,omitempty"`                                   // the gravest, a sentence of that machine
	Reasons       int        `json:"reasons,omitempty"`                                  // why the level is above LOW, how many
	CPUPercent    *float64   `json:"cpu_percent,omitempty"`                              // of all cores
	MemoryPercent *float64   `json:"memory_percent,omitempty"`                           // used of all memory
	DiskPercent   *float64   `json:"disk_percent,omitempty"`                             // of the fullest file system
	ErrorCode     fault.Code `json:"error_code,omitempty"`                               // why it did not answer
	Error         string     `json:"error,omitempty"`                                    // the same, a sentence
}

// A Report is about all machines.
type Report struct {
	Hosts      []Row `json:"hosts"`      // worst first
	Total      int   `json:"total"`      // machines that were asked
	Critical   int   `json:"critical"`   // with threat level CRITICAL
	Warning    int   `json:"warning"`    // with threat level WARNING
	Unanswered int   `json:"unanswered"` // that did not say how they are
	Truncated  bool  `json:"truncated"`  // hosts does not show all
}

// Survey asks all machines.
func Survey(ctx context.Context, machines []Machine) Report {
	rows := make([]Row, len(machines))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			rows[i] = m.row(ctx)
		})
	}
	all.Wait()
	return report(rows)
}

// row asks one machine.
func (m Machine) row(ctx context.Context) Row {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raw, err := m.Health(ctx)
	var row Row
	if err == nil {
		row, err = read(raw)
	}
	if err != nil {
		e := fault.From(err)
		row = Row{ErrorCode: e.Code, Error: sanitize.Text(e.Message, maxReason)}
	}
	row.Host, row.Local = m.Host, m.Local
	return row
}

// A health is what a row needs of a document of get_system_health.
type health struct {
	Success bool       `json:"success"`
	Error   string     `json:"error"`
	Code    fault.Code `json:"error_code"`
	Level   string     `json:"threat_level"`
	Reasons []reason   `json:"threat_reasons"`
	CPU     struct {
		Percent *float64 `json:"percent"`
	} `json:"cpu"`
	Memory struct {
		UsedPercent *float64 `json:"used_percent"`
	} `json:"memory"`
	Disks []disk `json:"disks"`
}

type reason struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

type disk struct {
	UsedPercent float64 `json:"used_percent"`
	ReadOnly    bool    `json:"read_only"`
}

// read makes a row of a document, or returns the failure in it.
func read(raw json.RawMessage) (Row, error) {
	var h health
	switch err := json.Unmarshal(raw, &h); {
	case err != nil:
		return Row{}, fault.Wrap(fault.BadOutput, "Its health cannot be read", err)
	case !h.Success && !h.Code.Formed():
		return Row{}, fault.New(fault.BadOutput, "It reported a failure, and not which.")
	case !h.Success:
		return Row{}, fault.New(h.Code, h.Error)
	case !slices.Contains(levels, h.Level):
		return Row{}, fault.New(fault.BadOutput, "Its health has the unknown threat level "+sanitize.Text(h.Level, 20)+".")
	}
	return Row{
		ThreatLevel: h.Level, Reasons: len(h.Reasons), Reason: sanitize.Text(h.gravest(), maxReason),
		CPUPercent: share(h.CPU.Percent), MemoryPercent: share(h.Memory.UsedPercent), DiskPercent: share(h.fullest()),
	}, nil
}

// share returns a percentage; one that can be none is unknown.
func share(percent *float64) *float64 {
	if percent == nil || *percent < 0 || *percent > 100 {
		return nil
	}
	return percent
}

// gravest returns the first reason of the highest severity.
func (h health) gravest() string {
	for _, severity := range levels {
		if at := slices.IndexFunc(h.Reasons, func(r reason) bool { return r.Severity == severity }); at >= 0 {
			return h.Reasons[at].Message
		}
	}
	return ""
}

// fullest returns how full the fullest file system is that is written to.
func (h health) fullest() (most *float64) {
	for _, d := range h.Disks {
		if !d.ReadOnly && (most == nil || d.UsedPercent > *most) {
			most = &d.UsedPercent
		}
	}
	return most
}

// The levels, worst first.
const (
	critical = "CRITICAL"
	warning  = "WARNING"
	low      = "LOW"
)

var levels = []string{critical, warning, low}

// report sorts and counts.
func report(rows []Row) Report {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Reasons, a.Reasons), cmp.Compare(a.Host, b.Host))
	})
	r := Report{Hosts: rows, Total: len(rows)}
	for _, row := range rows {
		switch row.ThreatLevel {
		case critical:
			r.Critical++
		case warning:
			r.Warning++
		case "":
			r.Unanswered++
		}
	}
	return r
}

// rank orders rows, worst first: what does not answer may be down.
func (r Row) rank() int {
	switch r.ThreatLevel {
	case critical:
		return 0
	case "":
		return 1
	case warning:
		return 2
	default:
		return 3
	}
}

// Fit makes a report small enough for a model: first its sentences, then the figures of what is well,
// and at last what is well itself.
func (r *Report) Fit() {
	if r.size() <= maxAnswer {
		return
	}
	for i := range r.Hosts {
		r.Hosts[i].Reason, r.Hosts[i].Error = sanitize.Text(r.Hosts[i].Reason, maxBrief), sanitize.Text(r.Hosts[i].Error, maxBrief)
	}
	if r.size() > maxAnswer {
		for i := range r.Hosts {
			r.Hosts[i].CPUPercent, r.Hosts[i].MemoryPercent, r.Hosts[i].DiskPercent = nil, nil, nil
		}
	}
	for len(r.Hosts) > 0 && r.size() > maxAnswer {
		r.Hosts, r.Truncated = r.Hosts[:len(r.Hosts)-1], true
	}
}

// header is what the members of every document take up beside the report, in bytes.
const header = 200

func (r *Report) size() int { return answer.Size(r) + header }
