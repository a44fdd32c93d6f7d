// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"strings"

	"sentinel/internal/updates"
)

// An aptPlan is what apt-get -s -V would do.
type aptPlan struct {
	updates []updates.Package
	extra   updates.Extra
	kept    []updates.Withheld // why is not known yet
	phased  []updates.Withheld // where apt lists them apart
}

// parseAptPlan reads the output of a simulated dist-upgrade. Lines that are
// neither a step nor in a list that matters are for people.
func parseAptPlan(out []byte) aptPlan {
	plan := aptPlan{updates: []updates.Package{}}
	heading := ""
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		if strings.HasPrefix(line, " ") {
			plan.keep(heading, line)
			continue
		}
		heading = line
		plan.step(line)
	}
	return plan
}

// waits reads a row of a list: "   name (1.0 => 2.0)", or several names where
// apt was told not to show versions.
func (p *aptPlan) keep(heading, line string) {
	to, reason := &p.kept, updates.KeptBack
	switch heading {
	case "The following packages have been kept back:":
	case "The following upgrades have been deferred due to phasing:":
		to, reason = &p.phased, updates.Phased
	default:
		return
	}
	name, versions, ok := strings.Cut(strings.TrimSpace(line), " (")
	if current, candidate, two := strings.Cut(strings.TrimSuffix(versions, ")"), " => "); ok && two {
		*to = append(*to, updates.Withheld{Name: name, Current: current, Candidate: candidate, Reason: reason})
		return
	}
	for name := range strings.FieldsSeq(line) {
		*to = append(*to, updates.Withheld{Name: name, Reason: reason})
	}
}

func (p *aptPlan) step(line string) {
	step, rest, _ := strings.Cut(line, " ")
	switch step {
	case "Remv":
		p.extra.Removes++
	case "Inst":
		if one, ok := parseInst(rest); ok && one.Current != "" {
			p.updates = append(p.updates, one)
		} else if ok {
			p.extra.Installs++
		}
	}
}

// parseInst reads what follows "Inst": "name [current] (candidate origin,
// origin [arch])" and what is broken in between, in brackets. A package that is new has no
// current version.
func parseInst(s string) (updates.Package, bool) {
	name, rest, _ := strings.Cut(s, " ")
	one := updates.Package{Name: name}
	if after, ok := strings.CutPrefix(rest, "["); ok {
		if one.Current, rest, ok = strings.Cut(after, "] "); !ok {
			return one, false
		}
	}
	end := strings.LastIndexByte(rest, ')')
	if !strings.HasPrefix(rest, "(") || end < 0 {
		return one, false
	}
	rest = rest[1:end]
	one.Candidate, rest, _ = strings.Cut(rest, " ")
	if at := strings.LastIndexByte(rest, '['); at >= 0 {
		rest = rest[:at]
	}
	one.Origin = strings.TrimSpace(rest)
	one.Security = new(fromSecurity(one.Origin))
	return one, name != "" && one.Candidate != ""
}

// fromSecurity says whether one of the archives that have a version is one for
// security: each is "label:release/suite". Debian's has a label of its own, those of Ubuntu
// and of others have suites that end so.
func fromSecurity(origins string) bool {
	for origin := range strings.SplitSeq(origins, ", ") {
		label, suite, _ := strings.Cut(origin, ":")
		if at := strings.LastIndexByte(suite, '/'); at >= 0 {
			suite = suite[at+1:]
		}
		if label == "Debian-Security" || suite == "security" || strings.HasSuffix(suite, "-security") {
			return true
		}
	}
	return false
}

// parseAptPolicy returns the candidates that are phased, by package, from the
// output of apt-cache policy:
//
//	name:
//	  Installed: 1.0
//	  Candidate: 1.5
//	  Version table:
//	     1.5 500 (phased 10%)
func parseAptPolicy(out []byte) map[string]string {
	phased := map[string]string{}
	name, candidate := "", ""
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		f := strings.Fields(line)
		switch {
		case !strings.HasPrefix(line, " "):
			name, candidate = strings.TrimSuffix(line, ":"), ""
		case len(f) == 2 && f[0] == "Candidate:":
			candidate = f[1]
		case len(f) >= 4 && f[0] == candidate && f[2] == "(phased":
			phased[name] = candidate
		}
	}
	return phased
}

// isPackageName says whether s is the name of a Debian package, deb-control(5),
// with or without its architecture. What is not one is never handed on to a program.
func isPackageName(s string) bool {
	for i := range len(s) {
		c := s[i]
		inside := i > 0 && strings.IndexByte("+-.:", c) >= 0
		if !inside && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(s) > 1
}
