// SPDX-License-Identifier: Apache-2.0

// Package processestest checks the rules of a platform about its critical
// processes.
package processestest

import (
	"context"
	"errors"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/sessions"
)

// pid is that of the process that every [Case] is about.
const pid = 4242

// A Case is a process, and whether the rules refuse to end it.
type Case struct {
	What       string
	Facts      processes.Facts
	SystemFile bool // its program is a file of the system
	Critical   bool
}

// Check plans to end the process of each case. Its parent is what parents say of
// that PID, or cannot be read.
func Check(t *testing.T, rules []processes.CriticalRule, parents map[int]processes.Facts, cases []Case) {
	t.Helper()
	for _, c := range cases {
		_, err := processes.PlanTermination(t.Context(), source{rules, parents, c}, processes.Target{PID: pid}, nil)
		refused := err != nil && fault.From(err).Code == fault.ProtectedProcess
		if refused != c.Critical || err != nil && !refused {
			t.Errorf("%s: %v", c.What, err)
		}
	}
}

// CheckNames makes sure that every rule says something, and no name has two.
func CheckNames(t *testing.T, rules []processes.CriticalRule) {
	t.Helper()
	seen := map[string]bool{}
	for _, rule := range rules {
		if rule.Why == "" || (len(rule.Names) == 0) != (rule.Matches != nil) || rule.SystemFile && rule.OnlySystemFile {
			t.Errorf("%+v", rule)
		}
		for _, name := range rule.Names {
			if seen[name] || name == "" {
				t.Errorf("%q is there twice", name)
			}
			seen[name] = true
		}
	}
}

type source struct {
	rules   []processes.CriticalRule
	parents map[int]processes.Facts
	c       Case
}

func (s source) Critical() []processes.CriticalRule { return s.rules }

func (s source) Sessions(context.Context) (*sessions.Model, error) { return &sessions.Model{}, nil }

func (source) Holdings(context.Context, map[int]*processes.Facts, []int, bool) {}

func (s source) Lineage(context.Context) ([]processes.Relative, error) { return nil, nil }

func (s source) Below(context.Context, int) ([]processes.Relative, error) { return nil, nil }

func (s source) RestartPolicy(context.Context, string) (processes.RestartPolicy, error) {
	return processes.RestartPolicy{}, nil
}

func (s source) Pin(which int) (processes.Pinned, error) {
	if which == pid {
		return process{s.c.Facts, s.c.SystemFile}, nil
	}
	if facts, known := s.parents[which]; known {
		return process{facts, false}, nil
	}
	return nil, errors.New("it cannot be read")
}

type process struct {
	facts      processes.Facts
	systemFile bool
}

func (p process) Facts(context.Context) (processes.Facts, error) { return p.facts, nil }
func (p process) ProgramFile() (processes.ProgramFile, error) {
	return processes.ProgramFile{System: p.systemFile}, nil
}
func (p process) Probe() error                     { return nil }
func (p process) Signal(processes.Signal) error    { return errors.ErrUnsupported }
func (p process) Wait(time.Duration) (bool, error) { return false, errors.ErrUnsupported }
func (p process) Collected(time.Duration) bool     { return false }
func (p process) Obstacle() processes.Obstacle     { return processes.Obstacle{} }
func (p process) Close() error                     { return nil }
