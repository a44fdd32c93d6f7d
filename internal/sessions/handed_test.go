// SPDX-License-Identifier: Apache-2.0

package sessions

import (
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
