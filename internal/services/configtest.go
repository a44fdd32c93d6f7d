// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/lazyregexp"
)

// configurationLine finds what a test of a configuration says is wrong: the line that names an error
// or a place, or else the first. Apache names the place in one line and the error in the next.
func configurationLine(lines []ShownLine) string {
	at := max(0, slices.IndexFunc(lines, func(l ShownLine) bool { return wrongLine.Get().MatchString(l.Text) }))
	if len(lines) == 0 {
		return ""
	}
	text := lines[at].Text
	if strings.HasSuffix(text, ":") && at+1 < len(lines) {
		text += " " + lines[at+1].Text
	}
	return text
}

var wrongLine = lazyregexp.New(`(?i)\[emerg\]|\[ALERT\]|fatal|error|invalid|bad |unknown|missing|line \d+|:\d+`)

// testConfiguration has a service that runs test its configuration, and refuses a restart that would
// take it down. What the test said is kept for the answer.
func (p *planner) testConfiguration(ctx context.Context, u Unit) (string, error) {
	if !isUp(u) {
		return "", nil
	}
	test := p.manager.TestConfiguration(ctx, u)
	switch {
	case test == nil:
		return "", nil
	case test.Err != nil:
		return " Its configuration could not be tested (" + shown(test.Command) + "): " + shown(test.Err.Error()) + ".", nil
	case test.Passed:
		return " Its configuration passes: " + shown(test.Command) + ".", nil
	}
	lines := []LogLine{}
	for _, text := range test.Lines {
		lines = append(lines, LogLine{Text: text})
	}
	cause := ": " + strings.TrimSuffix(configurationLine(shownLines(lines, len(lines), logRunes)), ".")
	if cause == ": " {
		cause = ", which does not say why"
	}
	if p.options.Force {
		return " Its configuration does not pass " + shown(test.Command) + cause + ".", nil
	}
	return "", wouldNotComeBack(u, "its configuration does not pass "+shown(test.Command)+cause, "Repair that line")
}

// wouldNotComeBack refuses to restart a service that runs; mend is what its administrator has to do first.
func wouldNotComeBack(u Unit, why, mend string) error {
	return fault.New(fault.BrokenConfiguration, u.Name+" would not come back: "+why+". It runs on; nothing was changed.").
		WithFix(mend + " and try again. A person may restart it all the same with: sudo sentinel --restart-service " + u.Name + " --force")
}
