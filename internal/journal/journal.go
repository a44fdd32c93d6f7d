// SPDX-License-Identifier: Apache-2.0

// Package journal records every change that sentinel makes to this machine: what
// was about to be done, for whom and why, on disk before it is done, and the outcome.
//
// Each record is a line of JSON with the SHA-256 hash of the previous line and its
// own, so that a changed, moved, inserted or removed line is found (chain.go). The newest
// sequence number and hash, the head, are kept in another directory and sent to syslog, which
// shows when the end was cut off (head.go, syslog.go). Root can rewrite journal and head
// together; only a syslog on another machine reveals that.
//
// The current file is renamed when it is large, and rotated files are removed when they
// are old (rotate.go). After a crash the next append repairs what was left unfinished
// (recover.go). History and Verify read a snapshot and do not hold up writers (snapshot.go).
//
// A journal that was tampered with stays in use, because the owner of a machine
// under attack must be able to act; the next record keeps what was found.
package journal

import (
	"context"
	"errors"
	"time"
)

// Default directories of the journal and of its head.
const (
	DefaultDir     = "/var/log/sentinel"
	DefaultHeadDir = "/var/lib/sentinel"
)

const (
	maxFile = 8 << 20 // bytes after which a file is rotated
	// A rotated file is removed when there are more than maxKept and either it is
	// older than keepFor or all together are larger than maxTotal. Otherwise
	// somebody could make many records to push out those of an earlier action.
	maxKept     = 8
	maxTotal    = 256 << 20 // bytes
	keepFor     = 30 * 24 * time.Hour
	lockTimeout = 10 * time.Second
)

// A Journal is one journal on disk. It is safe for concurrent use, by other
// processes too.
type Journal struct {
	// Announce is called with each new head after it was written. New sets it to
	// send the head to syslog; tests set it to nil.
	Announce func(context.Context, Announcement)

	dir, headDir string
	now          func() time.Time
	maxFile      int64
	maxKept      int
	maxTotal     int64
	keepFor      time.Duration
	lockTimeout  time.Duration // for other processes
}

// New returns the journal in dir with its head in headDir. Nothing is opened or
// created before the first use.
func New(dir, headDir string) *Journal {
	return &Journal{
		Announce: toSyslog, dir: dir, headDir: headDir,
		now: time.Now, maxFile: maxFile, maxKept: maxKept, maxTotal: maxTotal, keepFor: keepFor, lockTimeout: lockTimeout,
	}
}

// An Intent is a change that is about to happen. Its texts are sanitized and
// truncated, and secrets in them hidden, before they are recorded.
type Intent struct {
	Tool      string
	Arguments map[string]any
	Reason    string
	Who       Who
	Program   Program
}

// Results of a change.
const (
	Done       = "done"
	Failed     = "failed"
	Pending    = "pending"     // the system is still working on it
	RolledBack = "rolled_back" // interrupted and undone
)

// An Outcome is how a change ended.
type Outcome struct {
	Result string // Done, Failed, Pending or RolledBack
	Code   string // error code of a failure
	Detail string
}

// An Entry is an intent on disk that waits for its outcome.
type Entry struct {
	journal *Journal
	seq     uint64
	routine bool
	done    bool
}

// Begin records an intent. If it returns no error, the intent is on disk and the
// change may happen; otherwise nothing was recorded. The error is JOURNAL_FAILED, RATE_LIMITED
// when limit (which may be nil) is reached, or that of ctx when it ended first.
//
// The heads of a report and of its success are not announced, so that what a timer does every few
// minutes does not fill syslog. The next announced head covers them: each hash includes all before.
func (j *Journal) Begin(ctx context.Context, intent Intent, limits ...*Limit) (*Entry, error) {
	head, err := j.appendRecord(ctx, intent.record(), limits, intent.Tool != routineTool)
	if err != nil {
		return nil, err
	}
	return &Entry{journal: j, seq: head.Seq, routine: intent.Tool == routineTool}, nil
}

// Seq returns the sequence number of the intent's record, as in the journal and in
// syslog.
func (e *Entry) Seq() uint64 { return e.seq }

// Finish records the outcome of the intent, even if ctx has ended: the change has
// happened. The error is JOURNAL_FAILED; the history then shows the action as unknown. Finish
// may be called once.
func (e *Entry) Finish(ctx context.Context, outcome Outcome) error {
	if e.done {
		return errors.New("the entry already has an outcome")
	}
	e.done = true
	_, err := e.journal.appendRecord(context.WithoutCancel(ctx), outcome.record(e.seq), nil, !e.routine || outcome.Result != Done)
	return err
}
