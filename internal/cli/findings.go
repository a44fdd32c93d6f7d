// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A finding is something that is not as it should be.
type finding struct {
	status  string   // how bad it is, in a word
	message string   // what it is, and why
	behind  []string // what it comes from, such as processes or files; none is unknown
	fix     string   // what to do, a command where there is one; "" is nothing
}

// findings writes the findings, the worst first, as far as the screen holds them and
// what ending writes below; at least one. ending gets the rest.
func (p *page) findings(list []finding, ending func(inner *page, rest []finding)) {
	room := p.height - p.rowsOf(func(inner *page) { ending(inner, list) })
	rest := list[len(list):]
	for i, f := range onceEach(list) {
		before := p.b.Len()
		p.finding(f)
		if i > 0 && !p.verbose && p.height > 0 && p.rows(p.b.Bytes()) >= room {
			p.b.Truncate(before)
			rest = list[i:]
			break
		}
	}
	ending(p, rest)
}

// onceEach leaves a fix, and what findings come from, at the first that has it.
func onceEach(list []finding) []finding {
	list = slices.Clone(list)
	said := map[string]bool{}
	for i, f := range list {
		if behind := strings.Join(f.behind, "; "); said[behind] {
			list[i].behind = nil
		} else {
			said[behind] = true
		}
		if said[f.fix] {
			list[i].fix = ""
		}
		said[f.fix] = true
	}
	return list
}

func (p *page) finding(f finding) {
	lines := strings.Split(text.WrapSoft(f.message, p.width-len(f.status)-gap-1), "\n")
	p.write([]string{f.status + strings.Repeat(" ", gap) + lines[0]})
	for _, line := range lines[1:] {
		p.write([]string{strings.Repeat(" ", gap) + line})
	}
	p.sources(f.behind)
	if f.fix == "" {
		return
	}
	before := p.b.Len()
	p.indented(func(inner *page) { inner.fix(f.fix) })
	if p.step == nil {
		p.step = slices.Clone(p.b.Bytes()[before:])
	}
}

// sources writes what a finding comes from, as much of it as two lines hold where not all
// of it is asked for.
func (p *page) sources(list []string) {
	if p.verbose {
		for _, source := range list {
			p.item("%s", source)
		}
		return
	}
	joined := strings.Join(list, "; ")
	if short := snip(joined, 2*(p.width-2*gap)); short != joined {
		joined, p.cut = short, true
	}
	if joined != "" {
		p.item("%s", joined)
	}
}
