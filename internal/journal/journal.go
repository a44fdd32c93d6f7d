// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the record of every write that sentinel makes on this
// machine: what was about to be done, for whom and why, on disk before it is done, and what
// came of it.
//
// Each record is one line of JSON that carries the SHA-256 hash of the line
// before it and its own, so that a line that was changed, moved, put in or taken out is found.
// The newest sequence number and hash, the head, are kept in another directory and sent to syslog:
// without them nobody would notice that the end was cut off. Whoever is root can rewrite journal
// and head together; only what syslog sent to another machine shows that.
//
// A journal that was tampered with stays in use, because the owner of a machine
// under attack must be able to act; the next record says for ever what was found.
package journal

import (
	"context"
	"errors"
	"time"
)

// DefaultDir is where the journal is, and DefaultHeadDir where its head is.
const (
	DefaultDir     = "/var/log/sentinel"
	DefaultHeadDir = "/var/lib/sentinel"
)

const (
	maxFile = 8 << 20 // bytes after which a file is set aside
	// A file that was set aside goes when there are more than maxKept and it is older
	// than keepFor, or all of them are larger than maxTotal: else whoever may make many
	// records could push out those of what he did before.
	maxKept  = 8
	maxTotal = 256 << 20 // bytes
	keepFor  = 30 * 24 * time.Hour
	patience = 10 * time.Second
)

// A Journal is one journal on disk. It is safe for concurrent use, by other
// processes too.
type Journal struct {
	// Announce is told each new head after it was written. New makes it send
	// the head to syslog; nil tells nobody, as a test must.
	Announce func(context.Context, Head)

	dir, headDir string
	now          func() time.Time
	maxFile      int64
	maxKept      int
	maxTotal     int64
	keepFor      time.Duration
	patience     time.Duration // how long to wait for another process
}

// New returns the journal in dir with its head in headDir. Nothing is opened or
// made before the first use.
func New(dir, headDir string) *Journal {
	return &Journal{
		Announce: toSyslog, dir: dir, headDir: headDir,
		now: time.Now, maxFile: maxFile, maxKept: maxKept, maxTotal: maxTotal, keepFor: keepFor, patience: patience,
	}
}

// An Intent is a write that is about to happen. Its texts are made safe to show
// and cut, and secrets in them hidden, before they are recorded.
type Intent struct {
	Tool      string
	Arguments map[string]any
	Reason    string
	Who       Who
	Program   Program
}

// An Entry is an intent on disk that waits for its outcome.
type Entry struct {
	journal *Journal
	seq     uint64
	done    bool
}

// Begin records an intent. When it returns without an error, the intent is on
// disk and the write may happen; otherwise nothing was recorded. The error is JOURNAL_FAILED,
// RATE_LIMITED when limit (which may be nil) allows no more, or that of ctx when it ended first.
func (j *Journal) Begin(ctx context.Context, intent Intent, limit *Limit) (*Entry, error) {
	seq, err := j.append(ctx, intent.record(), limit)
	if err != nil {
		return nil, err
	}
	return &Entry{journal: j, seq: seq}, nil
}

// Seq returns the number of the intent's record, by which the journal and syslog
// name it.
func (e *Entry) Seq() uint64 { return e.seq }

// Finish records what came of the intent. That ctx ended does not stop it: the
// write has happened. The error is JOURNAL_FAILED; the intent shows as unknown then. Finish may
// be called once.
func (e *Entry) Finish(ctx context.Context, outcome Outcome) error {
	if e.done {
		return errors.New("the entry has its outcome already")
	}
	e.done = true
	_, err := e.journal.append(context.WithoutCancel(ctx), outcome.record(e.seq), nil)
	return err
}
