// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"testing"
)

type observed Observation

func (o observed) Inspect(context.Context, int) (Observation, error) { return Observation(o), nil }

// Where a process has its root directory is told to who could list that, and to nobody else.
func TestTheRootOfAProcessIsToldToWhoCouldListIt(t *testing.T) {
	const root = "/var/lib/private/jail"
	for name, c := range map[string]struct {
		sees         func(owner int, path string) bool
		path, reason string
	}{
		"root":   {nil, root + "/bin/x", `the process has a root directory of its own, "/var/lib/private/jail"`},
		"may":    {func(owner int, path string) bool { return owner == 7 && path == root }, root + "/bin/x", `the process has a root directory of its own, "/var/lib/private/jail"`},
		"cannot": {func(int, string) bool { return false }, "/bin/x", "the process has a root directory of its own, which whoever asks could not list: the path of the program is within that"},
	} {
		o := observed{Root: root, FilesOf: 7, Inspection: Inspection{Program: &Program{Path: root + "/bin/x"}}}
		i, err := Inspect(t.Context(), o, 1, c.sees)
		if err != nil || i.Program.Path != c.path || len(i.Unavailable) != 1 || i.Unavailable[0].Field != "program.package" || i.Unavailable[0].Reason != c.reason {
			t.Errorf("%s: %q, %v, %v", name, i.Program.Path, i.Unavailable, err)
		}
	}
}
