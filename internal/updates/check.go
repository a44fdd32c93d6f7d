// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/progress"
	"sentinel/internal/sanitize"
)

// DefaultLimit is how many rows each list holds unless the caller lengthens it.
const DefaultLimit = 50

// maxText caps a text from the host, in characters.
const maxText = 100

// Options control an answer.
type Options struct {
	Limit int       // rows of each list; 0 means all
	Brief bool      // each update once, and within 8 KB
	Now   time.Time // the time to which ages are counted
}

// Errors that leave the age of the package lists unknown.
var (
	errNoTime = errors.New("nothing here says when the package lists were refreshed")
	errFuture = errors.New("the package lists are dated in the future; the clock was wrong then, or is now")
)

// Check finds the pending updates of this machine. It fails if the package manager
// cannot be asked at all; anything else that is missing is in Unavailable. With up
// to DefaultLimit rows the document stays under 20 KB: lists are cut further if
// necessary.
func Check(ctx context.Context, source Source, o Options) (Report, error) {
	progress.Say(ctx, 5, "reading the package lists")
	pending, err := source.Pending(ctx)
	if err != nil {
		return Report{}, err
	}
	r := Report{Manager: pending.Manager, Busy: pending.busy(), Unavailable: answer.Gaps{}}
	r.pending(pending)
	r.none(pending, o.Now)
	r.age(pending.Refreshed, o.Now)
	progress.Say(ctx, 70, "looking whether a reboot is due")
	r.reboot(source.Reboot(ctx))
	r.version(source.OSVersion(ctx))
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	most, names := budget, []string(nil)
	if o.Brief {
		most, names = briefBudget, r.brief()
	}
	r.cut(o.Limit, most, names)
	return r, nil
}

// busy is nil where it is not known whether another program uses the manager.
func (p Pending) busy() *bool {
	if slices.ContainsFunc(p.Gaps, func(g answer.Gap) bool { return g.Field == BusyField }) {
		return nil
	}
	return &p.Busy
}

func (r *Report) pending(p Pending) {
	r.Unavailable = append(r.Unavailable, p.Gaps...)
	if p.Unknown != nil {
		r.Unavailable.Add("info.updates", p.Unknown)
		return
	}
	r.updates(p.Updates)
	if p.Security != nil {
		r.security(p.Security)
	}
	if p.Withheld != nil {
		r.withheld(p.Withheld)
	}
	if p.Extra != nil {
		r.Installs, r.Removes = &p.Extra.Installs, &p.Extra.Removes
	}
}

// updates sorts security updates first, because they must not be cut.
func (r *Report) updates(list []Package) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Package) int {
		return cmp.Or(cmp.Compare(urgency(a.Security), urgency(b.Security)), cmp.Compare(a.Name, b.Name))
	})
	r.UpdatesTotal = new(len(list))
	r.Info.UpdatesAvailable = new(len(list) > 0)
	r.Info.Updates, r.Packages = make([]string, len(list)), make([]Row, len(list))
	for i, p := range list {
		row := Row{
			Name: sanitize.Text(p.Name, maxText), Security: p.Security, Origin: sanitize.Text(p.Origin, maxText),
			Current: sanitize.Text(p.Current, maxText), Candidate: sanitize.Text(p.Candidate, maxText),
			Label: sanitize.Text(p.Label, maxText), Restart: p.Restart,
		}
		r.Packages[i], r.Info.Updates[i] = row, row.text()
	}
}

// none leaves open whether an update is available where the lists have none and that shows nothing.
func (r *Report) none(p Pending, now time.Time) {
	if r.Info.UpdatesAvailable == nil || *r.Info.UpdatesAvailable {
		return
	}
	if err := p.doubt(now); err != nil {
		r.Info.UpdatesAvailable = nil
		r.Unavailable.Add("info.updates_available", err)
	}
}

// brief names each update once, with all that is known of it but its origin: those for security apart,
// where the manager lists them as packages, and the others in the short answer. It returns the bare
// names of those apart.
func (r *Report) brief() (names []string) {
	var others, apart []string
	for _, row := range r.Packages {
		if row.Security != nil && *row.Security {
			apart, names = append(apart, row.told()), append(names, row.Name)
		} else {
			others = append(others, row.told())
		}
	}
	r.Packages = nil
	if len(names) == 0 || len(names) != len(r.SecurityUpdates) {
		copy(r.Info.Updates, slices.Concat(apart, others))
		return nil
	}
	r.Info.Updates, r.SecurityUpdates = append([]string{}, others...), apart
	return names
}

func urgency(security *bool) int {
	if security != nil && *security {
		return 0
	}
	return 1
}

func (r Row) text() string {
	if r.Candidate == "" {
		return r.Name
	}
	if r.Current == "" {
		return r.Name + " → " + r.Candidate
	}
	return r.Name + " " + r.Current + " → " + r.Candidate
}

// told is the text of a row with what else it says of the update.
func (r Row) told() string {
	text := r.text()
	if r.Restart != nil && *r.Restart {
		text += ", restarts"
	}
	if r.Label != "" && r.Label != r.Name {
		text += ", label: " + r.Label
	}
	return text
}

func (r *Report) security(names []string) {
	r.SecurityTotal = new(len(names))
	r.SecurityUpdates = make([]string, len(names))
	for i, name := range names {
		r.SecurityUpdates[i] = sanitize.Text(name, maxText)
	}
	slices.Sort(r.SecurityUpdates)
}

func (r *Report) withheld(list []Withheld) {
	counts, secure, unsure := map[string]int{}, 0, 0
	r.Withheld = make([]WithheldRow, len(list))
	for i, w := range list {
		counts[w.Reason]++
		r.Withheld[i] = WithheldRow{
			Name: sanitize.Text(w.Name, maxText), Reason: w.Reason,
			Current: sanitize.Text(w.Current, maxText), Candidate: sanitize.Text(w.Candidate, maxText),
			Security: w.Security,
		}
		switch {
		case w.Security == nil:
			unsure++
		case *w.Security:
			secure++
		}
	}
	slices.SortStableFunc(r.Withheld, func(a, b WithheldRow) int {
		return cmp.Or(cmp.Compare(urgency(a.Security), urgency(b.Security)), cmp.Compare(a.Name, b.Name))
	})
	r.Held, r.Phased, r.KeptBack = new(counts[Held]), new(counts[Phased]), new(counts[KeptBack])
	r.withheldSecurity(secure, unsure)
}

// withheldSecurity counts the security updates that are withheld: they can be had, although updating
// everything would not install them. Of a manager that never tells them apart nothing is said again.
func (r *Report) withheldSecurity(secure, unsure int) {
	if r.SecurityTotal != nil && unsure > 0 {
		r.Unavailable.Add("withheld_security", errUnsure(unsure))
	}
	if secure > 0 || unsure == 0 {
		r.WithheldSecurity = &secure
	}
	if secure > 0 {
		r.Info.UpdatesAvailable = new(true)
	}
}

func (r *Report) age(refreshed, now time.Time) {
	switch {
	case refreshed.IsZero():
		r.Unavailable.Add("info.last_checked", errNoTime)
	case inFuture(refreshed, now):
		r.Unavailable.Add("info.last_checked", errFuture)
	default:
		r.Info.LastChecked = refreshed.UTC().Format(time.RFC3339)
		r.ListAgeSeconds = new(max(0, int64(now.Sub(refreshed).Seconds())))
	}
}

func (r *Report) reboot(b Reboot, err error) {
	if err != nil {
		r.Unavailable.Add("reboot_required", err)
		return
	}
	r.RebootRequired = &b.Due
	if b.Due {
		r.RebootReason = sanitize.Text(b.Reason, 3*maxText)
	}
}

func (r *Report) version(name string, err error) {
	if err == nil && name == "" {
		err = errors.New("not provided by this system")
	}
	r.Unavailable.Add("info.os_version", err)
	r.Info.OSVersion = sanitize.Text(name, maxText)
}
