// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/logins"
	"sentinel/platform/unix/hostfile"
)

const (
	maxLogFile = 16 << 20 // bytes of a file of syslog, the last of them
	maxLogLine = 8 << 10  // bytes; sshd writes at most one kilobyte
	maxLines   = 100_000
	// Of what was rotated, and how much of a compressed file is unpacked, in bytes.
	maxNames    = 2000 // in their directory
	maxRotated  = 30
	maxUnpacked = 64 << 20
)

// logFiles are where syslog writes what concerns logins: on Debian, on Red Hat, and on Alpine and SUSE, which have
// one file for everything.
var logFiles = []string{"/var/log/auth.log", "/var/log/secure", "/var/log/messages"}

// files reads lines from the files of syslog. Any user can have written them: syslog(3) takes the name
// of a program from whoever calls it.
func (r *Reader) files(since time.Time) (logins.Log, error) {
	err := error(fs.ErrNotExist)
	for _, name := range logFiles {
		log, fileErr := r.file(name, since)
		if fileErr == nil {
			return log, nil
		}
		if !hostfile.Missing(fileErr) {
			err = fileErr
		}
	}
	return logins.Log{}, err
}

// file reads one, and what was rotated from it as far as it takes to reach back to a moment. The time at which a
// file was last written to says how far that is: dates in it are what senders say.
func (r *Reader) file(name string, since time.Time) (logins.Log, error) {
	files, err := r.rotated(name)
	if err != nil {
		return logins.Log{}, err
	}
	log := logins.Log{Name: name, Anybody: true}
	skipped := 0
	for i, info := range files {
		if i > 0 && info.ModTime().Before(since) {
			log.From = info.ModTime()
			break
		}
		p, err := r.part(name, info.Name(), since)
		if err != nil && i == 0 {
			return logins.Log{}, err
		}
		if err != nil {
			log.Notes.Note("failures", info.Name()+" is not read: "+hostfile.Reason(err).Error())
			log.From = cmp.Or(log.From, r.now())
			break
		}
		log.Lines, log.From, skipped = append(p.lines, log.Lines...), cmp.Or(p.from, log.From), skipped+p.skipped
		if p.cut && !p.from.After(since) {
			log.Notes.Note("failures", fmt.Sprintf("only the last %d MB of %s are read; that what was before is older is told by dates, which senders choose", maxLogFile>>20, info.Name()))
		}
		if p.cut || len(log.Lines) >= maxLines {
			break
		}
	}
	if skipped > 0 {
		log.Notes.Note("failures", fmt.Sprintf("%d lines of %s are too long, or have no time that can be read", skipped, name))
	}
	if more := len(log.Lines) - maxLines; more > 0 {
		log.Lines = log.Lines[more:]
		log.From = r.beginning(log.Lines)
	}
	return log, nil
}

// rotated lists a file of syslog and what was rotated from it, the newest first.
func (r *Reader) rotated(name string) ([]fs.FileInfo, error) {
	files, err := hostfile.Rotated(filepath.Dir(r.path(name)), path.Base(name), maxNames, maxRotated)
	if err == nil && (len(files) == 0 || files[0].Name() != path.Base(name)) {
		err = fs.ErrNotExist
	}
	return files, err
}

// A part is what was read of one file.
type part struct {
	lines   []logins.Line // since a moment, as they stand
	from    time.Time     // since when nothing is missing in it; zero if it is empty
	cut     bool          // only its last bytes were read
	skipped int           // lines that could not be read
}

// part reads a file of syslog, or one that was rotated from it.
func (r *Reader) part(log, name string, since time.Time) (part, error) {
	raw, cut, err := tail(filepath.Dir(r.path(log)), name)
	if err != nil {
		return part{}, err
	}
	p := part{cut: cut}
	p.lines, p.skipped = parseFile(raw, cut, r.now())
	switch {
	case cut:
		p.from = r.beginning(p.lines)
	case len(p.lines) > 0:
		p.from = p.lines[0].At
	}
	p.lines = slices.DeleteFunc(p.lines, func(l logins.Line) bool { return l.At.Before(since) })
	return p, nil
}

// firstLines is of how many lines the latest date says since when there are all: one may have any.
const firstLines = 500

// beginning returns since when there are all of lines before which others were not read: now, if there are none.
func (r *Reader) beginning(lines []logins.Line) time.Time {
	return cmp.Or(r.latestOf(lines[:min(len(lines), firstLines)]), r.now())
}

// latestOf returns the latest date of lines that is not in the future, or the zero time.
func (r *Reader) latestOf(lines []logins.Line) (latest time.Time) {
	for _, l := range lines {
		if l.At.After(latest) && !l.At.After(r.now()) {
			latest = l.At
		}
	}
	return latest
}

// tail returns the last bytes of a file of syslog, unpacked, and whether there are more before them.
func tail(dir, name string) (raw []byte, cut bool, err error) {
	packed, err := hostfile.IsPacked(name)
	if err != nil {
		return nil, false, err
	}
	if !packed {
		raw, before, err := hostfile.Tail(filepath.Join(dir, name), maxLogFile)
		return raw, before > 0, err
	}
	file, err := hostfile.OpenBelow(dir, name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close() //nolint:errcheck // only read from
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, false, err
	}
	return lastOf(z)
}

// lastOf is [hostfile.Tail] of a stream.
func lastOf(stream io.Reader) (raw []byte, cut bool, err error) {
	bounded := &io.LimitedReader{R: stream, N: maxUnpacked}
	for block := make([]byte, 64<<10); ; {
		n, err := bounded.Read(block)
		raw = append(raw, block[:n]...)
		if len(raw) > 2*maxLogFile {
			raw, cut = append(raw[:0], raw[len(raw)-maxLogFile:]...), true
		}
		switch {
		case bounded.N <= 0:
			return nil, false, fmt.Errorf("it has more than %d MB unpacked", maxUnpacked>>20)
		case errors.Is(err, io.EOF):
			return raw[max(0, len(raw)-maxLogFile):], cut || len(raw) > maxLogFile, nil
		case err != nil:
			return nil, false, err
		}
	}
}

// syslogLine is the form of a line: the time as syslog(3) has it, or as RFC 3339, then the host, the
// program, its PID and the text. rsyslog writes control characters as #012. BusyBox has the facility and the severity
// before the program.
var syslogLine = lazyregexp.New(`^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) \S+ (?:[a-z]+[0-7]?\.[a-z]+ )?([^\s:\[]+)(?:\[(\d+)\])?: (.*)$`)

// parseFile returns the lines, oldest first as they stand, and how many could not be read. The first
// is left out where the file was cut within it.
func parseFile(raw []byte, cut bool, now time.Time) (list []logins.Line, skipped int) {
	for line := range bytes.Lines(raw) {
		if cut {
			cut = false
			continue
		}
		l, ok := parseSyslog(line, now)
		if !ok {
			skipped++
			continue
		}
		list = append(list, l)
	}
	return list, skipped
}

func parseSyslog(line []byte, now time.Time) (logins.Line, bool) {
	if len(line) > maxLogLine {
		return logins.Line{}, false
	}
	m := syslogLine.Get().FindSubmatch(bytes.TrimRight(line, "\n"))
	if m == nil {
		return logins.Line{}, false
	}
	at, ok := syslogTime(string(m[1]), now)
	pid, _ := strconv.Atoi(string(m[3])) //nolint:errcheck // 0 is unknown
	return logins.Line{At: at, Program: string(m[2]), Text: string(m[4]), PID: pid}, ok
}

// syslogTime reads a time. The old form has no year: it is the last such day, and a few hours ahead are
// those of a clock that was set back.
func syslogTime(text string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	// With the year before the text, the 29th of February is a day in leap years.
	for _, year := range []int{now.Add(24 * time.Hour).Year(), now.Add(24*time.Hour).Year() - 1} {
		t, err := time.ParseInLocation("2006 Jan _2 15:04:05", strconv.Itoa(year)+" "+text, now.Location())
		if err == nil && !t.After(now.Add(24*time.Hour)) {
			return t, true
		}
	}
	return time.Time{}, false
}
