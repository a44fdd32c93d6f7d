// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/prometheus"
	"sentinel/internal/updates"
)

// An updatesDocument answers check_updates.
type updatesDocument struct {
	answer.Header
	updates.Report
}

// mostUpdates is how many rows of each list a request for everything gets.
const mostUpdates = 500

func runCheckUpdates(ctx context.Context, s session, call invocation) (document, error) {
	rows := call.capped(updates.DefaultLimit)
	if call.request && call.verbose {
		rows = mostUpdates
	}
	report, err := updates.Check(ctx, s.host.Updates, updates.Options{Limit: rows, Brief: call.brief(), Now: s.host.Now()})
	if err != nil {
		return nil, err
	}
	return updatesDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func (d updatesDocument) view(p *page) {
	switch {
	case d.UpdatesTotal == nil:
		p.verdict(warn, "UNKNOWN", "Which updates there are cannot be told.")
	case d.Info.UpdatesAvailable == nil:
		d.doubtful(p)
	case total(d.SecurityTotal) > 0:
		p.verdict(severe, "SECURITY", fmt.Sprintf("%s, %d of them for security.%s%s", waitText(*d.UpdatesTotal), *d.SecurityTotal, d.withheldText(), d.ageText()))
	case total(d.WithheldSecurity) > 0:
		p.verdict(severe, "SECURITY", fmt.Sprintf("%s.%s%s", waitText(*d.UpdatesTotal), d.withheldText(), d.ageText()))
	case *d.UpdatesTotal == 0:
		p.verdict(calm, "CURRENT", d.Manager+" knows of no update."+d.ageText())
	default:
		p.verdict(warn, "UPDATES", fmt.Sprintf("%s.%s", waitText(*d.UpdatesTotal), d.ageText()))
	}
	if d.RebootRequired != nil && *d.RebootRequired {
		p.line("A reboot is due: %s", d.RebootReason)
	}
	var rows [][]string
	for _, u := range d.Packages {
		rows = append(rows, []string{u.Name, known(u.Current), u.Candidate, yesNo(u.Security), known(u.Origin)})
	}
	p.table(shownOf("Updates", len(d.Packages), total(d.UpdatesTotal)), []column{
		{title: "package"}, {title: "installed"}, {title: "candidate"}, {title: "security"}, {title: "origin"},
	}, rows)
	rows = nil
	for _, w := range d.Withheld {
		rows = append(rows, []string{w.Name, known(w.Current), known(w.Candidate), yesNo(w.Security), w.Reason})
	}
	p.table("Withheld", []column{{title: "package"}, {title: "installed"}, {title: "candidate"}, {title: "security"}, {title: "because"}}, rows)
	p.gaps(d.Unavailable)
}

// doubtful says why lists that know of no update say little, and what would make them say more.
func (d updatesDocument) doubtful(p *page) {
	why := "."
	for _, g := range d.Unavailable {
		if g.Field == "info.updates_available" {
			why = ": " + g.Reason + "."
		}
	}
	p.verdict(warn, "UNKNOWN", d.Manager+" knows of no update, and that says little"+why)
	if d.Outdated() {
		p.fix("Fetch the lists: " + updates.RefreshCommand(d.Manager))
		return
	}
	p.fix("Look at its sources: sentinel --security-audit")
}

// withheldText counts the security updates that updating everything would leave out.
func (d updatesDocument) withheldText() string {
	switch n := total(d.WithheldSecurity); n {
	case 0:
		return ""
	case 1:
		return " 1 security update is withheld."
	default:
		return fmt.Sprintf(" %d security updates are withheld.", n)
	}
}

func waitText(updates int) string {
	if updates == 1 {
		return "1 update waits"
	}
	return fmt.Sprintf("%d updates wait", updates)
}

func (d updatesDocument) ageText() string {
	if d.ListAgeSeconds == nil {
		return " How old the package lists are is not known."
	}
	return fmt.Sprintf(" The package lists are %s old.", humanize.Duration(*d.ListAgeSeconds))
}

// metrics leaves out what the package manager did not tell.
func (d updatesDocument) metrics(p *prometheus.Page) {
	moment(p, "sentinel_updates_checked_timestamp_seconds", "When the package manager was asked for updates, in seconds since 1970.", d.Header, 0)
	if d.ListAgeSeconds != nil {
		moment(p, "sentinel_updates_lists_timestamp_seconds", "When its package lists last changed or were found current, in seconds since 1970.", d.Header, *d.ListAgeSeconds)
	}
	if d.UpdatesTotal != nil {
		p.Add("sentinel_updates_pending", "Updates that wait, those for security included.", prometheus.Gauge, float64(*d.UpdatesTotal))
	}
	if d.SecurityTotal != nil {
		p.Add("sentinel_security_updates_pending", "Security updates that wait.", prometheus.Gauge, float64(*d.SecurityTotal))
	}
	if d.WithheldSecurity != nil {
		p.Add("sentinel_security_updates_withheld", "Security updates that are held, phased or kept back.", prometheus.Gauge, float64(*d.WithheldSecurity))
	}
}
