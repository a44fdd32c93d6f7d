// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/doctor"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/humanize"
	"sentinel/internal/nagios"
	"sentinel/internal/ops"
)

// A checkable document can be judged as a plugin of Nagios judges.
type checkable interface {
	check() nagios.Result
}

// isCheckable says that --check belongs to an action.
func isCheckable(op ops.Operation) bool {
	result := operations()[op.Name].result
	return result != nil && result.Implements(reflect.TypeFor[checkable]())
}

// checkableWords lists the actions that --check belongs to, as words.
func checkableWords() []string {
	var words []string
	for _, o := range ops.Actions() {
		if isCheckable(o) {
			words = append(words, o.Word())
		}
	}
	return words
}

// asksForCheck looks for --check even on a command line that is not understood:
// a monitoring system would take status 2 of a usage error for CRITICAL.
func asksForCheck(args []string) bool { return slices.Contains(args, "--check") }

// uncheckable is the result when there is no answer to judge.
func uncheckable(d fault.Document) nagios.Result {
	return nagios.Result{Status: nagios.Unknown, Text: sentence(d.Error) + " " + d.Fix}
}

// sentence ends a text with a full stop, of which what another machine says has one before its mark.
func sentence(text string) string {
	if strings.HasSuffix(text, `."`) {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}

// someOf shows the first of a list of names.
func someOf(names []string) string {
	const most = 6
	return withMore(names[:min(len(names), most)], len(names), ", ")
}

// threatStatus translates the threat level.
func threatStatus(level string) nagios.Status {
	switch level {
	case health.Low:
		return nagios.OK
	case health.Warning:
		return nagios.Warning
	case health.Critical:
		return nagios.Critical
	default:
		return nagios.Unknown
	}
}

// vital are the fields that every machine has. One that lacks them is not said
// to be OK.
var vital = []string{"cpu", "cpu.percent", "memory", "disks"}

func (d *healthDocument) check() nagios.Result {
	r := nagios.Result{Status: threatStatus(d.ThreatLevel), Text: "Nothing is at a threshold."}
	var messages, unknown []string
	for _, reason := range d.ThreatReasons {
		messages = append(messages, reason.Message)
	}
	if len(messages) > 0 {
		r.Text = strings.Join(messages, " ")
	}
	for _, gap := range d.Unavailable {
		unknown = append(unknown, gap.Fields()...)
	}
	if r.Status == nagios.OK && slices.ContainsFunc(unknown, func(field string) bool { return slices.Contains(vital, field) }) {
		r.Status, r.Text = nagios.Unknown, "Nothing that is known is at a threshold."
	}
	if len(unknown) > 0 {
		r.Text += " Not known: " + someOf(unknown) + "."
	}
	for _, m := range d.Measurements(d.thresholds) {
		label := strings.TrimSpace(m.Key + " " + m.Part)
		perf := nagios.Perf{Label: label, Value: m.Value, Unit: m.Unit}
		if d.thresholds != nil { // those of another machine are not known here
			perf.Warning, perf.Critical = &m.Warning, &m.Critical
		}
		r.Perf = append(r.Perf, perf)
	}
	return r
}

func (d auditDocument) check() nagios.Result {
	if d.Evaluated == 0 {
		return nagios.Result{Status: nagios.Unknown, Text: "No check came to a verdict."}
	}
	failed, warned := d.withStatus(audit.Fail), d.withStatus(audit.Warn)
	r := nagios.Result{
		Text: fmt.Sprintf("Score %d of 100, %d of %d checks came to a verdict.", d.Score, d.Evaluated, d.Applicable),
		Perf: []nagios.Perf{
			{Label: "score", Value: float64(d.Score)}, {Label: "failures", Value: float64(len(failed))},
			{Label: "warnings", Value: float64(len(warned))}, {Label: "coverage", Value: 100 * d.Coverage, Unit: "%"},
		},
	}
	if len(failed) > 0 {
		r.Text += " FAIL: " + someOf(failed) + "."
	}
	if len(warned) > 0 {
		r.Text += " WARN: " + someOf(warned) + "."
	}
	r.Status = auditStatus(d.Overall)
	return r
}

// auditStatus translates the verdict of an audit. That of another machine may be one that is not known here.
func auditStatus(overall audit.Overall) nagios.Status {
	switch overall {
	case audit.OverallPass:
		return nagios.OK
	case audit.OverallWarning:
		return nagios.Warning
	case audit.OverallFail:
		return nagios.Critical
	default:
		return nagios.Unknown
	}
}

// withStatus lists the checks with a verdict, by their ids.
func (d auditDocument) withStatus(status audit.Status) []string {
	var ids []string
	for _, c := range d.Checks {
		if c.Status == status {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (d doctorDocument) check() nagios.Result {
	r := nagios.Result{
		Text: fmt.Sprintf("%s, %s, %s.", humanize.Count(len(d.Checks), "check", "checks"), counted(d.Problems, "problem"), counted(d.Warnings, "warning")),
		Perf: []nagios.Perf{
			{Label: "problems", Value: float64(d.Problems), Critical: new(0.0)},
			{Label: "warnings", Value: float64(d.Warnings), Warning: new(0.0)},
		},
	}
	switch {
	case d.Problems > 0:
		r.Status = nagios.Critical
	case d.Warnings > 0:
		r.Status = nagios.Warning
	}
	for _, status := range []string{doctor.Problem, doctor.Warning} {
		for _, c := range d.Checks {
			if c.Status == status {
				r.Text += " " + c.Name + ": " + strings.TrimSuffix(c.Value, ".") + "."
			}
		}
	}
	return r
}

func (d updatesDocument) check() nagios.Result {
	if d.Info.UpdatesAvailable == nil {
		var reasons []string
		for _, gap := range d.Unavailable {
			if strings.HasPrefix(gap.Field, "info.updates") {
				reasons = append(reasons, gap.Reason)
			}
		}
		return nagios.Result{Status: nagios.Unknown, Text: "Which updates wait cannot be told: " + strings.Join(reasons, "; ") + "."}
	}
	due := d.RebootRequired != nil && *d.RebootRequired
	r := nagios.Result{Text: d.waiting() + d.withheldText() + d.ageText(), Perf: d.perf()}
	switch {
	case total(d.SecurityTotal)+total(d.WithheldSecurity) > 0:
		r.Status = nagios.Critical
	case *d.UpdatesTotal > 0 || due:
		r.Status = nagios.Warning
	}
	if due {
		r.Text += " A reboot is due: " + d.RebootReason
	}
	return r
}

// waiting counts the updates, and those for security where they are known.
func (d updatesDocument) waiting() string {
	text := counted(*d.UpdatesTotal, "update")
	if d.SecurityTotal == nil {
		return text + "; which of them are for security is not known."
	}
	return fmt.Sprintf("%s, %d for security.", text, *d.SecurityTotal)
}

func (d updatesDocument) perf() []nagios.Perf {
	list := []nagios.Perf{{Label: "updates", Value: float64(*d.UpdatesTotal), Warning: new(0.0)}}
	if d.SecurityTotal != nil {
		list = append(list, nagios.Perf{Label: "security_updates", Value: float64(*d.SecurityTotal), Critical: new(0.0)})
	}
	if d.WithheldSecurity != nil {
		list = append(list, nagios.Perf{Label: "withheld_security_updates", Value: float64(*d.WithheldSecurity), Critical: new(0.0)})
	}
	if d.ListAgeSeconds != nil {
		list = append(list, nagios.Perf{Label: "list_age", Value: float64(*d.ListAgeSeconds), Unit: "s"})
	}
	return list
}
