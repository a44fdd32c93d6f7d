// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"bytes"
	"fmt"
	"io/fs"
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
)

// logFiles are where syslog writes what concerns logins: on Debian, and on Red Hat and SUSE.
var logFiles = []string{"/var/log/auth.log", "/var/log/secure"}

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

// file reads one, and its predecessor where it does not reach back far enough.
func (r *Reader) file(name string, since time.Time) (logins.Log, error) {
	raw, before, err := hostfile.Tail(r.path(name), maxLogFile)
	if err != nil {
		return logins.Log{}, err
	}
	log := logins.Log{Name: name, Anybody: true}
	lines, skipped := parseFile(raw, before > 0, r.now())
	if before == 0 && (len(lines) == 0 || lines[0].At.After(since)) {
		older, cut, err := hostfile.Tail(r.path(name+".1"), maxLogFile)
		if err == nil {
			more, also := parseFile(older, cut > 0, r.now())
			lines, skipped = append(more, lines...), skipped+also
		} else if !hostfile.Missing(err) {
			log.Notes.Add("failures", err)
		}
	}
	if skipped > 0 {
		log.Notes.Note("failures", fmt.Sprintf("%d lines of %s are too long, or have no time that can be read", skipped, name))
	}
	if len(lines) > 0 {
		log.From = lines[0].At
	}
	log.Lines = slices.DeleteFunc(lines, func(l logins.Line) bool { return l.At.Before(since) })
	if more := len(log.Lines) - maxLines; more > 0 {
		log.Lines = log.Lines[more:]
		log.From = log.Lines[0].At
	}
	return log, nil
}

// syslogLine is the form of a line: the time as syslog(3) has it, or as RFC 3339, then the host, the
// program, its PID and the text. rsyslog writes control characters as #012.
var syslogLine = lazyregexp.New(`^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)) \S+ ([^\s:\[]+)(?:\[(\d+)\])?: (.*)$`)

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
