// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"sentinel/internal/guard/policy/as"
)

// An Environment is what values are understood by: where the server runs, and for whom.
type Environment struct {
	Home    string // ${HOME}, and what "~" stands for
	Project string // ${PROJECT}
	Dir     string // the working directory of the server
}

func (e Environment) paths() as.Paths { return as.Paths{Home: e.Home, Dir: e.Dir} }

var errKind = errors.New("it is not what the rule compares")

// A sample is one reading of one value.
type sample struct {
	text    string
	fold    bool // upper and lower case are one there
	place   as.Place
	link    as.Link
	command as.Command
	sql     as.Statement
	kinds   bool // the text is a kind of statement
}

// samples returns all readings of a string.
func (c *condition) samples(e Environment, text string) ([]sample, error) {
	if c.nfkc {
		text = norm.NFKC.String(text)
	}
	var all []sample
	var err error
	switch c.as {
	case asText:
		return []sample{{text: text, fold: c.ignoreCase}}, nil
	case asPath:
		var places []as.Place
		places, err = e.paths().Read(text)
		for _, p := range places {
			all = append(all, sample{text: p.Path, fold: p.Fold, place: p})
		}
	case asURL:
		var links []as.Link
		links, err = as.URL(text)
		for _, l := range links {
			all = append(all, sample{text: l.String(), link: l})
		}
	case asHost:
		var hosts []string
		hosts, err = as.Host(text)
		for _, h := range hosts {
			all = append(all, sample{text: h, fold: true})
		}
	case asShell:
		var commands []as.Command
		commands, err = as.Shell(text)
		for _, command := range commands {
			all = append(all, sample{text: command.String(), command: command})
		}
	case asSQL:
		var statements []as.Statement
		statements, err = as.SQL(text)
		for _, s := range statements {
			all = append(all, sample{text: s.String(), fold: true, sql: s})
		}
	}
	for i := range all {
		all[i].fold = all[i].fold || c.ignoreCase
	}
	return all, err
}

// holds says whether the test holds for a sample.
func (t *test) holds(s sample) bool { return t.plain(s) != t.not }

func (t *test) plain(s sample) bool {
	switch t.operator {
	case "equals", "in":
		return t.equals(s)
	case "contains":
		return slices.ContainsFunc(t.texts, func(x string) bool { return strings.Contains(folded(s.text, s.fold), folded(x, s.fold)) })
	case "starts_with":
		return slices.ContainsFunc(t.texts, func(x string) bool { return strings.HasPrefix(folded(s.text, s.fold), folded(x, s.fold)) })
	case "regex":
		return t.expression(s.fold).MatchString(s.text)
	case "inside":
		return t.inside(s)
	case "unbounded_select":
		return s.sql.Unbounded(t.most)
	default:
		return false
	}
}

func (t *test) equals(s sample) bool {
	return slices.ContainsFunc(t.places, s.place.Is) || slices.ContainsFunc(t.texts, func(x string) bool { return folded(s.text, s.fold) == folded(x, s.fold) }) ||
		slices.ContainsFunc(t.sites, func(site as.Site) bool { return site.Has(s.text) })
}

func (t *test) expression(fold bool) *regexp.Regexp {
	if fold {
		return t.pattern[1]
	}
	return t.pattern[0]
}

func folded(text string, fold bool) string {
	if fold {
		return as.Fold(text)
	}
	return text
}

// inside says whether a sample is in one of the places of the test. A statement is inside when all
// that it does is.
func (t *test) inside(s sample) bool {
	switch {
	case s.place.Path != "":
		return slices.ContainsFunc(t.places, s.place.Below)
	case t.areas != nil:
		return slices.ContainsFunc(t.areas, func(a as.Area) bool { return a.Has(s.link) })
	case t.sites != nil:
		return slices.ContainsFunc(t.sites, func(site as.Site) bool { return site.Has(s.text) })
	case t.starts != nil:
		return slices.ContainsFunc(t.starts, func(start as.Command) bool { return s.command.Begins(start, s.fold) })
	default:
		return s.kinds && slices.Contains(t.texts, s.text)
	}
}

// kindSamples are what statements do, one sample each.
func kindSamples(statements []sample) (all []sample) {
	for _, s := range statements {
		for _, kind := range s.sql.Kinds() {
			all = append(all, sample{text: kind, kinds: true})
		}
	}
	return all
}
