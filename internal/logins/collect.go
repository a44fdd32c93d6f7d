// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/deadline"
	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
	"sentinel/internal/timespec"
)

// partLimit is how long one part may take before the answer goes without it: homes may lie on a file
// server that does not answer.
const partLimit = 15 * time.Second

// Options control a report.
type Options struct {
	Since, Now time.Time
	// State is the file that keeps accounts and keys for the next run; "" is none.
	State string
}

// DefaultRows are how many rows each list has.
const DefaultRows = 10

// Collect reads and reports. Lists have all their rows; [Report.Cut] shortens them. What could not
// be read is a gap.
func Collect(ctx context.Context, source Source, o Options) (*Report, error) {
	r := &Report{Since: timespec.Format(o.Since), Unavailable: answer.Gaps{}}
	var log part[Log]
	var past part[[]Record]
	var accounts part[[]Account]
	var all sync.WaitGroup
	all.Go(func() {
		log.read(ctx, func(ctx context.Context) (Log, Notes, error) { l, err := source.Log(ctx, o.Since); return l, nil, err })
	})
	all.Go(func() { past.read(ctx, source.Past) })
	all.Go(func() { accounts.read(ctx, source.Accounts) })
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	events := r.take(log.value, log.err, o)
	r.judge(events, names(accounts.value, accounts.err), o.Now, log.err == nil)
	if log.err == nil || past.err == nil {
		r.list(events, past.value)
	}
	if past.err == nil {
		r.UseRecords(past.value)
	}
	if log.err == nil || accounts.err == nil {
		r.account(events, accounts.value, o.Since)
	}
	if accounts.err == nil {
		r.key(accounts.value, o.Since)
	}
	r.Unavailable.Add("last_logins", past.err)
	r.Unavailable.Add("accounts", accounts.err)
	r.Unavailable = append(append(r.Unavailable, past.notes...), accounts.notes...)
	switch {
	case o.State == "":
	case accounts.err != nil:
		r.Unavailable.Note("new", "accounts are not known")
	default:
		r.compareAndKeep(o.State, accounts.value, o.Now)
	}
	return r, nil
}

// A part of a report, which does not keep the others from being read.
type part[T any] struct {
	value T
	notes Notes
	err   error
}

func (p *part[T]) read(ctx context.Context, source func(context.Context) (T, Notes, error)) {
	found, err := deadline.Call(ctx, partLimit, func(ctx context.Context) (part[T], error) {
		value, notes, err := source(ctx)
		return part[T]{value, notes, err}, err
	})
	*p = found
	p.err = err
}

// names returns the names of local accounts; nil if they are not known.
func names(list []Account, err error) map[string]bool {
	if err != nil {
		return nil
	}
	known := map[string]bool{}
	for _, a := range list {
		known[a.Name] = true
	}
	return known
}

// take takes the events from a log, oldest first. Those without a time, or from the future, which a
// record of another machine or a damaged one may have, are left out and counted.
func (r *Report) take(log Log, err error, o Options) []Event {
	if err != nil {
		r.Unavailable.Add("failures", err)
		r.Unavailable = append(r.Unavailable, log.Notes...)
		return nil
	}
	events := slices.Clone(log.Events)
	for _, l := range log.Lines {
		if e, ok := Parse(l); ok {
			events = append(events, e)
		}
	}
	all := len(events)
	latest := o.Now.Add(time.Minute)
	events = slices.DeleteFunc(events, func(e Event) bool { return e.At.IsZero() || e.At.After(latest) })
	if n := all - len(events); n > 0 {
		r.Unavailable.Note("failures", fmt.Sprintf("%d records have a time that cannot be", n))
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return e.At.Before(o.Since) })
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	r.Source, r.AnybodyWrites = log.Name, log.Anybody
	if log.From.After(o.Since) {
		r.Unavailable.Note("failures", "what "+log.Name+" had of the time before "+timespec.Format(log.From)+" was rotated away, or is more than is read")
	}
	r.Unavailable = append(r.Unavailable, log.Notes...)
	return events
}

// matched is how far apart two records of one login may be; last(1) knows the minute alone.
const matched = time.Minute

// list makes the list of logins: of what was logged, and of the records that this has no line for,
// which reach further back and hold only logins with a terminal. A record that any user can have had written says
// nothing of what was logged.
func (r *Report) list(events []Event, records []Record) {
	var logged []Login
	for _, e := range events {
		if e.kind == succeeded {
			logged = append(logged, Login{User: userText(e.User), At: timespec.Format(e.At), From: addressText(e.From), Service: e.Service, Method: sanitize.Text(e.Method, 32), at: e.At})
		}
	}
	used := make([]bool, len(logged))
	claims := 0
	for _, rec := range records {
		one := Login{User: userText(rec.User), At: timespec.Format(rec.At), From: addressText(rec.From), Terminal: sanitize.Text(rec.Terminal, 32), Until: timespec.Format(rec.Until), Claimed: rec.Anybody, at: rec.At}
		if rec.Anybody {
			claims++
		} else if at := find(logged, used, one); at >= 0 {
			used[at] = true
			logged[at].Terminal, logged[at].Until, logged[at].From = one.Terminal, one.Until, cmp.Or(logged[at].From, one.From)
			continue
		}
		r.Last = append(r.Last, one)
	}
	if claims > 0 {
		r.Unavailable.Note("last_logins", fmt.Sprintf("%d logins are only claimed: programs that any user can run record such at pseudo-terminals, with any address", claims))
	}
	r.Last = slices.Concat([]Login{}, logged, r.Last)
	slices.SortStableFunc(r.Last, func(a, b Login) int { return b.at.Compare(a.at) })
	r.LastTotal = new(len(r.Last))
	r.Last = share(r, r.Last, maxRanked, Login.owner)
}

// find returns the index of the logged login, of a list that is sorted by time, that a record is about,
// or -1.
func find(logged []Login, used []bool, rec Login) int {
	first, _ := slices.BinarySearchFunc(logged, rec.at.Add(-matched), func(l Login, t time.Time) int { return l.at.Compare(t) })
	for i := first; i < len(logged) && !logged[i].at.After(rec.at.Add(matched)); i++ {
		l := logged[i]
		if !used[i] && l.User == rec.User && (l.From == rec.From || l.From == "" || rec.From == "") {
			return i
		}
	}
	return -1
}

// account lists the changes of accounts since a moment, newest first.
func (r *Report) account(events []Event, accounts []Account, since time.Time) {
	r.Changes = []Change{}
	for _, e := range slices.Backward(events) {
		if e.kind == changed {
			r.Changes = append(r.Changes, Change{userText(e.User), sanitize.Text(e.Detail, 64), timespec.Format(e.At), e.At})
		}
	}
	for _, a := range accounts {
		logged := slices.ContainsFunc(r.Changes, func(c Change) bool { return c.User == userText(a.Name) })
		if !logged && !a.PasswordSet.IsZero() && a.PasswordSet.Add(24*time.Hour).After(since) { // shadow(5) knows only the day
			r.Changes = append(r.Changes, Change{userText(a.Name), "created, or password changed, on that day", timespec.Format(a.PasswordSet), a.PasswordSet})
		}
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int { return b.at.Compare(a.at) })
	r.ChangesTotal = new(len(r.Changes))
}

// key lists the keys in files that were changed since a moment, newest first.
func (r *Report) key(accounts []Account, since time.Time) {
	r.Keys = []Key{}
	for _, a := range accounts {
		for _, k := range a.Keys {
			if !k.changed.Before(since) {
				r.Keys = append(r.Keys, k)
			}
		}
	}
	slices.SortStableFunc(r.Keys, func(a, b Key) int { return b.changed.Compare(a.changed) })
	r.KeysTotal = new(len(r.Keys))
}

// UseSessions sets who is on from the model of what carries sessions, which is nil if that is not known.
func (r *Report) UseSessions(model *sessions.Model) {
	r.Sessions, r.SessionsTotal = nil, nil
	if model == nil {
		return
	}
	r.Sessions = []Session{}
	for _, s := range model.Sessions {
		r.Sessions = append(r.Sessions, Session{
			User: userText(s.User), From: addresses(s.From...), Terminal: sanitize.Text(s.Terminal, 32), Since: timespec.Format(s.Since), Local: s.Local,
			Own: map[sessions.Ownership]string{sessions.Own: "yes", sessions.PossiblyOwn: "possibly"}[s.Whose],
		})
	}
	r.SessionsTotal = new(len(r.Sessions))
	for _, why := range model.Unseen {
		r.Unavailable.Note("sessions", why)
	}
}

// UseRecords sets who is on from the records of logins, where nothing better is known.
func (r *Report) UseRecords(records []Record) {
	r.Sessions = []Session{}
	for _, rec := range records {
		if rec.Open {
			r.Sessions = append(r.Sessions, Session{User: userText(rec.User), From: addresses(rec.From), Terminal: sanitize.Text(rec.Terminal, 32), Since: timespec.Format(rec.At)})
		}
	}
	r.SessionsTotal = new(len(r.Sessions))
}

func addresses(list ...netip.Addr) (texts []string) {
	for _, a := range list {
		if a.IsValid() && len(texts) < maxTried {
			texts = append(texts, addressText(a))
		}
	}
	return texts
}

// Cut leaves each list at most rows; 0 is all.
func (r *Report) Cut(rows int) {
	if r.Intrusions == nil {
		r.Intrusions = []Intrusion{}
	}
	if rows <= 0 {
		return
	}
	r.Intrusions = cut(r, r.Intrusions, rows)
	r.Sessions = share(r, r.Sessions, rows, func(s Session) string { return ownerOf(s.User) })
	r.ByAddress = cut(r, r.ByAddress, rows)
	r.ByUser = cut(r, r.ByUser, rows)
	r.Last = share(r, r.Last, rows, Login.owner)
	r.Changes = share(r, r.Changes, rows, func(c Change) string { return ownerOf(c.User) })
	r.Keys = share(r, r.Keys, rows, Key.owner)
	if r.New != nil {
		r.New.Accounts, r.New.Gone, r.New.Admins = cut(r, r.New.Accounts, rows), cut(r, r.New.Gone, rows), cut(r, r.New.Admins, rows)
		r.New.Keys = share(r, r.New.Keys, rows, Key.owner)
	}
}

func cut[T any](r *Report, list []T, rows int) []T {
	if len(list) > rows {
		r.Truncated = true
		return list[:rows]
	}
	return list
}

// share is cut for lists that a user can fill with rows of their own (see [answer.Share]).
func share[T any](r *Report, list []T, rows int, owner func(T) string) []T {
	if len(list) <= rows {
		return list // nil stays nil, which is unknown
	}
	r.Truncated = true
	picked, _ := answer.Share(list, rows, owner)
	return picked
}

// ownerOf is whose share of the rows something of a user takes: root has no more of them than others, for programs log
// in as root by the hundred.
func ownerOf(user string) string { return "user " + user }

// ownerOfLogin gives what a user may only claim a share of its own.
func ownerOfLogin(user string, claimed bool) string {
	if claimed {
		return "claims of " + user
	}
	return ownerOf(user)
}

func (l Login) owner() string { return ownerOfLogin(l.User, l.Claimed) }

func (k Key) owner() string { return ownerOf(k.User) }

// Newest returns so many logins, newest first, of each user at most a quarter while others wait.
func Newest(list []Login, rows int) []Login {
	picked, _ := answer.Share(list, rows, Login.owner)
	return picked
}
