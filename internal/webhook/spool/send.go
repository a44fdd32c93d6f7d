// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"sentinel/internal/answer"
	"sentinel/internal/lockfile"
	"sentinel/internal/webhook"
)

// A Deliverer sends one document; *[webhook.Client] is one.
type Deliverer interface {
	Deliver(ctx context.Context, d webhook.Document) webhook.Result
}

// Sent is the outcome for a document and for those that waited before it.
type Sent struct {
	// Result is that of the document itself or, if its turn did not come, of the one
	// before it.
	webhook.Result
	Kept     bool // it waits to be sent again
	ByOther  bool // another process has sent it
	Earlier  int  // waiting documents that were delivered now
	Waiting  int  // documents that still wait
	Dropped  int  // documents dropped because they were too old or too many
	Damaged  int  // documents quarantined because their files are damaged
	Unwanted int  // documents quarantined because the receiver refused them
	// Partials are what the receiver did not take of documents that it has now, the first ones.
	Partials []string
	Gaps     answer.Gaps
}

// Send stores a document, then delivers all that wait, oldest first. A document that
// cannot be stored is delivered once, and lost if that fails.
func (s *Spool) Send(ctx context.Context, d webhook.Document, to Deliverer) Sent {
	own, err := s.put(d)
	if err != nil {
		return s.sendUnkept(ctx, d, to, err)
	}
	release, err := s.lock(ctx)
	if err != nil {
		return s.leaveQueued(own, err)
	}
	defer release()
	f := flush{spool: s, own: own, document: d, to: to}
	f.run(ctx)
	return f.sent
}

// sendUnkept delivers a document that cannot be stored. On a full disk, waiting
// documents go first as always: that frees space.
func (s *Spool) sendUnkept(ctx context.Context, d webhook.Document, to Deliverer, why error) Sent {
	f := flush{spool: s, document: d, to: to}
	f.sent.Gaps.Note("spool", "it cannot be used: "+why.Error())
	if errors.Is(why, syscall.ENOSPC) || errors.Is(why, syscall.EDQUOT) {
		f.drain(ctx)
	}
	if f.sent.Reason == "" { // no waiting document has failed
		f.sent.Result = to.Deliver(ctx, d)
		f.sent.notePartial(f.sent.Result)
	}
	return f.sent
}

// leaveQueued ends without the lock: another process is sending, and sends this
// document too if it has time.
func (s *Spool) leaveQueued(own entry, err error) Sent {
	sent := Sent{Kept: true, Result: webhook.Result{Reason: "is being sent to by another run"}}
	switch busy := (lockfile.BusyError{}); {
	case errors.As(err, &busy):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		sent.Reason = "was not asked before this run was stopped"
	default:
		sent.Reason = "was not asked, because the lock of the spool cannot be had: " + err.Error()
	}
	left, dropped, err := s.enforceBounds(own)
	sent.Gaps.Add("spool", err)
	sent.Dropped, sent.Waiting = dropped, len(left)
	if err != nil || holds(left, own) {
		return sent
	}
	sent.Kept = false
	if result, known := s.fate(own); known {
		sent.ByOther, sent.Result = true, result
	}
	return sent
}

// holds finds a document by its ID: its file may have a new time.
func holds(list []entry, own entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.id == own.id })
}

// lock keeps other processes from sending until release is called.
func (s *Spool) lock(ctx context.Context) (release func(), err error) {
	return lockfile.Exclude(ctx, filepath.Join(s.dir, lockName), s.lockTimeout)
}

// A flush sends what waits, with the lock held.
type flush struct {
	spool    *Spool
	own      entry
	document webhook.Document
	to       Deliverer
	sent     Sent
}

// drain sends the waiting documents before one that cannot be stored.
func (f *flush) drain(ctx context.Context) {
	release, err := f.spool.lock(ctx)
	if err != nil {
		f.sent.Gaps.Add("spool", err)
		return
	}
	defer release()
	waiting, err := f.spool.list()
	f.sent.Gaps.Add("spool", err)
	f.deliverInOrder(ctx, waiting)
	left, err := f.spool.list()
	f.sent.Gaps.Add("spool", err)
	f.sent.Waiting = len(left)
}

// run enforces the bounds after sending: documents that are too old or too many
// still get a last attempt.
func (f *flush) run(ctx context.Context) {
	s, sent := f.spool, &f.sent
	sent.Gaps.Add("spool.leftovers", s.removeLeftovers())
	before, err := s.list()
	sent.Gaps.Add("spool", err)
	if err == nil && !holds(before, f.own) {
		sent.Result, sent.ByOther = s.fate(f.own)
	}
	f.deliverInOrder(ctx, before)
	left, dropped, err := s.enforceBounds(f.own)
	sent.Gaps.Add("spool", err)
	sent.Dropped = dropped
	if !holds(left, f.own) && sent.Attempts == 0 && !sent.ByOther {
		sent.Result = f.to.Deliver(ctx, f.document) // it was dropped, or its file is damaged; by another run, too
		sent.notePartial(sent.Result)
	}
	sent.Kept, sent.Waiting = holds(left, f.own), len(left)
}

// deliverInOrder delivers the waiting documents until the receiver is not reached.
func (f *flush) deliverInOrder(ctx context.Context, waiting []entry) {
	for _, e := range waiting {
		d, err := f.spool.read(e)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f.quarantineDamaged(e, err)
			continue
		}
		r := f.to.Deliver(ctx, d)
		f.settle(e, r)
		if r.Verdict == webhook.Unreached {
			if f.sent.Verdict == webhook.Unreached { // else the own document came before this one
				f.sent.Result = r
			}
			return
		}
	}
}

// quarantineDamaged takes a damaged file out of the queue, so that it does not hold
// up the others.
func (f *flush) quarantineDamaged(e entry, err error) {
	f.sent.Damaged++
	f.sent.Gaps.Note("spool", e.name()+" was set aside: "+err.Error())
	f.sent.Gaps.Add("spool", f.spool.quarantine(e, corrupt))
}

// maxPartials bounds what is told of documents that arrived in part.
const maxPartials = 3

func (s *Sent) notePartial(r webhook.Result) {
	if r.Partial != "" && len(s.Partials) < maxPartials && !slices.Contains(s.Partials, r.Partial) {
		s.Partials = append(s.Partials, r.Partial)
	}
}

// settle takes an entry out of the queue when its receiver accepted or refused it.
func (f *flush) settle(e entry, r webhook.Result) {
	mine := e.id == f.own.id
	if mine {
		f.sent.Result = r
	}
	switch r.Verdict {
	case webhook.Delivered:
		f.sent.notePartial(r)
		if mine {
			f.sent.Gaps.Add("spool", f.spool.remove(e))
			return
		}
		f.sent.Earlier++
		f.sent.Gaps.Add("spool", f.spool.removeArrived(e))
	case webhook.Refused:
		if !mine {
			f.sent.Unwanted++
		}
		f.sent.Gaps.Add("spool", f.spool.quarantine(e, refused))
	}
}
