// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"

	"sentinel/platform/linux/procfs"
)

// daemon returns the first process that runs one of the programs as a daemon of the system ([procfs.FS.Daemon]). What a
// process is called proves nothing: a service that was taken over, or a container, can call one of its own so.
func (t processTable) daemon(m *machine, names ...string) (runningProcess, bool) {
	for _, p := range t.list {
		if !p.runs(names) && !slices.Contains(names, p.name) {
			continue
		}
		if is, err := m.proc().Daemon(p.pid, p.name, names, m.Owner); is && err == nil {
			return p, true
		}
	}
	return runningProcess{}, false
}

// runs says whether the program has one of the names.
func (p runningProcess) runs(names []string) bool {
	return procfs.Program{Path: strings.TrimSuffix(p.program, " (deleted)")}.Named(names)
}
