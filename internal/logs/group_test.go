// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func entry(second, priority int, unit, program, text string) Entry {
	return Entry{Time: noon.Add(time.Duration(second) * time.Second), Priority: priority, Unit: []byte(unit), Program: []byte(program), Text: []byte(text)}
}

func TestEqualLinesAreCountedInAnyOrder(t *testing.T) {
	g := newGrouper(10)
	for _, e := range []Entry{
		entry(5, 6, "ssh.service", "sshd", "port 5"), entry(9, 4, "ssh.service", "sshd", "port 9"), entry(1, NoPriority, "ssh.service", "sshd", "port 1"),
		entry(7, 6, "other.service", "sshd", "port 7"), entry(7, 6, "ssh.service", "sshd-session", "port 7"), entry(8, 3, "ssh.service", "sshd", "gone"),
	} {
		g.add(e)
	}
	list := g.sorted()
	if len(list) != 4 || list[0].sample != "gone" {
		t.Fatalf("%d patterns, first %+v", len(list), list[0])
	}
	ports := list[1]
	if ports.count != 3 || ports.sample != "port 9" || !ports.first.Equal(noon.Add(time.Second)) || !ports.last.Equal(noon.Add(9*time.Second)) || ports.priority != 4 {
		t.Errorf("%+v", ports)
	}
}

func TestUnitsOfOneKindAreOnePattern(t *testing.T) {
	g := newGrouper(10)
	for i := range 5 {
		g.add(entry(i, 6, fmt.Sprintf("session-%d.scope", i), "login", fmt.Sprintf("session %d opened", i)))
	}
	if list := g.sorted(); len(list) != 1 || list[0].count != 5 || list[0].unit != "session-4.scope" {
		t.Errorf("%d patterns, %+v", len(list), list[0])
	}
}

// What no longer fits is counted, and what matters stays: errors, failures, and what comes often.
func TestAFullTableForgetsWhatMattersLeast(t *testing.T) {
	g := newGrouper(100)
	g.add(entry(0, 3, "", "", "disk error"))
	for range 50 {
		g.add(entry(0, 6, "", "", "often"))
	}
	g.add(entry(0, 6, "", "", "cannot open it"))
	letters := func(i int) string { return strings.Map(func(r rune) rune { return r - '0' + 'g' }, fmt.Sprint(i)) }
	for i := range 1000 {
		g.add(entry(1, 6, "", "", "once "+letters(i)))
	}
	list := g.sorted()
	kept := 0
	for _, c := range list {
		kept += c.count
	}
	if len(list) > 100 || kept+g.other != 1052 || g.forgotten < 900 {
		t.Errorf("%d patterns with %d entries, %d other of %d", len(list), kept, g.other, g.forgotten)
	}
	if list[0].sample != "disk error" || list[1].sample != "cannot open it" || list[2].sample != "often" || list[2].count != 50 {
		t.Errorf("%q, %q, %q", list[0].sample, list[1].sample, list[2].sample)
	}
}

// A program that writes errors of many kinds, as anybody may make it do, leaves room for others.
func TestOneServiceHasItsShareOfErrors(t *testing.T) {
	g := newGrouper(100)
	word := func(i int) string { return strings.Repeat("x", 1+i) }
	for i := range 90 {
		for range 3 {
			g.add(entry(i, 3, "ssh.service", "sshd", "error of "+word(i)))
		}
	}
	g.add(entry(0, 3, "backup.service", "backup", "it failed"))
	g.add(entry(0, 2, "smartd.service", "smartd", "disk fails"))
	g.add(entry(0, 4, "web.service", "web", "late"))
	list := g.sorted()
	var got []string
	for _, p := range list[:8] {
		got = append(got, p.unit)
	}
	want := []string{"smartd.service", "ssh.service", "ssh.service", "ssh.service", "ssh.service", "ssh.service", "backup.service", "ssh.service"}
	if !slices.Equal(got, want) || len(list) != 93 || list[92].unit != "web.service" || list[1].sample != "error of "+word(89) {
		t.Errorf("%q", got)
	}
	for i := range 500 { // also where not all are kept
		g.add(entry(100+i, 3, "ssh.service", "sshd", "panic of "+word(i)))
	}
	if list = g.sorted(); list[6].unit != "backup.service" || g.forgotten == 0 {
		t.Errorf("%d, %+v", g.forgotten, list[6])
	}
}

// The priority orders errors alone: of the rest most programs write everything with one.
func TestTheMostSevereErrorComesFirst(t *testing.T) {
	g := newGrouper(100)
	for i, priority := range []int{3, 3, 0, 4, 6, 6, NoPriority} {
		g.add(entry(i, priority, "a.service", "a", []string{"err", "err", "emerg", "warning", "failed", "failed", "refused"}[i]))
	}
	var got []string
	for _, p := range g.sorted() {
		got = append(got, p.sample)
	}
	if want := []string{"emerg", "err", "failed", "refused", "warning"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestWhatARateLimitDroppedIsAWarning(t *testing.T) {
	g := newGrouper(100)
	for i, text := range []string{"often", "often", "Suppressed 70 messages from cron.service", "net_ratelimit: 31 callbacks suppressed"} {
		g.add(entry(i, 6, "a.service", "a", text))
	}
	if list := g.sorted(); list[0].class() != 1 || list[1].class() != 1 || list[2].sample != "often" {
		t.Errorf("%+v", list[2])
	}
}

func TestWhatAUserChoseIsNoPartOfAPattern(t *testing.T) {
	f := &fakeSource{}
	for i, name := range []string{"a", "b", "c"} {
		e := entry(i, 3, "", "kernel", "killed "+name+" of 5 MB")
		e.Kind = []byte("killed # of 5 MB")
		f.entries = append(f.entries, e)
	}
	f.entries = append(f.entries, entry(0, 3, "", "kernel", "killed d of 5 MB"))
	r := report(t, f, Request{})
	if p := r.Patterns[0]; len(r.Patterns) != 2 || p.Count != 3 || p.Pattern != "killed # of # MB" || p.Sample != "killed c of 5 MB" {
		t.Errorf("%+v", r.Patterns)
	}
}

func BenchmarkGroup(b *testing.B) {
	g := newGrouper(maxPatterns)
	e := entry(0, 6, "web.service", "web", "GET /api/v1/items/123456 200 in 15 ms id=4f3a9c0012ab for 203.0.113.7 with \"Mozilla/5.0\"")
	b.ReportAllocs()
	for range b.N {
		g.add(e)
	}
}
