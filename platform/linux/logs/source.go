// SPDX-License-Identifier: Apache-2.0

// Package logs reads the journal of systemd, the files of syslog where there is none, and the files
// that services keep beside either.
package logs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/editdistance"
	"sentinel/internal/logs"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/journald"
	"sentinel/platform/unix/hostfile"
)

// A Source reads the logs of the machine below a root directory.
type Source struct {
	Root   string // "/" on a live system
	Runner sysexec.Runner
	Zone   *time.Location // of the times in files that have none; nil is that of this run

	host []byte // short name of this machine; empty if unknown
}

var _ logs.Source = (*Source)(nil)

// Unit implements [logs.Source]. The kernel counts as one.
func (s *Source) Unit(typed string) (string, error) {
	if typed == journald.Kernel {
		return typed, nil
	}
	return journald.UnitName(typed)
}

var errNoLog = errors.New("this machine keeps none that is read: neither a journal nor /var/log/syslog or /var/log/messages; one is kept once systemd-journald or rsyslog runs")

// journalLog is the name of the journal in answers.
const journalLog = "journal"

// Read implements [logs.Source].
func (s *Source) Read(ctx context.Context, selection logs.Selection, yield func(logs.Entry) bool) (logs.Coverage, error) {
	c := logs.Coverage{Logs: []logs.Log{}}
	gap := func(log, why string) { c.Gaps = append(c.Gaps, logs.Gap{Log: log, Why: why}) }
	wanted := true
	err := s.journal(ctx, selection, &c, func(e logs.Entry) bool {
		wanted = yield(e)
		return wanted
	})
	failed := func(log string, err error) {
		gap(log, reason(err))
		c.Incomplete = true
	}
	families := s.ownFamilies(selection.Unit, failed)
	if errors.Is(err, journald.ErrNone) {
		families = append(families, s.systemFamilies()...)
		if len(families) == 0 {
			failed("logs", errNoLog)
		}
	}
	s.readHost()
	for _, f := range families {
		name := "/" + f.dir + "/" + f.name
		if !wanted || ctx.Err() != nil {
			gap(name, "not read: the bounds of one call were reached before")
			continue
		}
		list, err := s.stackOf(f)
		if err != nil {
			failed(name, err)
			continue
		}
		r := reading{
			source: s, selection: selection, own: linesOf(selection.Unit), yield: yield, log: logs.Log{Name: name},
			gap: func(why string) { gap(name, why) }, failed: func(err error) { failed(name, err) }, zone: cmp.Or(s.Zone, time.Local),
		}
		r.read(ctx, list)
		wanted = !r.done
		c.Logs = append(c.Logs, r.log)
	}
	s.explainNothing(ctx, selection, &c, gap)
	return c, nil
}

// journal reads the journal. The error is journald.ErrNone; others are gaps.
func (s *Source) journal(ctx context.Context, selection logs.Selection, c *logs.Coverage, yield func(logs.Entry) bool) error {
	j := journald.Journal{Root: s.Root, Runner: s.Runner}
	log := logs.Log{Name: journalLog}
	seed := maphash.MakeSeed()
	stopped := false
	notes, err := j.Read(ctx, journald.Query{Unit: selection.Unit, Since: selection.Since, Until: selection.Until, Priority: selection.Priority}, func(e *journald.Entry) bool {
		entry := logs.Entry{Time: e.Time(), Priority: e.Priority, Unit: e.Unit, Program: e.Identifier, PID: e.PID, Text: e.Message}
		if len(e.Boot) > 0 {
			entry.Boot = maphash.Bytes(seed, e.Boot)
		}
		log.Entries++
		log.ReadBackTo = entry.Time
		stopped = !yield(entry)
		return !stopped
	})
	if errors.Is(err, journald.ErrNone) {
		return err
	}
	log.Stopped = stopped || ctx.Err() != nil
	note := func(why string) { c.Gaps = append(c.Gaps, logs.Gap{Log: journalLog, Why: why}) }
	c.Incomplete = c.Incomplete || err != nil || len(notes) > 0
	for _, text := range notes {
		note(text)
	}
	if err != nil {
		note(fmt.Sprintf("%v: it may be damaged, and the %d entries before that are here; check it with: journalctl --verify", err, log.Entries))
	}
	if n := j.Others(); n > 0 {
		note(fmt.Sprintf("journals of %d other machines lie beside that of this one and are not read", n))
	}
	if !log.Stopped && ctx.Err() == nil {
		s.beginning(ctx, j, selection, &log, note)
		c.Incomplete = c.Incomplete || log.Oldest == "" && log.Entries == 0
	}
	c.Logs = append(c.Logs, log)
	return nil
}

// beginning says where the journal begins, if that is within the time asked for.
func (s *Source) beginning(ctx context.Context, j journald.Journal, selection logs.Selection, log *logs.Log, note func(string)) {
	oldest := j.Oldest(ctx)
	if oldest.IsZero() {
		if log.Entries == 0 {
			note("it has no entry at all: it is damaged, or has only just begun; check it with: journalctl --verify")
		}
		return
	}
	log.Oldest = oldest.UTC().Format(time.RFC3339)
	if !oldest.After(selection.Since) {
		return
	}
	why := "what was before was rotated away, or never written"
	if j.Volatile() {
		why = "it is kept in memory alone, and lost at each boot; it is kept once there is the folder /var/log/journal"
	}
	note("it begins at " + log.Oldest + ": " + why)
}

// explainNothing says what a service without lines may be called instead.
func (s *Source) explainNothing(ctx context.Context, selection logs.Selection, c *logs.Coverage, gap func(log, why string)) {
	any := slices.ContainsFunc(c.Logs, func(l logs.Log) bool { return l.Entries > 0 })
	journal := slices.ContainsFunc(c.Logs, func(l logs.Log) bool { return l.Name == journalLog })
	if any || !journal || selection.Unit == "" || selection.Unit == journald.Kernel || ctx.Err() != nil {
		return
	}
	units, err := journald.Journal{Root: s.Root, Runner: s.Runner}.Units(ctx)
	if err != nil || slices.Contains(units, selection.Unit) {
		return
	}
	var bareNames []string
	for _, u := range units {
		if name, ok := strings.CutSuffix(u, ".service"); ok {
			bareNames = append(bareNames, name)
		}
	}
	why := "the journal has no line of it, of any time"
	if near := editdistance.Closest(strings.TrimSuffix(selection.Unit, ".service"), bareNames); len(near) > 0 {
		why += "; similar: " + strings.Join(near, ", ")
	}
	gap(sanitize.Text(selection.Unit, 80), why)
}

// readHost learns the name under which this machine writes.
func (s *Source) readHost() {
	name, err := hostfile.Text(filepath.Join(s.Root, "proc/sys/kernel/hostname"))
	if err == nil {
		s.host = shortName([]byte(name))
	}
}

func shortName(host []byte) []byte {
	short, _, _ := bytes.Cut(host, []byte("."))
	return bytes.ToLower(short)
}

// isOwn reports whether a line is of this machine: a server collects those of others in the same
// files.
func (s *Source) isOwn(host []byte) bool {
	return len(host) == 0 || len(s.host) == 0 || bytes.EqualFold(s.host, shortName(host)) || string(host) == "localhost"
}

// ownLines are those of one service in a log of all programs.
type ownLines struct {
	unit  string
	names []string
}

// programsOf are the names under which the processes of a service write, where they differ from its
// own.
var programsOf = map[string][]string{
	"ssh": {"sshd", "sshd-session", "sshd-auth"}, "sshd": {"sshd", "sshd-session", "sshd-auth"}, "cron": {"CRON", "crontab"}, "crond": {"CROND", "crontab"},
	"postfix": {"postfix/"}, "NetworkManager": {"NetworkManager", "dhclient"}, "apache2": {"apache2", "httpd"}, "mariadb": {"mariadbd", "mysqld"}, "mysql": {"mysqld"},
}

func linesOf(unit string) ownLines {
	name := bare(unit)
	return ownLines{unit, append([]string{name}, programsOf[name]...)}
}

// has reports whether a line is of the service, or of the service manager about it.
func (o ownLines) has(r record) bool {
	if o.unit == "" {
		return true
	}
	program := string(r.program)
	if program == "systemd" && bytes.Contains(r.text, []byte(o.unit)) {
		return true
	}
	return slices.ContainsFunc(o.names, func(name string) bool {
		return program == name || strings.HasSuffix(name, "/") && strings.HasPrefix(program, name)
	})
}
