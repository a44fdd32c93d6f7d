// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sentinel/internal/sanitize"
)

// newest keeps the newest lines, in whatever order they come.
type newest struct {
	limit int
	added int
	floor time.Time // what is older is not among them
	kept  []keptLine
}

// A keptLine is as it was written.
type keptLine struct {
	time          time.Time
	order         int // in which they came
	priority, pid int
	unit, program string
	text          string
}

// maxKept bounds what is kept of a line, in bytes. What is shown is shorter.
const maxKept = 2048

func (n *newest) add(e Entry) {
	if n.added++; e.Time.Before(n.floor) {
		return
	}
	n.kept = append(n.kept, keptLine{
		time: e.Time, order: n.added, priority: e.Priority, pid: e.PID,
		unit: bounded(e.Unit, maxName), program: bounded(e.Program, maxName), text: cut(e.Text, maxKept),
	})
	if len(n.kept) >= 2*n.limit {
		n.shrink()
	}
}

// cut is bounded for what is redacted later, of which no more than a bit over the limit is copied.
func cut(b []byte, limit int) string { return sanitize.Cut(string(b[:min(len(b), limit+1)]), limit) }

func bounded(b []byte, limit int) string { return string(b[:min(len(b), limit)]) }

// shrink keeps as many as are wanted, the newest first. Logs are read from their end: of lines with
// one time, the one that came first is the newest.
func (n *newest) shrink() {
	slices.SortFunc(n.kept, func(a, b keptLine) int { return cmp.Or(b.time.Compare(a.time), cmp.Compare(a.order, b.order)) })
	if len(n.kept) >= n.limit {
		n.kept = n.kept[:n.limit]
		n.floor = n.kept[n.limit-1].time
	}
}

// lines returns them safe to show, in the order of their time.
func (n *newest) lines() []Line {
	n.shrink()
	lines := []Line{}
	for _, k := range slices.Backward(n.kept) {
		lines = append(lines, Line{
			Time: k.time.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Priority: priorityName(k.priority), Unit: sanitize.Text(k.unit, nameLength),
			Program: programShown(k.program, k.unit), PID: k.pid, Text: sanitize.Line(strings.TrimSpace(k.text), lineLength),
		})
	}
	return lines
}
