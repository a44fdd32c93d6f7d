// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"slices"
)

// serverOf finds what serves the terminal of a process and is not above it; 0 for none. run0(1) and systemd-run(1)
// with --pty serve one at which process 1 starts the shell. A service that serves a terminal to another account need
// not have let it in: both may belong to an intruder, as may what lends the rights of another.
func (f *finder) serverOf(terminal string, first int) int {
	if f.describe(first).Elsewhere { // its terminals have numbers of their own
		return 0
	}
	if f.masters == nil {
		f.masters, f.mastersErr = f.source.Serving(f.ctx)
	}
	at := slices.IndexFunc(f.masters[terminal], func(pid int) bool {
		d := f.describe(pid)
		stranger := d.System && !f.ofRoot(pid) && d.UID != f.describe(first).UID
		return !d.Ended && !d.Lent && !d.Elsewhere && !stranger
	})
	if at < 0 {
		return 0
	}
	return f.masters[terminal][at]
}

// goOn has the way up from this run go on with what serves the terminal at its top.
func (f *finder) goOn() {
	for n := 0; f.snapshot.Masters && len(f.line) > 0 && n < maxLevels; n++ {
		top := f.processes[f.line[len(f.line)-1]]
		if top.Terminal == "" || !top.Pseudo {
			return
		}
		server := f.serverOf(top.Terminal, top.PID)
		if server == 0 {
			f.notServed(top)
			return
		}
		if slices.Contains(f.line, server) {
			return
		}
		f.line = append(f.line, f.ancestors(server, maxOwnLevels)...)
	}
}

// notServed notes that what serves the terminal of this run may not have been looked at.
func (f *finder) notServed(top Process) {
	if f.mastersErr == nil {
		return
	}
	g := Gap{Why: fmt.Sprintf("what serves the terminal of %s is not seen (%v)", f.name(top.PID), f.mastersErr), Whose: Own, Trusted: true}
	g.Skipped, _ = errors.AsType[*SkippedError](f.mastersErr)
	f.model.Gaps = append(f.model.Gaps, g)
}
