// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/logins"
	"sentinel/platform/linux/utmp"
	"sentinel/platform/unix/hostfile"
)

const (
	wtmpFile = "/var/log/wtmp"
	// maxPast bounds how many logins are kept, of each user a quarter while there are others: any user can have
	// hundreds of records written each second.
	maxPast = 20_000
	// maxWtmp bounds how many bytes of records are read for them.
	maxWtmp = 256 << 20
	// maxTerminals bounds of how many terminals it is kept when their next record was: those of FTP servers have
	// a name for each login.
	maxTerminals = 1 << 16
)

// Past implements [logins.Source].
func (r *Reader) Past(ctx context.Context) ([]logins.Record, logins.Notes, error) {
	var notes logins.Notes
	p := past{ends: map[string]ends{}}
	left := int64(maxWtmp)
	more, err := r.backwards(wtmpFile, "last_logins", time.Time{}, &notes, func(file string) (bool, error) {
		read, damaged, more, err := utmp.Back(r.path(file), runtime.GOARCH, left, p.take)
		noteDamaged(&notes, "last_logins", file, damaged)
		left -= read
		return more, cmp.Or(err, ctx.Err())
	})
	switch {
	case hostfile.Missing(err):
		notes.Note("last_logins", r.whyNoRecords())
	case err != nil:
		return nil, nil, err
	}
	if more {
		notes.Note("last_logins", "what "+wtmpFile+" had before "+p.first.UTC().Format(time.RFC3339)+" is more than is read, and not counted")
	}
	p.keep(maxPast)
	if p.dropped > 0 {
		notes.Note("last_logins", fmt.Sprintf("%d of the oldest logins of users with very many in %s are not counted", p.dropped, wtmpFile))
	}
	return p.list, notes, nil
}

// whyNoRecords explains a missing wtmp: some systems keep the records in databases.
func (r *Reader) whyNoRecords() string {
	for _, database := range []string{"/var/lib/wtmpdb/wtmp.db", "/var/lib/lastlog/lastlog2.db"} {
		if hostfile.Exists(r.path(database)) {
			return "records of logins are in " + database + ", which is not read; the list is that of the log"
		}
	}
	return "this system keeps no records of logins in " + wtmpFile + "; the list is that of the log"
}

// A past makes logins of records, which it takes from the newest to the oldest.
type past struct {
	list    []logins.Record
	ends    map[string]ends // by terminal
	lost    bool            // of terminals that are not in it nothing is known
	boot    time.Time       // the start of the machine that came next; zero if none did
	first   time.Time       // of the last record that was taken
	dropped int
}

// ends are when a login before would have ended: with the next record of its terminal, and with the next that not
// any user can have had written.
type ends struct{ any, attested time.Time }

// take takes the record before those that were taken.
func (p *past) take(rec utmp.Record) {
	if rec.Type > 0 {
		p.first = rec.At
	}
	switch rec.Type {
	case utmp.BootTime:
		clear(p.ends)
		p.boot, p.lost = rec.At, false
	case utmp.DeadProcess, utmp.UserProcess:
		next := p.next(rec.Terminal)
		if rec.Type == utmp.UserProcess {
			p.add(rec, next)
		}
		next.any = rec.At
		if !rec.Anybody {
			next.attested = rec.At
		}
		if len(p.ends) == maxTerminals {
			clear(p.ends)
			p.lost = true
		}
		p.ends[rec.Terminal] = next
	}
}

func (p *past) next(terminal string) ends {
	next, known := p.ends[terminal]
	if !known && !p.lost {
		next = ends{p.boot, p.boot}
	}
	return next
}

func (p *past) add(rec utmp.Record, next ends) {
	until := next.attested
	if rec.Anybody {
		until = next.any
	}
	p.list = append(p.list, logins.Record{
		User: rec.User, Terminal: rec.Terminal, From: rec.From, At: rec.At, Until: until, Open: until.IsZero() && !p.lost, Anybody: rec.Anybody,
	})
	if len(p.list) >= 2*maxPast {
		p.keep(maxPast)
	}
}

// keep leaves so many logins: those of others stay where one user has very many, and so do those that the user did
// not have written.
func (p *past) keep(most int) {
	if len(p.list) <= most {
		return
	}
	kept, rest := answer.Share(p.list, most, logins.Record.Owner)
	p.list, p.dropped = kept, p.dropped+len(rest)
}
