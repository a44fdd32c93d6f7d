// SPDX-License-Identifier: Apache-2.0

// Package recorder is the flight recorder. Once a minute it samples how the machine is doing, keeps
// a week of samples in a ring of files (ring.go), and tells what changed between two moments
// (history.go).
//
// Rates and shares are averages since the sample before. What that sample counted is kept beside the
// ring (last.go), for the next sample and for whoever asks in between.
package recorder

import (
	"slices"
	"time"
)

// Interval is how often a sample is taken.
const Interval = time.Minute

// A Sample is one look at the machine, as it is kept. Its names are short: there are ten thousand a
// week.
type Sample struct {
	Time    int64              `json:"t"`           // seconds since 1970 by the clock of then
	Boot    string             `json:"b"`           // identity of the boot
	Up      float64            `json:"u"`           // seconds since boot, whatever the clock is set to
	Right   bool               `json:"y,omitempty"` // the kernel took its clock for synchronized
	Span    float64            `json:"s,omitempty"` // seconds that rates and shares are averages of; 0 where there are none
	Figures map[string]float64 `json:"f,omitempty"` // by the keys of [Figures]; absent is unknown
	Fullest string             `json:"d,omitempty"` // mount point of the fullest file system
	Busiest []Process          `json:"c,omitempty"` // by processor time
	Largest []Process          `json:"m,omitempty"` // by resident memory
	Events  []Event            `json:"e,omitempty"` // since the sample before
	More    int                `json:"o,omitempty"` // events that were too many to be told, here or later
}

// A Process is one that stands out in a sample.
type Process struct {
	PID   int     `json:"p"`
	Name  string  `json:"n"`
	User  string  `json:"u,omitempty"`
	Value float64 `json:"v"` // percent of a core, or MiB
}

// An Event is something that happened between two samples.
type Event struct {
	Kind string  `json:"k"`
	Text string  `json:"x,omitempty"` // what it happened to, or a sentence
	Ago  float64 `json:"a,omitempty"` // seconds before the sample; 0 is any time since the sample before
	// Times is how often it happened, the last time so long ago; 0 is once.
	Times int `json:"n,omitempty"`
}

func (e Event) times() int { return max(1, e.Times) }

// Kinds of events.
const (
	Booted     = "boot"
	ClockSet   = "clock"       // Text is by how many seconds
	OOMKill    = "oom_kill"    // Text is the process, its unit and its user; one event for all of a text
	UnitFailed = "unit_failed" // Text is the unit
	UnitWell   = "unit_well"
	Reason     = "reason" // Text is its message
	ReasonGone = "reason_gone"
	Installed  = "packages" // were installed, updated or removed
)

// Bounds of a record. With them a week of the largest records fits the ring.
const (
	shownProcesses = 3
	maxName        = 40  // runes of the name of a process
	maxUser        = 32  // runes
	maxText        = 160 // runes of an event
	maxEvents      = 12
)

// bounded returns s without what would make it larger than a record may be, first of all processes.
func (s Sample) bounded() (Sample, error) {
	s.Busiest, s.Largest = s.Busiest[:min(len(s.Busiest), shownProcesses)], s.Largest[:min(len(s.Largest), shownProcesses)]
	if over := len(s.Events) - maxEvents; over > 0 {
		s.Events, s.More = s.Events[:maxEvents], s.More+over
	}
	for {
		line, err := frame(s)
		switch {
		case err != nil || len(line) <= maxRecord:
			return s, err
		case len(s.Largest) > 1:
			s.Largest = s.Largest[:len(s.Largest)-1]
		case len(s.Busiest) > 1:
			s.Busiest = s.Busiest[:len(s.Busiest)-1]
		case len(s.Events) > 0:
			s.Events, s.More = s.Events[:len(s.Events)-1], s.More+1
		default:
			return Sample{Time: s.Time, Boot: s.Boot, Up: s.Up, Right: s.Right, Span: s.Span, Figures: s.Figures}, nil
		}
	}
}

// inTurns orders a list by kind: so many of each, in their order, then so many more of each.
func inTurns[T any](list []T, each int, kind func(T) string) []T {
	seen := map[string]int{}
	var turns [][]T
	for _, one := range list {
		turn := seen[kind(one)] / each
		seen[kind(one)]++
		if turn == len(turns) {
			turns = append(turns, nil)
		}
		turns[turn] = append(turns[turn], one)
	}
	return slices.Concat(turns...)
}
