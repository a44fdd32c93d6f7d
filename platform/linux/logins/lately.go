// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"sentinel/internal/logins"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/journald"
	"sentinel/platform/unix/hostfile"
)

// maxLately is how many failures [Reader.Lately] counts, which is asked every minute, of up to two records of btmp each,
// and how many are enough not to read a file of syslog further back.
const maxLately = 1024

// latelyParts are how many bytes of a file of syslog are read: more where fewer do not reach back, since
// any user can write there. The first is what an hour takes where nobody does.
var latelyParts = []int{64 << 10, 512 << 10, 4 << 20}

// These bound the runs of journalctl for [Reader.Lately], which has three seconds for all.
const (
	latelyLimit   = 2 * time.Second
	unprovenLimit = 500 * time.Millisecond
)

// enough failures in a file of syslog are worth a look into the journal, which knows who wrote them.
const enough = 20

// A Lately is how many logins have failed since a moment. Where there were more than is read, it counts
// those that were read.
type Lately struct {
	Failures  int            // by btmp, where root alone writes, or by what the journal knows the writer of
	ByAddress map[string]int // of those that came from one
	Claimed   int            // in a file of syslog or the journal, where that has more: any user can write there
	File      string         // its name
}

// Lately counts failed logins from the end of btmp and from that of a file of syslog: a server that takes
// only keys writes to the file alone, and a wrong password of su to btmp as well. Where the file has more, and
// many, the journal decides, if it can be read; a program runs for nothing less. The error is that of btmp where
// both are missing, and otherwise says that the file could not be read back to that moment: what was counted,
// which whoever fills the file must not take away, stands beside it.
func (r *Reader) Lately(ctx context.Context, since time.Time) (Lately, error) {
	list, _, _, err := r.records(btmpFile, "", since, 2*maxLately)
	var failures []logins.Event
	for _, rec := range r.attempts(list) {
		if !rec.At.Before(since) && !rec.At.After(r.now().Add(time.Minute)) {
			failures = append(failures, logins.Failure(rec.At, rec.Service(), rec.User, rec.From))
		}
	}
	found := latelyOf(failures[max(0, len(failures)-maxLately):])
	for _, name := range logFiles {
		logged, fileErr := r.logged(name, since)
		if hostfile.Missing(fileErr) {
			continue
		}
		if logged > found.Failures {
			found.Claimed, found.File = logged, name
		}
		if err = fileErr; max(found.Failures, logged) >= maxLately {
			err = nil
		}
		break
	}
	if found.Claimed >= enough || err != nil && !hostfile.Missing(err) {
		if attested, whole, journalErr := r.attested(ctx, since); journalErr == nil {
			found, err = found.beside(attested, whole, err)
		}
	}
	return found, err
}

// beside takes what the journal has, where that is more than btmp has. A journal that has all of the time
// leaves nothing to a file.
func (l Lately) beside(journal Lately, whole bool, err error) (Lately, error) {
	if journal.Failures < l.Failures {
		journal.Failures, journal.ByAddress = l.Failures, l.ByAddress
	}
	if whole {
		return journal, nil
	}
	if l.Claimed > max(journal.Failures, journal.Claimed) {
		journal.Claimed, journal.File = l.Claimed, l.File
	}
	return journal, err
}

// attested counts the failures that programs of logins have written to the journal, beside those of which nothing
// shows that they have, and says whether that tells of all the time.
func (r *Reader) attested(ctx context.Context, since time.Time) (found Lately, whole bool, err error) {
	if r.runner == nil {
		return Lately{}, false, fs.ErrNotExist
	}
	j := journald.Journal{Root: r.root}
	span, err := j.Span()
	if err != nil {
		return Lately{}, false, err
	}
	names, err := accounts.Read(r.root)
	if err != nil {
		return Lately{}, false, err
	}
	var log logins.Log
	entries, from, err := r.matching(ctx, &log, since, bound{maxRootLines, latelyLimit}, matchOf(true))
	if err != nil {
		return Lately{}, false, err
	}
	failures := logins.Failures(proven(entries, names))
	found = latelyOf(failures[max(0, len(failures)-maxLately):])
	whole = found.Failures >= maxLately ||
		!span.Begins.After(since) && !from.After(since) && !r.writtenAfter(span) && len(log.Notes) == 0 && len(j.Holes(since, r.now())) == 0
	unproven, unread := r.unproven(ctx, &log, since, unprovenLimit, names)
	if more := latelyOf(logins.Failures(unproven)).Failures; more > 0 {
		found.Claimed, found.File = found.Failures+more, "the journal"
	}
	return found, whole && unread == nil, nil
}

func latelyOf(failures []logins.Event) Lately {
	l := Lately{ByAddress: map[string]int{}}
	for _, e := range failures {
		l.Failures += e.Count
		if e.From.IsValid() {
			l.ByAddress[e.From.String()] += e.Count
		}
	}
	return l
}

// logged counts the failures in a file of syslog. Lines that are old end the search no earlier than where it ends
// anyhow: for 64 KB of them, any user needs eight lines.
func (r *Reader) logged(name string, since time.Time) (found int, err error) {
	var raw []byte
	for _, limit := range latelyParts {
		var cut bool
		raw, cut, err = r.latest(name, limit, since)
		found = max(found, latelyOf(logins.Failures(r.latelyLines(raw, cut, since))).Failures)
		if err != nil || !cut || found >= maxLately {
			return found, err
		}
	}
	first, _ := parseFile(raw[:min(len(raw), latelyParts[0])], true, r.now())
	if !r.beginning(first).Before(since) {
		err = fmt.Errorf("the last %d MB of %s do not reach back to %s; %d are in them",
			latelyParts[len(latelyParts)-1]>>20, name, since.UTC().Format(time.RFC3339), found)
	}
	return found, err
}

// latest reads the end of a file of syslog, and, where the file began since, that of the one that was
// rotated from it.
func (r *Reader) latest(name string, limit int, since time.Time) (raw []byte, cut bool, err error) {
	raw, before, err := hostfile.Tail(r.path(name), limit)
	if err != nil || before > 0 {
		return raw, before > 0, err
	}
	files, err := r.rotated(name)
	if err != nil || len(files) < 2 || files[1].ModTime().Before(since) {
		return raw, false, err
	}
	rotated := files[1].Name()
	if packed, err := hostfile.IsPacked(rotated); packed || err != nil {
		return raw, false, fmt.Errorf("%s is compressed", rotated)
	}
	earlier, before, err := hostfile.Tail(filepath.Join(filepath.Dir(r.path(name)), rotated), limit)
	return append(earlier, raw...), before > 0, err
}

// latelyLines parses the lines of sshd that may tell of a failure, which are few even where somebody guesses.
func (r *Reader) latelyLines(raw []byte, cut bool, since time.Time) (list []logins.Line) {
	for line := range bytes.Lines(raw) {
		if cut || !bytes.Contains(line, []byte(" sshd")) {
			cut = false
			continue
		}
		if at, ok := syslogTime(stampOf(line), r.now()); !ok || at.Before(since) {
			continue // most of four megabytes, without the work of taking them apart
		}
		if l, ok := parseSyslog(line, r.now()); ok {
			list = append(list, l)
		}
	}
	return list
}

// stampOf returns the time of a line of syslog as it stands there.
func stampOf(line []byte) string {
	end := bytes.IndexByte(line, ' ')
	if end < len("2006-01-02") { // of the old form, with blanks in it
		end = min(len(line), len("Jan _2 15:04:05"))
	}
	return string(line[:end])
}
