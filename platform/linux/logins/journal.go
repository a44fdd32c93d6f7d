// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/journald"
)

const (
	journalctl = "/usr/bin/journalctl"
	// Bounds of what is read of the journal: lines of root, which tell of attempts from outside, and
	// those that users make sudo and su write. Apart, so that no user can fill the bound of the others.
	maxRootLines = 40_000
	maxUserLines = 2_000
	maxJournal   = 48 << 20 // bytes of output: an entry takes some 600
	maxEntry     = 32 << 10 // bytes of one: journalctl prints no field of more than 4 KiB, which has 24 when escaped
	maxComplaint = 64 << 10 // bytes of what journalctl says of its own troubles
	journalLimit = 12 * time.Second
	usersLimit   = 2 * time.Second
)

// journal reads the lines of the journal, and of which time it tells. The error is fs.ErrNotExist where
// the machine has none, and fs.ErrPermission where this user would see only lines of their own.
func (r *Reader) journal(ctx context.Context, since time.Time) (logins.Log, journald.Span, error) {
	if r.runner == nil {
		return logins.Log{}, journald.Span{}, fs.ErrNotExist
	}
	j := journald.Journal{Root: r.root}
	span, err := j.Span()
	if err != nil {
		return logins.Log{}, span, err
	}
	log, err := r.entries(ctx, since, span.Begins)
	for _, hole := range j.Holes(since, r.now()) {
		log.Notes.Note("failures", "of the journal, "+hole.String())
	}
	span.Begins = log.From
	return log, span, err
}

// entries reads the lines of a journal that begins at a time.
func (r *Reader) entries(ctx context.Context, since, begins time.Time) (logins.Log, error) {
	names, err := accounts.Read(r.root)
	if err != nil {
		return logins.Log{}, err
	}
	log := logins.Log{Name: "journal", From: begins}
	lines, from, err := r.matching(ctx, &log, since, bound{maxRootLines, journalLimit}, ofRoot())
	if err != nil {
		return logins.Log{}, err
	}
	if from.After(log.From) {
		log.From = from
	}
	ofUsers, from, err := r.matching(ctx, &log, since, bound{maxUserLines, usersLimit}, []string{"SYSLOG_IDENTIFIER=sudo", "SYSLOG_IDENTIFIER=su", "SYSLOG_IDENTIFIER=passwd"})
	switch { // every user can write such lines, and has nothing else untold by them
	case err != nil:
		log.Notes.Note("failures", "those of sudo, su and passwd: "+err.Error())
	case from.After(since):
		log.Notes.Note("failures", "those of sudo, su and passwd before "+from.UTC().Format(time.RFC3339)+" are more than is read")
	}
	log.Lines = append(parseJournal(lines, names, true), parseJournal(ofUsers, names, false)...)
	return log, nil
}

// ofRoot matches what programs of logins have written as root.
func ofRoot() []string {
	matches := []string{"_UID=0"}
	for _, p := range logins.Programs() {
		matches = append(matches, "SYSLOG_IDENTIFIER="+p)
	}
	return matches
}

// A bound is of what is read at once.
type bound struct {
	lines int
	time  time.Duration
}

// matching reads the newest entries that match, and since when they are all, which is zero for always.
func (r *Reader) matching(ctx context.Context, log *logins.Log, since time.Time, most bound, matches []string) (entries []journalEntry, from time.Time, err error) {
	kept := &keeper{}
	problem, err := r.journalctl(ctx, since, most, matches, kept)
	if late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; late && len(kept.lines) > 0 {
		kept.cut, err = true, nil
	}
	if err != nil {
		return nil, from, err
	}
	if problem != "" {
		log.Notes.Note("failures", "journalctl says: "+problem)
	}
	if kept.long > 0 {
		log.Notes.Note("failures", fmt.Sprintf("%d entries of the journal are longer than any of such a program, and left out", kept.long))
	}
	entries = entriesOf(kept.lines)
	if n := len(entries); n > 0 && (kept.cut || n+kept.long >= most.lines) {
		from = entries[n-1].at // newest first
	}
	return entries, from, nil
}

// journalctl prints entries, newest first. Every value follows an equals sign, so that none can be
// taken for an option (journalctl(1)).
func (r *Reader) journalctl(ctx context.Context, since time.Time, most bound, matches []string, to *keeper) (problem string, err error) {
	args := append([]string{
		"--quiet", "--no-pager", "--output=json", "--reverse", "--lines=" + strconv.Itoa(most.lines), fmt.Sprintf("--since=@%d", since.Unix()),
		"--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_UID,_PID",
	}, matches...)
	lines := &sysexec.Lines{Longest: maxEntry, Line: to.line}
	result, err := r.runner.Run(ctx, sysexec.Command{Path: journalctl, Args: args, MaxOutput: maxComplaint, Timeout: most.time, OnStdout: lines.Add})
	if err != nil {
		return "", fmt.Errorf("read the journal: %w", err)
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(result.Stderr)), "\n")
	if result.Exit != 0 && len(to.lines) == 0 {
		return "", fmt.Errorf("read the journal: journalctl ended with status %d: %s", result.Exit, said)
	}
	return said, nil
}

// A keeper keeps lines as they are printed. An entry may hold a thousand messages of 4 KB, and anybody can
// send it: one that no program of the system would write is left out, so that it takes no room from others.
type keeper struct {
	lines []byte // whole ones
	long  int    // lines that were left out
	cut   bool   // there is no room for more
}

// line takes the next line. It is false once no more are wanted.
func (k *keeper) line(line []byte, cut bool) bool {
	switch {
	case cut:
		k.long++
	case len(k.lines)+len(line) >= maxJournal:
		k.cut = true
	default:
		k.lines = append(append(k.lines, line...), '\n')
	}
	return !k.cut
}

// A journalEntry is an entry of the journal.
type journalEntry struct {
	program, text string
	uid           string // as the kernel told; anybody can send the rest
	pid           int
	at            time.Time
}

// entriesOf parses the output of "journalctl --output=json", one object per entry (systemd.io, Journal
// JSON Format). What is no entry stays one without a text.
func entriesOf(raw []byte) (list []journalEntry) {
	for line := range bytes.Lines(raw) {
		var e struct {
			Message    json.RawMessage `json:"MESSAGE"`
			Identifier json.RawMessage `json:"SYSLOG_IDENTIFIER"`
			UID        string          `json:"_UID"`
			PID        string          `json:"_PID"`
			Time       string          `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal(line, &e) != nil {
			list = append(list, journalEntry{})
			continue
		}
		entry := journalEntry{program: fieldText(e.Identifier), text: fieldText(e.Message), uid: e.UID}
		entry.pid, _ = strconv.Atoi(e.PID) //nolint:errcheck // 0 is unknown
		if micros, err := strconv.ParseInt(e.Time, 10, 64); err == nil {
			entry.at = time.UnixMicro(micros)
		}
		list = append(list, entry)
	}
	return list
}

// parseJournal takes the lines of root, or those of all others, with the accounts that these ran for.
func parseJournal(entries []journalEntry, names accounts.Names, root bool) (list []logins.Line) {
	for _, e := range entries {
		uid, err := strconv.Atoi(e.uid)
		if err != nil || (uid == 0) != root || e.text == "" {
			continue
		}
		l := logins.Line{At: e.at, Program: e.program, Text: e.text, PID: e.pid}
		if !root {
			l.By = names.Name(uid)
		}
		list = append(list, l)
	}
	return list
}

// fieldText reads a field: a string, an array of bytes when it is not plain UTF-8, null when it is too
// long. One that repeats, which no program here writes, is none.
func fieldText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var numbers []int // not bytes: those would be text in base64
	if json.Unmarshal(raw, &numbers) != nil {
		return ""
	}
	b := make([]byte, 0, len(numbers))
	for _, n := range numbers {
		b = append(b, byte(n))
	}
	return string(b)
}
