// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/privilege"
	"sentinel/internal/services"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/journald"
	"sentinel/platform/linux/procfs"
)

// maxWriters bounds the users whose lines are read, since journalctl looks for each of them at every entry.
const maxWriters = 200

// errUnreadable says that no line may mean that none may be read: journalctl is silent about it.
var errUnreadable = errors.New("no line of it can be read without root or the group systemd-journal")

// Log implements [services.Manager]. Processes of users are in the control group of a service that runs commands for
// them, as cron does. What they wrote fills what the service leaves of the lines: it may be as much as they like.
func (m *manager) Log(ctx context.Context, u services.Unit, since time.Time, lines int) ([]services.LogLine, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	names, _ := accounts.Read(m.root) //nolint:errcheck // without them, users have numbers
	l := logReader{
		journal: journald.Journal{Root: m.root, Runner: m.runner}, query: journald.Query{Unit: u.Name, Since: since, Priority: -1},
		writers: writers{names, m.procfs, u.User}, lines: lines,
	}
	users := l.divide(ctx)
	err := l.read(ctx)
	if err == nil && len(l.own) < lines && len(users) > 0 {
		l.query.UIDs, l.query.NoUID, l.query.Last = users, false, lines
		err = l.read(ctx)
	}
	found := append(l.own, l.foreign[:min(len(l.foreign), lines-len(l.own))]...)
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b services.LogLine) int { return a.At.Compare(b.At) })
	if err == nil && len(found) == 0 {
		err = ctx.Err()
		if err == nil && !privilege.IsRoot() {
			err = errUnreadable
		}
	}
	return found, err
}

// A logReader reads the last lines about a unit, the newest first.
type logReader struct {
	journal      journald.Journal
	query        journald.Query
	writers      writers
	lines        int // wanted
	own, foreign []services.LogLine
}

// divide asks for what the service and the system wrote alone, and returns the users who wrote besides. Where these
// are not known, everything is read, and each entry judged as well.
func (l *logReader) divide(ctx context.Context) (users []int) {
	uids, err := l.journal.UIDs(ctx)
	if err != nil {
		return nil
	}
	for _, uid := range uids {
		if l.writers.foreign(uid) != "" {
			users = append(users, uid)
		} else {
			l.query.UIDs = append(l.query.UIDs, uid)
		}
	}
	if len(users) == 0 {
		l.query.UIDs = nil
		return nil
	}
	l.query.UIDs, l.query.NoUID = slices.Compact(append([]int{0}, l.query.UIDs...)), true
	return users[:min(len(users), maxWriters)]
}

func (l *logReader) read(ctx context.Context) error {
	_, err := l.journal.Read(ctx, l.query, func(e *journald.Entry) bool {
		who := l.writers.of(e)
		line := services.LogLine{At: time.UnixMicro(e.Realtime), Text: lineOf(e, who), Foreign: who != ""}
		switch {
		case line.Text == "":
		case !line.Foreign:
			l.own = append(l.own, line)
		case len(l.foreign) < l.lines:
			l.foreign = append(l.foreign, line)
		}
		return len(l.own) < l.lines
	})
	return err
}

// lineOf is what an entry says, after who says so: a program chooses that, and only process 1 is the service manager.
func lineOf(e *journald.Entry, user string) string {
	text := strings.TrimSpace(string(e.Message))
	if text == "" {
		return ""
	}
	if identifier := strings.TrimSpace(string(e.Identifier)); identifier != "" {
		text = identifier + ": " + text
	}
	switch {
	case user != "":
		return "(user " + user + ") " + text
	case e.PID != 1 && (strings.HasPrefix(text, "systemd:") || strings.HasPrefix(text, "systemd[")):
		return fmt.Sprintf("(PID %d) %s", e.PID, text)
	}
	return text
}

// writers tells what a service wrote from what users did.
type writers struct {
	names accounts.Names
	users procfs.FS
	own   string // user of the service
}

// of names the user who wrote an entry; "" for the system and the service. One that is so long that its user is cut
// off is none of the system's.
func (w writers) of(e *journald.Entry) string {
	if e.UID < 0 && e.Cut {
		return "unknown"
	}
	return w.foreign(e.User())
}

// foreign names an ordinary user; "" for whom the service runs as, and for all others.
func (w writers) foreign(uid int) string {
	name := w.names.Name(uid)
	if !w.users.OrdinaryUser(uid) || w.own == name || w.own == strconv.Itoa(uid) {
		return ""
	}
	return name
}
