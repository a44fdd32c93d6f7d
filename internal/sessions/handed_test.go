// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"testing"
)

// The caller of run0(1) serves the terminal at which process 1 starts a shell: with it the terminal ends.
func TestATerminalIsServedByWhoHandedItOn(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(*machine)
		carries bool // run0 (PID 14) carries the caller's own session
		hidden  int
	}{
		"run0": {func(*machine) {}, true, 0},
		"run0 within run0": {func(m *machine) {
			m.process(62, 60, "systemd-run", "root", "pts/9", "pts/10")
			m.process(63, 1, "bash", "root", "pts/10")
			m.process(64, 63, "sentinel", "root", "pts/10")
			m.Self = 64
		}, true, 0},
		"from another's session": {func(m *machine) { m.process(70, 13, "sentinel", "root", "pts/0"); m.Self = 70 }, true, 0},
		"a loop": {func(m *machine) {
			m.files[14] = Files{}
			m.process(62, 60, "script", "root", "pts/9", "pts/9")
		}, false, 0},
		"a shell in a container": {func(m *machine) { d := m.described[60]; d.Elsewhere = true; m.described[60] = d }, false, 0},
		"what lends rights":      {func(m *machine) { m.lend(14) }, false, 0},
		"a service that serves a stranger": {func(m *machine) {
			m.described[14] = Description{UID: 33, User: "www-data", System: true}
		}, false, 0},
		"one of the holders is above the others": {func(m *machine) { m.process(62, 14, "helper", "ann", "pts/0", "pts/9") }, true, 0},
		"others hold it, too":                    {func(m *machine) { m.process(8, 1, "keeper", "mallory", "", "pts/9") }, false, 1},
		"more hold it than are compared": {func(m *machine) {
			for pid := range maxHolders {
				m.process(100+pid, 14, "helper", "ann", "pts/0", "pts/9")
			}
		}, false, 1},
		"not all is read": {func(m *machine) { m.files[14] = Files{}; m.mastersErr = errors.New("too many files") }, false, 1},
	} {
		m := handedOn()
		c.do(m)
		model, err := Find(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		claim, known := model.Processes[14]
		if own := known && claim.EndsOwn(); own != c.carries || len(model.Hidden()) != c.hidden {
			t.Errorf("%s: %v, hidden %+v", name, claim, model.Hidden())
		}
	}
}

// Whoever else holds the other side of a terminal does not become who is connected to it.
func TestATerminalThatSeveralHoldIsOfNone(t *testing.T) {
	m := handedOn()
	m.login(21, "mallory", "pts/1", 3, "192.0.2.1:22", "203.0.113.8:5000")
	m.process(8, 23, "keeper", "mallory", "pts/1", "pts/9")
	if _, got := summary(t, m); got != "203.0.113.7 possibly own, 203.0.113.8 possibly own" {
		t.Error(got)
	}
}

func TestWhatServesTerminalsIsAskedForOnce(t *testing.T) {
	m := &mountless{machine: handedOn()}
	m.process(62, 1, "bash", "root", "pts/8")
	if _, err := Find(t.Context(), m); err != nil || m.asked != 1 {
		t.Errorf("%d times, %v", m.asked, err)
	}
}

// mountless does not tell its mounts of devpts.
type mountless struct {
	*machine
	asked int
}

func (m *mountless) Serving(context.Context) (map[string][]int, error) {
	m.asked++
	return nil, errors.New("no mounts")
}
