// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"os"
	"testing"

	"sentinel/internal/fault"
)

// process is another process on paper.
func process(parent, uid int, executable string, file ProgramFile) *victim {
	return &victim{
		facts:      []Facts{{Executable: executable, UserID: uid, Lent: file.Lent, Parent: Relative{PID: parent}}},
		systemFile: file.System, lent: file.Lent,
	}
}

// What lends a run of root's its rights ends it, or what it answers to.
func TestWhatCarriesARunOfRootIsKept(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	system, lent := ProgramFile{System: true}, ProgramFile{System: true, Lent: true}
	const sudo, shell = "/usr/bin/sudo", "/usr/bin/bash"
	for what, c := range map[string]struct {
		file  ProgramFile // of what is to end, process 4242
		below map[int]Pinned
		kept  bool
	}{
		"sudo":                       {lent, map[int]Pinned{5000: process(4242, 0, own, system)}, true},
		"sudo with a terminal":       {lent, map[int]Pinned{5000: process(4242, 1000, sudo, lent), 5001: process(5000, 0, own, system)}, true},
		"sudo of something else":     {lent, map[int]Pinned{5000: process(4242, 0, shell, system)}, false},
		"sudo of a shell with a run": {lent, map[int]Pinned{5000: process(4242, 0, shell, system), 5001: process(5000, 0, own, system)}, false},
		"sudo of a user's run":       {lent, map[int]Pinned{5000: process(4242, 1000, own, system)}, false},
		"a shell":                    {system, map[int]Pinned{5000: process(4242, 0, own, system)}, false},
		"what a user lets lend":      {ProgramFile{Lent: true}, map[int]Pinned{5000: process(4242, 0, own, system)}, false},
	} {
		v := facts(func(f *Facts) { f.Executable, f.Lent = sudo, c.file.Lent })
		v.systemFile, v.lent, v.parents = c.file.System, c.file.Lent, c.below
		for pid := 5000; c.below[pid] != nil; pid++ {
			v.below = append(v.below, Relative{PID: pid})
		}
		if c.kept {
			fails(t, v, Target{}, fault.ProtectedProcess, "it carries another run of sentinel as root", "ends by itself within two minutes")
		} else if _, _, err := do(t, v, Target{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a run has started does its change: ufw, systemctl.
func TestWhatARunOfRootHasStartedIsKept(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	start := func(parent *victim) *victim {
		v := facts(func(f *Facts) { f.UserID, f.Executable, f.Parent = 0, "/usr/sbin/ufw", Relative{PID: 5000} })
		v.parents = map[int]Pinned{5000: parent}
		return v
	}
	fails(t, start(process(1, 0, own, ProgramFile{System: true})), Target{}, fault.ProtectedProcess, "it was started by another run of sentinel as root", "ends by itself")
	script := start(process(6000, 0, "/usr/sbin/ufw", ProgramFile{System: true}))
	script.parents[6000] = process(1, 0, own, ProgramFile{System: true})
	fails(t, script, Target{}, fault.ProtectedProcess, "it was started by another run of sentinel as root", "or add --force on the command line")
	other := start(process(6000, 1000, "/usr/bin/bash", ProgramFile{System: true}))
	other.parents[6000] = process(1, 0, own, ProgramFile{System: true})
	if _, _, err := do(t, other, Target{}); err != nil {
		t.Errorf("what another user started in between: %v", err)
	}
	for _, parent := range []*victim{process(1, 1000, own, ProgramFile{System: true}), process(1, 0, "/usr/bin/bash", ProgramFile{System: true})} {
		if _, _, err := do(t, start(parent), Target{}); err != nil {
			t.Errorf("%+v: %v", parent.facts, err)
		}
	}
}
