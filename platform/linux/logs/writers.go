// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"time"

	"sentinel/internal/logs"
	"sentinel/platform/linux/journald"
)

// usersLog is the name, in answers, of what users wrote into the journal.
const usersLog = "journal of users"

// maxWriters bounds the users whose entries are read, since journalctl looks for each of them at every entry.
const maxWriters = 200

// divide asks for what the system wrote, so that no number and no size of entries of users takes its time;
// these are for later. Where no user wrote any, that is everything.
func (p *pass) divide(ctx context.Context, j journald.Journal) journald.Query {
	s := p.selection
	q := journald.Query{Unit: s.Unit, Since: s.Since, Until: until(s), Priority: s.Priority}
	if s.Unit == journald.Kernel {
		return q
	}
	uids, err := j.UIDs(ctx)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			p.gap(journalLog, fmt.Sprintf("what users wrote is not read apart, and may take the time of the rest: %v", err))
		}
		return q
	}
	p.ofUsers = slices.DeleteFunc(slices.Clone(uids), func(uid int) bool { return !p.accounts.OrdinaryUser(uid) })
	if len(p.ofUsers) > 0 {
		own := slices.DeleteFunc(uids, func(uid int) bool { return uid == 0 || p.accounts.OrdinaryUser(uid) })
		q.UIDs, q.NoUID = append([]int{0}, own...), true
	}
	return q
}

// until is the end of what is read of the journal: zero for now, since what the clock was ahead for is dated later.
func until(s logs.Selection) time.Time {
	if s.UntilNow {
		return time.Time{}
	}
	return s.Until
}

// users reads what users wrote into the journal.
func (p *pass) users(ctx context.Context) {
	uids := p.accountsFirst(p.ofUsers)
	if more := len(uids) - maxWriters; more > 0 {
		p.failed(usersLog, fmt.Errorf("%d user IDs wrote into it, and what %d of them wrote is not read", len(uids), more))
		uids = uids[:maxWriters]
	}
	s := p.selection
	switch {
	case len(uids) == 0:
	case !p.wanted || ctx.Err() != nil:
		p.gap(usersLog, "not read: the bounds of one call were reached before")
	default:
		log, err := p.share(ctx, usersLog, journald.Query{Unit: s.Unit, Since: s.Since, Until: until(s), Priority: s.Priority, UIDs: uids})
		if err == nil {
			p.c.Logs = append(p.c.Logs, log)
		}
	}
}

// accountsFirst puts subordinate IDs last: any user may have written as thousands of them.
func (p *pass) accountsFirst(uids []int) []int {
	subordinate := func(uid int) bool { return p.accounts.UserOf(uid) != uid }
	own := slices.DeleteFunc(slices.Clone(uids), subordinate)
	return append(own, slices.DeleteFunc(slices.Clone(uids), func(uid int) bool { return !subordinate(uid) })...)
}

// share reads a part of the journal. The error is journald.ErrNone; others are gaps.
func (p *pass) share(ctx context.Context, name string, q journald.Query) (logs.Log, error) {
	log := logs.Log{Name: name}
	notes, err := p.source.journal().Read(ctx, q, func(e *journald.Entry) bool {
		user, of := p.writer(e, name)
		if !of {
			return true
		}
		log.Entries++
		log.ReadBackTo = e.Time()
		return p.yield(p.entry(e, user))
	})
	if errors.Is(err, journald.ErrNone) {
		return log, err
	}
	log.Stopped = !p.wanted || ctx.Err() != nil
	p.c.Incomplete = p.c.Incomplete || err != nil || len(notes) > 0
	for _, text := range notes {
		if gap := (logs.Gap{Log: journalLog, Why: text}); !slices.Contains(p.c.Gaps, gap) {
			p.c.Gaps = append(p.c.Gaps, gap)
		}
	}
	if err != nil {
		p.gap(name, fmt.Sprintf("%v: it may be damaged, and the %d entries before that are here; check it with: journalctl --verify", err, log.Entries))
	}
	return log, nil
}

// maxDrops bounds how many units are named whose messages were dropped.
const maxDrops = 10

// dropped says which messages the journal never had: a user's job of cron can use up the rate limit of cron.service
// and have root's errors dropped. Units of users, of which these may have any number, come last.
func (p *pass) dropped(ctx context.Context) {
	s := p.selection
	list, err := p.source.journal().Dropped(ctx, s.Since, until(s), s.Unit)
	if err != nil {
		p.failed(journalLog, fmt.Errorf("whether messages were dropped is not known: %w", err))
	}
	slices.SortStableFunc(list, func(a, b journald.Drop) int { return cmp.Compare(ofUsers(a.Unit), ofUsers(b.Unit)) })
	for i, d := range list {
		if i == maxDrops {
			p.gap(journalLog, fmt.Sprintf("messages of %d more units are missing", len(list)-i))
			break
		}
		p.failed(journalLog, errors.New(d.String()))
	}
}

// ofUsers is 1 for a unit of a user, and 0 for others.
func ofUsers(unit string) int {
	if logs.OfUser([]byte(unit)) {
		return 1
	}
	return 0
}

// writer reports whether a user wrote an entry, and whether it is of the part that is read. Audit has entries of
// either, which are asked for twice. What root's programs write for a user stands among those of the system.
func (p *pass) writer(e *journald.Entry, part string) (user, of bool) {
	own := e.UID >= 0 && p.accounts.OrdinaryUser(e.UID)
	user = own || e.User() >= 0 && p.accounts.OrdinaryUser(e.User())
	switch {
	case part == usersLog:
		return true, own || e.UID < 0
	case len(p.ofUsers) > 0:
		return user, !own
	}
	return user || e.UID < 0 && e.Cut, true // no program of the system writes so much at once
}

// entry is what the domain knows of an entry of the journal. One of the system about a process is of that one's user.
func (p *pass) entry(e *journald.Entry, user bool) logs.Entry {
	uid, kind := concerns(e)
	entry := logs.Entry{
		Time: e.Time(), Priority: e.Priority, Unit: e.Unit, Program: e.Identifier, PID: e.PID, User: user || uid >= 0 && p.accounts.OrdinaryUser(uid),
		Text: said(e), Kind: kind, UnitKind: unitKind(e), TooLong: e.TooLong,
	}
	if len(e.Boot) > 0 {
		entry.Boot = maphash.Bytes(p.seed, e.Boot)
	}
	return entry
}
