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

// Sent is what became of a document, and of those that waited before it.
type Sent struct {
	// Result is about the document itself or, where it could not be its turn, about
	// the one in front of it.
	webhook.Result
	Kept     bool // it waits for the next time
	ByOther  bool // another run has delivered it
	Earlier  int  // documents from before that were delivered now
	Waiting  int  // documents that wait now
	Dropped  int  // that were too old, or too many
	Damaged  int  // that were set aside, because they are not what was written
	Unwanted int  // that were set aside, because the receiver refused them
	Gaps     answer.Gaps
}

// Send keeps a document, then delivers all that wait, oldest first. When the
// document cannot be kept it is delivered all the same, and gone when that fails.
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

// sendUnkept delivers a document that cannot be kept. On a full disk what waits goes
// first as always: that makes room.
func (s *Spool) sendUnkept(ctx context.Context, d webhook.Document, to Deliverer, why error) Sent {
	f := flush{spool: s, document: d, to: to}
	f.sent.Gaps.Note("spool", "it cannot be used: "+why.Error())
	if errors.Is(why, syscall.ENOSPC) || errors.Is(why, syscall.EDQUOT) {
		f.drain(ctx)
	}
	if f.sent.Reason == "" { // what waits has not failed
		f.sent.Result = to.Deliver(ctx, d)
	}
	return f.sent
}

// leaveQueued ends without the turn to send: another run is at it, and will come to
// this document too if it has the time.
func (s *Spool) leaveQueued(own entry, err error) Sent {
	sent := Sent{Kept: true, Result: webhook.Result{Reason: "is being sent to by another run"}}
	switch busy := (lockfile.BusyError{}); {
	case errors.As(err, &busy):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		sent.Reason = "was not asked before this run was stopped"
	default:
		sent.Reason = "was not asked, because the lock of the spool cannot be had: " + err.Error()
	}
	all, err := s.list()
	sent.Gaps.Add("spool", err)
	if err == nil && !holds(all, own) {
		sent.Kept, sent.ByOther, sent.Result = false, true, webhook.Result{Verdict: webhook.Delivered}
	}
	left, dropped, err := s.enforceBounds(own)
	sent.Gaps.Add("spool", err)
	sent.Dropped, sent.Waiting = dropped, len(left)
	return sent
}

// holds looks for a document by its ID: its file may have got another time.
func holds(list []entry, own entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.id == own.id })
}

// lock keeps others from sending until release is called.
func (s *Spool) lock(ctx context.Context) (release func(), err error) {
	return lockfile.Exclude(ctx, filepath.Join(s.dir, lockName), s.lockTimeout)
}

// A flush is one turn to send, with the lock held.
type flush struct {
	spool    *Spool
	own      entry
	document webhook.Document
	to       Deliverer
	sent     Sent
}

// drain sends what waits, before a document that cannot wait.
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

// run keeps the bounds at its end: what is too old, or too much, is sent all the
// same where the receiver takes it.
func (f *flush) run(ctx context.Context) {
	s, sent := f.spool, &f.sent
	sent.Gaps.Add("spool.leftovers", s.removeLeftovers())
	before, err := s.list()
	sent.Gaps.Add("spool", err)
	if err == nil && !holds(before, f.own) {
		sent.ByOther, sent.Result = true, webhook.Result{Verdict: webhook.Delivered}
	}
	f.deliverInOrder(ctx, before)
	left, dropped, err := s.enforceBounds(f.own)
	sent.Gaps.Add("spool", err)
	sent.Dropped = dropped
	if !holds(left, f.own) && sent.Attempts == 0 && !sent.ByOther {
		sent.Result = f.to.Deliver(ctx, f.document) // there was no room to keep it, or it was damaged
	}
	sent.Kept, sent.Waiting = holds(left, f.own), len(left)
}

// deliverInOrder delivers what waits until the receiver does not answer.
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
			if f.sent.Verdict == webhook.Unreached { // else the own document was before this one
				f.sent.Result = r
			}
			return
		}
	}
}

// quarantineDamaged takes a file that is not what was written out of the line, so that it
// does not hold up the others.
func (f *flush) quarantineDamaged(e entry, err error) {
	f.sent.Damaged++
	f.sent.Gaps.Note("spool", e.name()+" was set aside: "+err.Error())
	f.sent.Gaps.Add("spool", f.spool.quarantine(e, corrupt))
}

// settle takes an entry out of the line when its receiver has it, or does not
// want it.
func (f *flush) settle(e entry, r webhook.Result) {
	mine := e.id == f.own.id
	if mine {
		f.sent.Result = r
	}
	switch r.Verdict {
	case webhook.Delivered:
		if !mine {
			f.sent.Earlier++
		}
		f.sent.Gaps.Add("spool", f.spool.remove(e))
	case webhook.Refused:
		if !mine {
			f.sent.Unwanted++
		}
		f.sent.Gaps.Add("spool", f.spool.quarantine(e, refused))
	}
}
