// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"time"
)

// Bounds of what is kept while entries are read. One pattern takes half a kilobyte.
const (
	maxPatterns = 8000
	maxSample   = 400 // bytes of a line; what is shown is shorter
	maxName     = 64  // bytes of a unit or a program
	// maxAhead is how many patterns of a class one service or program may have before those of others.
	maxAhead = 5
)

// A tally counts the entries of one pattern. Its texts are as they were written.
type tally struct {
	count         int
	first, last   time.Time
	priority      int
	failing       bool // its words say that something went wrong
	user          bool // a user wrote it
	unit, program string
	unitKind      string // whose share of a class it takes; empty where that is the unit
	sample        string // the newest line
	kind          string // that without what a user chose in it, where that is known
	key           uint64
	behind        bool // others of its class come before, since its service or program has maxAhead there
}

// A grouper counts entries by their pattern. It is not safe for concurrent use.
type grouper struct {
	seed    maphash.Seed
	scratch []byte
	tallies map[uint64]*tally
	names   map[string]string // units and programs, each once
	// other counts the entries of patterns that did not fit, and forgotten these patterns.
	other, forgotten int
	limit            int
}

func newGrouper(limit int) *grouper {
	return &grouper{seed: maphash.MakeSeed(), tallies: map[uint64]*tally{}, names: map[string]string{}, limit: limit}
}

// add counts an entry. The key is a hash under a seed of this run, so that nobody can make two
// patterns meet.
func (g *grouper) add(e Entry) {
	user := e.User || OfUser(e.Unit)
	g.scratch = g.scratch[:0]
	if user { // a service that writes the same is another pattern
		g.scratch = append(g.scratch, 'u')
	}
	g.scratch = appendPattern(append(g.scratch, 0), or(e.UnitKind, e.Unit))
	g.scratch = append(append(append(g.scratch, 0), e.Program...), 0)
	g.scratch = appendPattern(g.scratch, or(e.Kind, e.Text))
	key := maphash.Bytes(g.seed, g.scratch)
	t := g.tallies[key]
	if t == nil {
		if len(g.tallies) >= g.limit {
			g.prune()
		}
		t = &tally{first: e.Time, priority: e.Priority, failing: failing(or(e.Kind, e.Text)), user: user, unitKind: g.name(e.UnitKind), key: key}
		g.tallies[key] = t
	}
	t.count++
	if e.Time.Before(t.first) {
		t.first = e.Time
	}
	if t.sample == "" || e.Time.After(t.last) {
		t.last = e.Time
		t.unit, t.program = g.name(e.Unit), g.name(e.Program)
		t.sample, t.kind = cut(e.Text, maxSample), cut(e.Kind, maxSample)
	}
	if e.Priority != NoPriority && (t.priority == NoPriority || e.Priority < t.priority) {
		t.priority = e.Priority
	}
}

// or is a kind, or what is its own.
func or(kind, itself []byte) []byte {
	if len(kind) > 0 {
		return kind
	}
	return itself
}

// name keeps one copy of a name.
func (g *grouper) name(b []byte) string {
	if s, ok := g.names[string(b[:min(len(b), maxName)])]; ok {
		return s
	}
	s := bounded(b, maxName)
	if len(g.names) < maxPatterns {
		g.names[s] = s
	}
	return s
}

// prune forgets the half of the patterns that matters least, and counts their entries as other.
func (g *grouper) prune() {
	list := g.sorted()
	for _, t := range list[len(list)/2:] {
		g.other += t.count
		g.forgotten++
		delete(g.tallies, t.key)
	}
}

// sorted returns the tallies, what matters most first.
func (g *grouper) sorted() []*tally {
	list := make([]*tally, 0, len(g.tallies))
	for _, t := range g.tallies {
		list = append(list, t)
	}
	slices.SortFunc(list, compare)
	share(list)
	return list
}

// compare orders by how bad a pattern is, then by count and by how lately it was written.
func compare(a, b *tally) int {
	return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(a.severity(), b.severity()), cmp.Compare(b.count, a.count), b.last.Compare(a.last), cmp.Compare(a.sample, b.sample))
}

// share puts what a service or a program has beyond its share of a class behind what others have in it.
func share(list []*tally) {
	type place struct {
		class int
		of    string
	}
	taken := map[place]int{}
	for _, t := range list {
		at := place{t.class(), cmp.Or(t.unitKind, t.unit, t.program)}
		t.behind = taken[at] >= maxAhead
		taken[at]++
	}
	slices.SortStableFunc(list, func(a, b *tally) int { return cmp.Or(cmp.Compare(a.class(), b.class()), order(a.behind, b.behind)) })
}

// order puts false before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// severity is the priority of an error, which its program has chosen for it. Most write everything else with one.
func (t *tally) severity() int {
	if t.priority != NoPriority && t.priority <= priorityError {
		return t.priority
	}
	return priorityError
}

// class is 0 for an error, 1 for a warning or a line whose words tell of a failure: most programs
// write everything with the priority of standard output, info. Both are 2 more where a user wrote them, who
// could otherwise hide those of services behind any number of their own; the rest is 4.
func (t *tally) class() (class int) {
	switch {
	case t.priority != NoPriority && t.priority <= priorityError:
	case t.priority == priorityWarning || t.failing:
		class = 1
	default:
		return 4
	}
	if t.user {
		class += 2
	}
	return class
}

// OfUser reports whether a unit is a session of a user or their service manager (systemd-logind(8),
// user@.service(5)): what is in it sends lines with any priority and any name of a program.
func OfUser(unit []byte) bool {
	within := func(begin, end string) bool {
		return bytes.HasPrefix(unit, []byte(begin)) && bytes.HasSuffix(unit, []byte(end))
	}
	return within("session-", ".scope") || within("user@", ".service")
}

// failures are parts of words with which programs tell of a failure, in lower case.
var failures = [][]byte{
	[]byte("error"), []byte("fail"), []byte("fatal"), []byte("panic"), []byte("denied"), []byte("refused"), []byte("cannot"), []byte("can't"), []byte("unable"), []byte("timed out"),
	[]byte("out of memory"), []byte("killed process"), []byte("segfault"), []byte("traceback"), []byte("exception"), []byte("no space left"), []byte("i/o err"), []byte("critical"), []byte("emerg"), []byte("invalid user"),
	[]byte("suppressed"), // by a rate limit, of journald or of the kernel
}

// failing reports whether a line tells of a failure. It is asked once for each pattern.
func failing(line []byte) bool {
	lower := bytes.ToLower(line[:min(len(line), maxPattern)])
	return slices.ContainsFunc(failures, func(part []byte) bool { return bytes.Contains(lower, part) })
}
