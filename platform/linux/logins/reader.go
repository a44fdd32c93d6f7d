// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package logins reads on Linux what tells who logged in and who tried: the journal or, where there is
// none, the files of syslog; wtmp and btmp; and the local accounts with their keys.
package logins

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/journald"
	"sentinel/platform/linux/utmp"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/localtime"
)

// A Reader reads below a root directory.
type Reader struct {
	root   string
	runner sysexec.Runner   // nil where no program may be run: the journal is not read
	now    func() time.Time // in the zone of the machine, in which files of syslog have their times
}

var _ logins.Source = (*Reader)(nil)

// New returns the Reader for root; "/" is the live system. The journal is read with runner.
func New(root string, runner sysexec.Runner, now func() time.Time) *Reader {
	zone := sync.OnceValue(func() *time.Location { return localtime.Zone(root) })
	return &Reader{root, runner, func() time.Time { return now().In(zone()) }}
}

func (r *Reader) path(name string) string { return filepath.Join(r.root, name) }

// Log implements [logins.Source]. The journal knows who wrote each line; so it comes first. What it
// lacks because it does not reach back far enough, or is no longer written, files of syslog tell.
func (r *Reader) Log(ctx context.Context, since time.Time) (logins.Log, error) {
	log, span, journalErr := r.journal(ctx, since)
	if journalErr == nil && !log.From.After(since) && !r.writtenAfter(span) {
		return log, nil
	}
	files, fileErr := r.files(since)
	switch {
	case journalErr == nil && fileErr == nil:
		return joined(log, files, span), nil
	case journalErr == nil:
		return log, nil
	case fileErr == nil:
		if !hostfile.Missing(journalErr) {
			files.Notes.Add("journal", journalErr)
		}
		return files, nil
	}
	records, recordErr := r.btmp(since)
	if recordErr == nil {
		return records, nil
	}
	for _, err := range []error{journalErr, fileErr, recordErr} {
		if !hostfile.Missing(err) {
			return logins.Log{}, err
		}
	}
	return logins.Log{}, errors.New("there is neither a journal nor a log of syslog here")
}

// writtenAfter reports whether a file of syslog was written to after the journal had ended, as where
// journald only forwards (Storage=none of journald.conf(5)).
func (r *Reader) writtenAfter(span journald.Span) bool {
	return slices.ContainsFunc(logFiles, func(name string) bool {
		file, err := hostfile.Stat(r.path(name))
		return err == nil && file.Modified.After(span.Begins) && span.Lacks(file.Modified)
	})
}

// joined adds to a journal what files have of the time that it lacks.
func joined(journal, files logins.Log, span journald.Span) logins.Log {
	var lacking []logins.Line
	for _, l := range files.Lines {
		if span.Lacks(l.At) {
			lacking = append(lacking, l)
		}
	}
	reachesBack := !files.From.IsZero() && files.From.Before(journal.From)
	if len(lacking) == 0 && !reachesBack {
		return journal
	}
	journal.Name += " and " + files.Name
	if reachesBack {
		journal.From = files.From
	}
	journal.Lines, journal.Anybody = append(journal.Lines, lacking...), true
	journal.Notes = append(journal.Notes, files.Notes...)
	return journal
}

const (
	btmpFile = "/var/log/btmp"
	// maxRecords bounds how many records of btmp are read, the last of them: the names that machines
	// on the internet try in a week or more.
	maxRecords = 20_000
)

// btmp reads failed logins from the records of lastb(1), which name no service but the terminal.
func (r *Reader) btmp(since time.Time) (logins.Log, error) {
	list, from, notes, err := r.records(btmpFile, "failures", since, maxRecords)
	if err != nil {
		return logins.Log{}, err
	}
	log := logins.Log{Name: btmpFile, From: from, Notes: notes}
	for _, rec := range r.attempts(list) {
		log.Events = append(log.Events, logins.Failure(rec.At, rec.Service(), rec.User, rec.From))
	}
	return log, nil
}

// records reads the last records of a file and of those that were rotated from it and written to since a moment, at
// most limit in all. from is the time of the first where there are more. What is damaged or not read is noted at a
// field. Where the file is missing, the error stands beside what was rotated from it.
func (r *Reader) records(name, field string, since time.Time, limit int) (list []utmp.Record, from time.Time, notes logins.Notes, err error) {
	full, err := r.backwards(name, field, since, &notes, func(file string) (bool, error) {
		earlier, damaged, more, err := utmp.Tail(r.path(file), runtime.GOARCH, limit-len(list))
		noteDamaged(&notes, field, file, damaged)
		list = append(earlier, list...)
		return more, err
	})
	if full {
		from = r.first(list)
	}
	return list, from, notes, err
}

// backwards has a file of records read, and those that were rotated from it and written to since a moment, the newest
// first, until read says that not all was. What cannot be read after the first is noted at a field. Where the file is
// missing, the error is returned in the end.
func (r *Reader) backwards(name, field string, since time.Time, notes *logins.Notes, read func(file string) (more bool, err error)) (more bool, err error) {
	files, missing := r.rotated(name)
	for i, info := range files {
		if i > 0 && info.ModTime().Before(since) {
			break
		}
		file := filepath.Join(filepath.Dir(name), info.Name())
		packed, err := hostfile.IsPacked(file)
		if packed || err != nil {
			err = hostfile.ErrPacked
		} else {
			more, err = read(file)
		}
		switch {
		case err != nil && i == 0 && missing == nil:
			return false, err
		case err != nil:
			notes.Note(field, info.Name()+" is not read: "+hostfile.Reason(err).Error())
			return false, missing
		case more:
			return true, missing
		}
	}
	return false, missing
}

func noteDamaged(notes *logins.Notes, field, file string, damaged int) {
	if damaged > 0 {
		notes.Note(field, fmt.Sprintf("%s has %d records that are damaged, or of another kind of machine", file, damaged))
	}
}

// first is since when records are all that there are, where others before them were not read.
func (r *Reader) first(list []utmp.Record) time.Time {
	if len(list) == 0 {
		return r.now()
	}
	return list[0].At
}
