// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"bytes"
	"time"

	"sentinel/internal/logins"
	"sentinel/platform/unix/hostfile"
)

// Bounds of what is read for [Reader.Lately]: it belongs to a question that is asked every minute.
const (
	maxLately     = 1024     // records of btmp
	maxLatelyFile = 64 << 10 // bytes of a file of syslog
)

// A Lately is how many logins have failed since a moment. Where there were more than is read, it counts
// those that were read.
type Lately struct {
	Failures  int
	ByAddress map[string]int // of those that came from one
}

// Lately counts failed logins from the end of btmp, and from that of a file of syslog where nothing is
// in btmp: a server that takes only keys writes there alone. It runs no program. The error is that of
// btmp where both are missing.
func (r *Reader) Lately(since time.Time) (Lately, error) {
	list, _, _, err := r.records(btmpFile, "", maxLately)
	found := Lately{ByAddress: map[string]int{}}
	for _, rec := range list {
		if !rec.At.Before(since) && !rec.At.After(r.now().Add(time.Minute)) {
			found.count(logins.Failure(rec.At, rec.Service(), rec.User, rec.From))
		}
	}
	if found.Failures > 0 {
		return found, nil
	}
	for _, name := range logFiles {
		raw, before, fileErr := hostfile.Tail(r.path(name), maxLatelyFile)
		if fileErr != nil {
			continue
		}
		err = nil
		events := logins.Failures(r.latelyLines(raw, before > 0, since))
		for _, e := range events {
			found.count(e)
		}
		break
	}
	return found, err
}

// latelyLines parses the lines of sshd that may tell of a failure, which are few even where somebody guesses.
func (r *Reader) latelyLines(raw []byte, cut bool, since time.Time) (list []logins.Line) {
	for line := range bytes.Lines(raw) {
		if cut || !bytes.Contains(line, []byte(" sshd")) {
			cut = false
			continue
		}
		if l, ok := parseSyslog(line, r.now()); ok && !l.At.Before(since) {
			list = append(list, l)
		}
	}
	return list
}

func (l *Lately) count(e logins.Event) {
	l.Failures += e.Count
	if e.From.IsValid() {
		l.ByAddress[e.From.String()] += e.Count
	}
}
