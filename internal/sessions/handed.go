// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"fmt"
	"slices"
)

// maxHolders bounds how many processes that hold one terminal are compared: anybody may hand theirs to any number.
const maxHolders = 16

// errHandedOn is why it is not known what serves a terminal.
var errHandedOn = errors.New("several processes that are not related, or too many, hold it")

// serverOf finds what serves the terminal of a process and is not above it; 0 for none. run0(1) and systemd-run(1)
// with --pty serve one at which process 1 starts the shell.
func (f *finder) serverOf(terminal string, first int) int {
	list := f.holders(terminal, first)
	if len(list) > maxHolders {
		return 0
	}
	return f.topmost(list)
}

// holders are the processes that may serve the terminal of a process. A service that serves a terminal to another
// account need not have let it in: both may belong to an intruder, as may what lends the rights of another.
func (f *finder) holders(terminal string, first int) []int {
	if f.describe(first).Elsewhere { // its terminals have numbers of their own
		return nil
	}
	f.askMasters()
	if len(f.masters[terminal]) > maxHolders {
		return f.masters[terminal]
	}
	return slices.DeleteFunc(slices.Clone(f.masters[terminal]), func(pid int) bool {
		_, seen := f.processes[pid] // another has been started since
		d := f.describe(pid)
		stranger := d.System && !f.ofRoot(pid) && d.UID != f.describe(first).UID
		return !seen || d.Ended || d.Lent || d.Elsewhere || stranger
	})
}

// topmost is the one of some processes that all others descend from; 0 for none. Those that do not were given the
// terminal, and which of them serves it cannot be told.
func (f *finder) topmost(list []int) (top int) {
	for _, pid := range list {
		if top == 0 || slices.Contains(f.ancestry(top), pid) {
			top = pid
		}
	}
	apart := func(pid int) bool { return !slices.Contains(f.ancestry(pid), top) }
	if slices.ContainsFunc(list, apart) {
		return 0
	}
	return top
}

// holdsMaster tells processes that have the other side of a terminal open.
func (f *finder) holdsMaster(terminal string) func(pid int) bool {
	return func(pid int) bool { return slices.Contains(f.open(pid).Masters, terminal) }
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
	why := f.mastersErr
	if why == nil && len(f.holders(top.Terminal, top.PID)) > 0 {
		why = errHandedOn
	}
	if why == nil {
		return
	}
	g := Gap{Why: fmt.Sprintf("what serves the terminal of %s is not seen (%v)", f.name(top.PID), why), Whose: Own, Trusted: true}
	g.Skipped, _ = errors.AsType[*SkippedError](why)
	f.model.Gaps = append(f.model.Gaps, g)
}
