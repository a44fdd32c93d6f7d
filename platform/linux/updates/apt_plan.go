// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/sysexec"
	"sentinel/internal/updates"
)

// longestRow is what is kept of a line of apt, in bytes: with -V it has one package.
const longestRow = 4 << 10

// plan has apt-get(8) simulate an update of everything, -V with the versions. It lists what it would do, then
// goes through it package by package, which takes three times as long for what has been said: it is ended before that.
func (apt) plan(ctx context.Context, m machine) (aptPlan, error) {
	plan := aptPlan{updates: []updates.Package{}}
	lines := sysexec.Lines{Longest: longestRow, Line: plan.read}
	args := []string{"-s", "-q=1", "-V", "-o", "Debug::NoLocking=1", "-o", "APT::Get::Show-Upgraded=1", "dist-upgrade"}
	r, err := m.run(ctx, sysexec.Command{Path: "/usr/bin/apt-get", Args: args, Timeout: mainLimit, OnStdout: lines.Add})
	switch {
	case err != nil:
		return plan, err
	case r.Exit != 0:
		return plan, diagnose("apt", string(r.Stderr), aptErrors())
	case !plan.whole():
		return plan, fault.New(fault.Unavailable, "apt planned an update in words that sentinel cannot read.").WithFix("Look at what it plans: apt-get -s -V dist-upgrade")
	}
	return plan, nil
}

// An aptPlan is what apt-get -s -V would do.
type aptPlan struct {
	updates []updates.Package
	extra   updates.Extra
	kept    []updates.Withheld // the reason is not known yet
	phased  []updates.Withheld // if apt lists them separately

	heading string   // of the list that is being read
	sums    []string // as [aptSums] finds them; nil before they come
	size    int      // bytes that were read
}

// aptSums is the line under the lists.
var aptSums = lazyregexp.New(`^(\d+) upgraded, (\d+) newly installed, (?:\d+ reinstalled, )?(?:(\d+) downgraded, )?(\d+) to remove and \d+ not upgraded\.$`)

// whole reports whether the lists have as many packages as their sums.
func (p *aptPlan) whole() bool {
	if p.sums == nil {
		return false
	}
	var n [4]int
	for i, sum := range p.sums[1:] {
		var err error
		if n[i], err = strconv.Atoi(cmp.Or(sum, "0")); err != nil {
			return false
		}
	}
	return len(p.updates) == n[0]+n[2] && p.extra == updates.Extra{Installs: n[1], Removes: n[3]}
}

// read reads a line, as [sysexec.Lines] has it. It returns false once the plan is whole, or longer than any.
func (p *aptPlan) read(line []byte, _ bool) bool {
	text := string(line)
	if p.size += len(text); p.size > maxOutput {
		return false
	}
	if strings.HasPrefix(text, " ") {
		p.row(text)
		return true
	}
	p.heading = text
	p.sums = aptSums.Get().FindStringSubmatch(text)
	return p.sums == nil
}

// row reads a row of a list: " name (1.0 => 2.0)", or several names if this apt shows no versions.
func (p *aptPlan) row(line string) {
	name, versions, one := strings.Cut(strings.TrimSpace(line), " (")
	names := []string{name}
	if !one {
		names = strings.Fields(line)
	}
	current, candidate, _ := strings.Cut(strings.TrimSuffix(versions, ")"), " => ")
	for _, name := range names {
		switch p.heading {
		case "The following packages will be REMOVED:":
			p.extra.Removes++
		case "The following NEW packages will be installed:":
			p.extra.Installs++
		case "The following packages will be upgraded:", "The following packages will be DOWNGRADED:":
			if candidate != "" {
				p.updates = append(p.updates, updates.Package{Name: name, Current: current, Candidate: candidate})
			}
		case "The following packages have been kept back:":
			p.kept = append(p.kept, updates.Withheld{Name: name, Current: current, Candidate: candidate, Reason: updates.KeptBack})
		case "The following upgrades have been deferred due to phasing:":
			p.phased = append(p.phased, updates.Withheld{Name: name, Current: current, Candidate: candidate, Reason: updates.Phased})
		}
	}
}
