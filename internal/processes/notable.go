// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"fmt"
	"slices"

	"sentinel/internal/sanitize"
)

// Severities of what is notable.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

// notable lists what is unusual, the worst first.
func (o *Observation) notable() []Notable {
	all := []Notable{}
	add := func(code, severity, message string) { all = append(all, Notable{code, severity, message}) }
	switch disguise, how := o.Claim.Judge(); disguise {
	case Pretends:
		add("FALSE_NAME", critical, "It "+how+".")
	case Hides:
		add("HIDDEN_PROGRAM", warning, "It "+how+".")
	}
	o.notableProgram(add)
	o.notableState(add)
	o.notableUse(add)
	order := []string{critical, warning, info}
	slices.SortStableFunc(all, func(a, b Notable) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return all
}

func (o *Observation) notableProgram(add func(code, severity, message string)) {
	p := o.Program
	if p == nil {
		return
	}
	switch {
	case p.State == "replaced":
		add("RESTART_WANTED", info, "It runs a program that was replaced since, as by an update: restart it to run the new one.")
	case p.State == Removed && p.RootOnly:
		add("PROGRAM_REMOVED", info, "The file of its program was removed since it began, as when a package is removed.")
	case p.ChangedSince:
		add("PROGRAM_CHANGED", warning, "The file of its program was written to after it began.")
	}
	if p.AsPackaged != nil && !*p.AsPackaged && p.State == "present" {
		add("NOT_AS_PACKAGED", critical, fmt.Sprintf("The program is not the one that the package %s came with.", p.Package))
	}
	if p.OfPackage != nil && !*p.OfPackage && o.Claim.fromPackages() {
		add("OF_NO_PACKAGE", warning, "The program is where packages put theirs, and is of none.")
	}
	if o.EffectiveUser != "" {
		add("OTHER_RIGHTS", info, fmt.Sprintf("It was started by %s and has the rights of %s.", o.User, o.EffectiveUser))
	}
}

func (o *Observation) notableState(add func(code, severity, message string)) {
	if o.FirstThreadEnded {
		add("FIRST_THREAD_ENDED", warning, "Its first thread has ended and others go on: tools that look at that one alone take it for a zombie.")
	}
	switch {
	case o.Status == "zombie" && !o.FirstThreadEnded:
		add("ZOMBIE", warning, "It has ended, and its parent has not collected it: it holds no memory, and only its entry is left.")
	case o.Status == "uninterruptible":
		add("UNINTERRUPTIBLE", warning, "It waits for a device or a file system, and no signal reaches it until that answers.")
	case o.Status == "stopped":
		add("STOPPED", info, "It was stopped by a signal or a debugger and does nothing until it is continued.")
	}
	if o.Tracer.PID != 0 {
		add("TRACED", warning, "It is traced by "+o.Tracer.who()+", which reads its memory and can change what it does.")
	}
}

// Shares from which a limit is said to be near.
const (
	nearFiles  = 0.8
	nearMemory = 0.9
)

func (o *Observation) notableUse(add func(code, severity, message string)) {
	if f := o.OpenFiles; f != nil {
		for _, l := range o.Limits {
			if l.Name == "Max open files" && l.Soft != nil && float64(o.MostOpen) >= nearFiles*float64(*l.Soft) {
				add("FILES_NEAR_LIMIT", warning, fmt.Sprintf("It has %d of at most %d files open.", o.MostOpen, *l.Soft))
			}
		}
		for _, file := range f.Files[:min(len(f.Files), 1)] {
			if file.Kind == Removed && size(file) >= 100 {
				add("REMOVED_FILE_OPEN", warning, fmt.Sprintf("It holds %.0f MiB of a file that was removed, %s: the space is free once it closes it.", size(file), sanitize.Quoted(file.Path, 100)))
			}
		}
	}
	if g := o.ControlGroup; g != nil {
		if g.MemoryMB != nil && g.MemoryLimitMB != nil && *g.MemoryMB >= nearMemory**g.MemoryLimitMB {
			add("MEMORY_NEAR_LIMIT", warning, fmt.Sprintf("Its control group uses %.0f of at most %.0f MiB.", *g.MemoryMB, *g.MemoryLimitMB))
		}
	}
}
