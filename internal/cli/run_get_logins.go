// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/logins"
	"sentinel/internal/progress"
)

// loginsName is the file with the accounts and keys of the last run, in the state directory.
const loginsName = "logins.json"

// A loginsDocument answers get_logins.
type loginsDocument struct {
	answer.Header
	*logins.Report
}

func formOfLogins(s session, call invocation) error {
	_, err := logins.ParseSince(call.args.Text("since"), s.host.Now())
	return err
}

func runLogins(ctx context.Context, s session, call invocation) (document, error) {
	now := s.host.Now()
	since, err := logins.ParseSince(call.args.Text("since"), now)
	if err != nil {
		return nil, err
	}
	options := logins.Options{Since: since, Now: now, State: s.kept(loginsName)}
	progress.Say(ctx, 5, "reading the records of logins")
	report, err := logins.Collect(ctx, s.host.Logins, options)
	if err != nil {
		return nil, err
	}
	progress.Say(ctx, 70, "looking who is logged in")
	s.addSessions(ctx, report)
	report.Cut(call.capped(logins.DefaultRows))
	s.addStandings(ctx, report)
	d := &loginsDocument{answer.NewHeader(call.op.Action, true), report}
	if call.rows == defaultRows {
		d.fit()
	}
	return d, ctx.Err()
}

// addSessions says who is on, where that can be told better than from the records of logins.
func (s session) addSessions(ctx context.Context, r *logins.Report) {
	if s.host.Sessions == nil {
		return
	}
	model, err := deadline.Call(ctx, partLimit, s.host.Sessions)
	r.Unavailable.Add("sessions", err)
	r.UseSessions(model)
}

// addStandings adds what block_ip_address would say of the addresses that are shown.
func (s session) addStandings(ctx context.Context, r *logins.Report) {
	rows := r.Standings()
	if len(rows) == 0 || s.host.Blocklist.Context == nil {
		return
	}
	list := make([]netip.Addr, 0, len(rows))
	for text := range rows {
		if a, err := netip.ParseAddr(text); err == nil {
			list = append(list, a)
		}
	}
	standings, err := s.blocklist().Standings(ctx, list)
	r.Unavailable.Add("protected", err)
	for a, standing := range standings {
		for _, row := range rows[a.String()] {
			row.Protected, row.Blocked = standing.Refused, standing.Listed
		}
	}
}

// fit shortens all lists until the document keeps its bound.
func (d *loginsDocument) fit() {
	rows := logins.DefaultRows
	fit(d, usualAnswer, func() bool {
		rows--
		d.Cut(rows)
		return rows > 1
	})
}

func (d *loginsDocument) view(p *page) {
	d.verdict(p)
	rows := d.rowsIn(p)
	var on [][]string
	for _, s := range d.Sessions[:min(len(d.Sessions), rows)] {
		from := cmp.Or(strings.Join(s.From, " "), map[bool]string{true: "local"}[s.Local])
		on = append(on, []string{known(s.User), known(from), known(s.Terminal), whenText(s.Since), map[string]string{"yes": "this one", "possibly": "maybe this one"}[s.Own]})
	}
	p.table(titleOf("Logged in", len(on), d.SessionsTotal), []column{{title: "user"}, {title: "from", whole: true}, {title: "at"}, {title: "since"}, {title: ""}}, on)
	var failed [][]string
	for _, a := range d.ByAddress[:min(len(d.ByAddress), rows)] {
		failed = append(failed, []string{a.Address, strconv.Itoa(a.Failures), withMore(a.Users, a.UsersTotal, " "), whenText(a.Last), standingText(a.Standing)})
	}
	p.table(titleOf("Failed", len(failed), d.AddressesTotal), []column{{title: "address", whole: true}, {title: "times", right: true}, {title: "users"}, {title: "last"}, {title: ""}}, failed)
	var last [][]string
	for _, l := range logins.Newest(d.Last, rows) {
		last = append(last, []string{known(l.User), known(l.From), known(cmp.Or(l.Method, l.Service, l.Terminal)), whenText(l.At), map[bool]string{true: "only claimed"}[l.Claimed]})
	}
	p.table(titleOf("Last logins", len(last), d.LastTotal), []column{{title: "user"}, {title: "from", whole: true}, {title: "by"}, {title: "at"}, {title: ""}}, last)
	d.changes(p, rows)
	if p.verbose {
		p.gaps(d.Unavailable)
	} else {
		p.facts(p.unknown(d.Unavailable))
	}
}

// rowsIn is how many rows of each list a page has.
func (d *loginsDocument) rowsIn(p *page) int {
	if p.verbose {
		return max(len(d.Sessions), len(d.ByAddress), len(d.Last), 3*(len(d.Changes)+len(d.Keys)))
	}
	return 3
}

func titleOf(title string, shown int, total *int) string {
	if total != nil && shown < *total {
		return fmt.Sprintf("%s (%d of %d)", title, shown, *total)
	}
	return title
}

func standingText(s logins.Standing) string {
	switch {
	case s.Blocked:
		return "blocked"
	case s.Protected != "":
		return "protected: " + s.Protected
	default:
		return ""
	}
}

func (d *loginsDocument) verdict(p *page) {
	switch {
	case len(d.Intrusions) > 0:
		for _, i := range d.Intrusions {
			p.verdict(severe, "GUESSED", fmt.Sprintf("%s failed %s and then logged in as %s at %s.", i.Address, counted(i.Failures, "time"), i.User, whenText(i.At)))
		}
		d.keepOut(p, d.Intrusions[0].Address, d.Intrusions[0].Standing)
	case d.Failures == nil:
		p.verdict(warn, "UNKNOWN", "Failed logins cannot be seen here.")
	case *d.FailuresLastHour >= logins.Guessing:
		p.verdict(warn, "GUESSING", fmt.Sprintf("%s in the last hour; nobody got in after many.", counted(*d.FailuresLastHour, "failed login")))
		if len(d.ByAddress) > 0 {
			d.keepOut(p, d.ByAddress[0].Address, d.ByAddress[0].Standing)
		}
	default:
		p.verdict(calm, "QUIET", fmt.Sprintf("%s since %s.", counted(*d.Failures, "failed login"), whenText(d.Since)))
	}
	if d.AnybodyWrites {
		p.line("Any user of this machine can write into %s, from which this is.", d.Source)
	}
	if n := d.Unattributed; n > 0 {
		p.line("%s with a name that hides the address.", counted(n, "failed login"))
	}
}

// keepOut writes how to keep an address out, unless that is done or would be refused.
func (d *loginsDocument) keepOut(p *page, address string, s logins.Standing) {
	if s == (logins.Standing{}) {
		p.fix("Keep it out with: sudo sentinel --block-ip " + address)
	}
}

// changes names new accounts and keys.
func (d *loginsDocument) changes(p *page, most int) {
	var lines []string
	if n := d.New; n != nil {
		for title, names := range map[string][]string{"new account ": n.Accounts, "removed account ": n.Gone, "new administrator ": n.Admins} {
			for _, name := range names {
				lines = append(lines, title+name)
			}
		}
		slices.Sort(lines)
		for _, k := range n.Keys {
			lines = append(lines, "new key of "+k.User+": "+k.Fingerprint)
		}
	}
	for _, c := range d.Changes {
		lines = append(lines, c.User+": "+c.What+", "+whenText(c.At))
	}
	for _, k := range d.Keys {
		lines = append(lines, "keys of "+k.User+" changed "+whenText(k.Changed)+": "+k.Fingerprint)
	}
	if len(lines) == 0 {
		return
	}
	p.line("")
	p.line("%s", titleOf("Accounts and keys", min(most, len(lines)), new(len(lines))))
	for _, line := range lines[:min(most, len(lines))] {
		p.item("%s", line)
	}
}
