// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"sentinel/internal/humanize"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
)

// idlePercent of a core is what a process uses at least to be behind a busy
// processor.
const idlePercent = 10

// cpuUsers names the processes that keep the processor busy, and what those that have ended used.
func cpuUsers(r processes.Ranking) string {
	var names []string
	for _, p := range r.Processes {
		if p.CPUPercent >= idlePercent {
			names = append(names, fmt.Sprintf("%s %.0f %%", processText(p), p.CPUPercent))
		}
	}
	if r.UnattributedPercent != nil {
		names = append(names, fmt.Sprintf("%s %.0f %%", r.Unattributed, *r.UnattributedPercent))
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + " of a core"
}

// memoryUsers names the processes that hold the most memory, of a machine as t has it, and what may be of none.
func memoryUsers(list []processes.Process, t processes.Table) string {
	var names []string
	for _, p := range list {
		if !p.Seen() {
			continue // of which there is no figure
		}
		names = append(names, fmt.Sprintf("%s %s", processText(p), humanize.Bytes(uint64(p.MemoryMB*(1<<20)))))
	}
	text := strings.Join(names, ", ")
	if unseen := t.Unseen(); unseen != "" {
		text = joined("; ", text, "not known is that of "+unseen)
	}
	shared := ""
	if t.SharesMuch() {
		shared = humanize.Bytes(t.SharedBytes) + " shared or in a tmpfs"
	}
	text = inPart(shared, text)
	if t.KernelHolds() {
		text = joined("; ", text, humanize.Bytes(t.KernelBytes)+" held by the kernel and its drivers")
	}
	return joined("; ", text, unsized(t))
}

// inPart says what may be of those that are named before them.
func inPart(others, named string) string {
	if others == "" || named == "" {
		return others + named
	}
	return others + ", in part perhaps of: " + named
}

// unsized says of how many processes not all is known.
func unsized(t processes.Table) string {
	if t.Unsized == 0 {
		return ""
	}
	return "not looked at in time are the page tables and the swap space of " + humanize.Count(t.Unsized, "process", "processes")
}

// swapUsers names the processes that most is swapped out of, at most so many, and what is of none; where nothing is known
// of that, "".
func swapUsers(t processes.Table, most int) string {
	list, rest := t.Swapped()
	var names []string
	for _, s := range list[:min(most, len(list))] {
		names = append(names, fmt.Sprintf("%s (PID %d) %s", processName(s.Name), s.PID, humanize.Bytes(s.SwapBytes)))
	}
	others := ""
	if rest > t.SwapUsed/4 {
		others = humanize.Bytes(rest) + " shared, in a tmpfs or of processes that are not known"
	}
	return joined("; ", inPart(others, strings.Join(names, ", ")), unsized(t))
}

// diskWaiters names the processes that wait for disks.
func diskWaiters(t processes.Table) string {
	names, total := processes.Waiting(t, topRowsInHealth)
	if total == 0 {
		return ""
	}
	return "waiting for a disk: " + withMore(names, total, ", ")
}

// processName is the name of a process in a sentence: whoever started it has chosen it.
func processName(name string) string {
	const most = 64
	return sanitize.Quoted(name, most)
}

// oneWord are names that a list in a sentence can have without quotes.
var oneWord = lazyregexp.New(`^[\w./@:+-]+$`)

// wordOf is the name of a process where a quote around each would be in the way: it has one where it could be taken for more
// than a name.
func wordOf(name string) string {
	if oneWord.Get().MatchString(name) {
		return name
	}
	return processName(name)
}

func processText(p processes.Process) string {
	return fmt.Sprintf("%s (PID %d, %s)", processName(p.Name), p.PID, cmp.Or(p.User, "user unknown"))
}
