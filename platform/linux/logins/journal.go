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
	"slices"
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
	maxJournal   = 48 << 20        // bytes of output: an entry takes some 600
	maxEntry     = 32 << 10        // bytes of one: journalctl prints no field of more than 4 KiB, which has 24 when escaped
	maxComplaint = 64 << 10        // bytes of what journalctl says of its own troubles
	journalLimit = 9 * time.Second // with twice the next one, and the last, within what a part of the answer may take
	usersLimit   = 2 * time.Second
	screenLimit  = time.Second
	dropsLimit   = time.Second / 2
	maxDrops     = 10 // units of which it is said
)

// journal reads the lines of the journal, and of which time it tells. The error is fs.ErrNotExist where
// the machine has none, and fs.ErrPermission where this user would see only lines of their own.
func (r *Reader) journal(ctx context.Context, since time.Time) (logins.Log, journald.Span, error) {
	if r.runner == nil {
		return logins.Log{}, journald.Span{}, fs.ErrNotExist
	}
	j := journald.Journal{Root: r.root, Runner: r.runner}
	span, err := j.Span()
	if err != nil {
		return logins.Log{}, span, err
	}
	log, err := r.entries(ctx, since, span.Begins)
	for _, hole := range j.Holes(since, r.now()) {
		log.Notes.Note("failures", "of the journal, "+hole.String())
	}
	if err == nil {
		noteDropped(ctx, j, &log, since)
	}
	span.Begins = log.From
	return log, span, err
}

// loginUnits are how the names of units begin in which logins are told of: sshd is in its own, and sudo and su
// where the user is, who may run them in a job.
var loginUnits = []string{"ssh", "session-", "user@", "cron", "atd"}

// noteDropped says which lines of such units the journal never had.
func noteDropped(ctx context.Context, j journald.Journal, log *logins.Log, since time.Time) {
	ctx, cancel := context.WithTimeout(ctx, dropsLimit)
	defer cancel()
	dropped, err := j.Dropped(ctx, since, time.Time{}, "")
	if err != nil {
		log.Notes.Note("failures", "whether messages of the journal were dropped is not known: "+err.Error())
	}
	dropped = slices.DeleteFunc(dropped, func(d journald.Drop) bool {
		return !slices.ContainsFunc(loginUnits, func(begin string) bool { return strings.HasPrefix(d.Unit, begin) })
	})
	for i, d := range dropped {
		if i == maxDrops {
			log.Notes.Note("failures", fmt.Sprintf("of the journal, messages of %d more units are missing", len(dropped)-i))
			break
		}
		log.Notes.Note("failures", "of the journal, "+d.String())
	}
}

// entries reads the lines of a journal that begins at a time.
func (r *Reader) entries(ctx context.Context, since, begins time.Time) (logins.Log, error) {
	names, err := accounts.Read(r.root)
	if err != nil {
		return logins.Log{}, err
	}
	log := logins.Log{Name: "journal", From: begins}
	lines, from, err := r.matching(ctx, &log, since, bound{maxRootLines, journalLimit}, matchOf(true))
	if err != nil {
		return logins.Log{}, err
	}
	if from.After(log.From) {
		log.From = from
	}
	log.Lines = append(proven(lines, names), r.ofScreens(ctx, &log, since, names)...)
	log.Lines = append(log.Lines, r.ofUsers(ctx, &log, since, names)...)
	unproven, err := r.unproven(ctx, &log, since, usersLimit, names)
	if err != nil {
		log.Notes.Note("failures", "those that root wrote in another way: "+err.Error())
	}
	if len(unproven) > 0 {
		log.Notes.Note("failures", fmt.Sprintf("of %d lines that were written as root, nothing shows that sshd or another program of logins wrote them: failures among them have no address, and logins and changes of accounts are left out", len(unproven)))
	}
	log.Lines = append(log.Lines, unproven...)
	return log, nil
}

// ofUsers reads what sudo, su and passwd say. Every user can write such lines, and has nothing else untold by them.
func (r *Reader) ofUsers(ctx context.Context, log *logins.Log, since time.Time, names accounts.Names) []logins.Line {
	var matches []string
	for _, program := range byUsers {
		matches = append(matches, "SYSLOG_IDENTIFIER="+program)
	}
	entries, from, err := r.matching(ctx, log, since, bound{maxUserLines, usersLimit}, matches)
	switch {
	case err != nil:
		log.Notes.Note("failures", "those of sudo, su and passwd: "+err.Error())
	case from.After(since):
		log.Notes.Note("failures", "those of sudo, su and passwd before "+from.UTC().Format(time.RFC3339)+" are more than is read")
	}
	return linesOf(entries, names)
}

// ofScreens reads the logins that GDM tells of in the group of who logged in. Apart, since a user may find a way to
// fill their bound.
func (r *Reader) ofScreens(ctx context.Context, log *logins.Log, since time.Time, names accounts.Names) (list []logins.Line) {
	entries, from, err := r.matching(ctx, log, since, bound{maxUserLines, screenLimit}, ofScreens())
	switch {
	case err != nil:
		log.Notes.Note("last_logins", "logins of GDM: "+err.Error())
	case from.After(since):
		log.Notes.Note("last_logins", "logins of GDM before "+from.UTC().Format(time.RFC3339)+" are more than is read")
	}
	for _, e := range entries {
		if l, ok := e.line(names); ok && e.gid != 0 && !l.Doubtful {
			list = append(list, l)
		}
	}
	return list
}

// unproven reads the newest lines of root of which nothing shows that their program wrote them: a user had another
// program write them, or the program had ended before journald looked.
func (r *Reader) unproven(ctx context.Context, log *logins.Log, since time.Time, limit time.Duration, names accounts.Names) (list []logins.Line, err error) {
	entries, _, err := r.matching(ctx, log, since, bound{maxUserLines, limit}, matchOf(false))
	for _, l := range linesOf(entries, names) {
		certain := l
		certain.Doubtful = false
		if _, tells := logins.Parse(certain); l.Doubtful && tells {
			list = append(list, l)
		}
	}
	return list, err
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
		"--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_UID,_GID,_AUDIT_LOGINUID,_SYSTEMD_OWNER_UID,_EXE,_PID",
	}, slices.Concat(journald.Journal{Root: r.root}.Namespaces(), matches)...)
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
	program, text string // anybody can send these
	uid, gid      int    // -1 if unknown
	login, owner  int    // see [journald.Writer]
	exe           string // the file that ran; empty if that had ended before journald looked
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
			GID        string          `json:"_GID"`
			Login      string          `json:"_AUDIT_LOGINUID"`
			Owner      string          `json:"_SYSTEMD_OWNER_UID"`
			Exe        json.RawMessage `json:"_EXE"` // may hold any bytes
			PID        string          `json:"_PID"`
			Time       string          `json:"__REALTIME_TIMESTAMP"`
		}
		if json.Unmarshal(line, &e) != nil {
			list = append(list, journalEntry{uid: -1})
			continue
		}
		entry := journalEntry{program: fieldText(e.Identifier), text: fieldText(e.Message), uid: userID(e.UID, -1), gid: userID(e.GID, -1), login: userID(e.Login, 0), owner: userID(e.Owner, 0), exe: fieldText(e.Exe)}
		entry.pid, _ = strconv.Atoi(e.PID) //nolint:errcheck // 0 is unknown
		if micros, err := strconv.ParseInt(e.Time, 10, 64); err == nil {
			entry.at = time.UnixMicro(micros)
		}
		list = append(list, entry)
	}
	return list
}

// userID reads the ID of a user or a group, which is unknown for anything else.
func userID(text string, unknown int) int {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 1<<32-1 { // the last one is nobody's
		return unknown
	}
	return int(n)
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
