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
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/localtime"
)

// A Source reads the logs of the machine below a root directory.
type Source struct {
	Root   string // "/" on a live system
	Runner sysexec.Runner

	host      []byte // short name of this machine; empty if unknown
	fruitless int    // for tests: another bound than maxFruitless
}

func (s *Source) fruitlessLimit() int { return cmp.Or(s.fruitless, maxFruitless) }

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

// Read implements [logs.Source]. rsyslog writes beside the journal what is in it: its files are read
// where there is no journal, and for the time that the journal lacks.
func (s *Source) Read(ctx context.Context, selection logs.Selection, yield func(logs.Entry) bool) (logs.Coverage, error) {
	p := pass{source: s, selection: selection, accounts: procfs.New(s.Root), seed: maphash.MakeSeed(), wanted: true, c: logs.Coverage{Logs: []logs.Log{}}}
	p.yield = func(e logs.Entry) bool {
		p.wanted = yield(e)
		return p.wanted
	}
	s.readHost()
	system := s.systemFamilies()
	err := p.journal(ctx, system, p.later(ctx, system))
	p.files(ctx, s.ownFamilies(selection.Unit, p.failed), selection)
	p.users(ctx)
	if errors.Is(err, journald.ErrNone) {
		p.files(ctx, system, selection)
		if len(system) == 0 {
			p.failed("logs", errNoLog)
		}
	}
	s.explainNothing(ctx, selection, &p.c, p.gap)
	p.dropped(ctx)
	return p.c, nil
}

// A pass reads the logs of one call, one after the other.
type pass struct {
	source    *Source
	selection logs.Selection
	accounts  procfs.FS
	seed      maphash.Seed // of the hashes of boots
	yield     func(logs.Entry) bool
	wanted    bool  // more entries are
	ofUsers   []int // user IDs whose entries of the journal are read apart
	c         logs.Coverage
}

func (p *pass) gap(log, why string) { p.c.Gaps = append(p.c.Gaps, logs.Gap{Log: log, Why: why}) }

func (p *pass) failed(log string, err error) {
	p.gap(log, reason(err))
	p.c.Incomplete = true
}

// files reads files of syslog or of a service.
func (p *pass) files(ctx context.Context, families []family, selection logs.Selection) {
	for _, f := range families {
		name := "/" + f.dir + "/" + f.name
		if !p.wanted || ctx.Err() != nil {
			p.gap(name, "not read: the bounds of one call were reached before")
			continue
		}
		list, err := p.source.stackOf(f)
		if err != nil {
			p.failed(name, err)
			continue
		}
		r := reading{
			source: p.source, selection: selection, own: linesOf(selection.Unit), yield: p.yield, log: logs.Log{Name: name},
			gap: func(why string) { p.gap(name, why) }, failed: func(err error) { p.failed(name, err) }, zone: localtime.Zone(p.source.Root),
		}
		r.read(ctx, list)
		p.c.Logs = append(p.c.Logs, r.log)
	}
}

// later reads what files of syslog have of the time after the end of the journal, as where journald
// only forwards (Storage=none of journald.conf(5)), and returns since when. Elsewhere no file was written
// to so late.
func (p *pass) later(ctx context.Context, system []family) (since time.Time) {
	since = p.selection.Until
	span, err := journald.Journal{Root: p.source.Root}.Span()
	later := p.selection
	if ended := span.Ends.Add(journald.Edge + time.Nanosecond); err != nil || span.Ends.IsZero() || !ended.Before(later.Until) {
		return since
	} else if later.Since.Before(ended) {
		later.Since = ended
	}
	system = slices.DeleteFunc(slices.Clone(system), func(f family) bool {
		file, err := hostfile.Stat(filepath.Join(p.source.Root, f.dir, f.name))
		return err != nil || file.Modified.Before(later.Since)
	})
	if len(system) == 0 {
		return since
	}
	p.files(ctx, system, later)
	if p.entries() > 0 {
		p.gap(journalLog, "it ends at "+span.Ends.UTC().Format(time.RFC3339)+": what came later is told from files of syslog")
	}
	return later.Since
}

// entries counts those that were read up to now.
func (p *pass) entries() (n int) {
	for _, l := range p.c.Logs {
		n += l.Entries
	}
	return n
}

// before reads what files of syslog have of the time before a moment.
func (p *pass) before(ctx context.Context, system []family, until time.Time) (found bool) {
	earlier, n := p.selection, p.entries()
	earlier.Until = until
	if earlier.Since.Before(until) {
		p.files(ctx, system, earlier)
	}
	return p.entries() > n
}

// journal reads the journal, and before its beginning the files of syslog; what these have from later on
// is known. The error is journald.ErrNone; others are gaps.
func (p *pass) journal(ctx context.Context, system []family, later time.Time) error {
	s, j := p.selection, p.source.journal()
	log, err := p.share(ctx, journalLog, p.divide(ctx, j))
	if err != nil {
		return err
	}
	for _, hole := range j.Holes(s.Since, s.Until) {
		p.c.Incomplete = true
		p.gap(journalLog, hole.String())
	}
	if n := j.Others(); n > 0 {
		p.gap(journalLog, fmt.Sprintf("journals of %d other machines lie beside that of this one and are not read", n))
	}
	at := len(p.c.Logs)
	p.c.Logs = append(p.c.Logs, log)
	if !log.Stopped {
		p.c.Logs[at].Oldest = p.beginning(ctx, j, system, log.Entries, later)
	}
	return nil
}

// beginning returns where the journal begins, and says what was before, if that is within the time
// asked for.
func (p *pass) beginning(ctx context.Context, j journald.Journal, system []family, entries int, later time.Time) string {
	oldest := j.Oldest(ctx)
	if oldest.IsZero() {
		if entries == 0 {
			p.c.Incomplete = true
			p.gap(journalLog, "it has no entry at all: it is damaged, or has only just begun; check it with: journalctl --verify")
			p.before(ctx, system, later)
		}
		return ""
	}
	begins := oldest.UTC().Format(time.RFC3339)
	if !oldest.After(p.selection.Since) {
		return begins
	}
	told := p.before(ctx, system, earlier(oldest.Add(-journald.Edge), later))
	why := "what was before was rotated away, or never written"
	if j.Volatile() {
		why = "it is kept in memory alone, and lost at each boot; it is kept once there is the folder /var/log/journal"
	}
	if told {
		why += "; files of syslog tell what came before"
	}
	p.gap(journalLog, "it begins at "+begins+": "+why)
	return begins
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// explainNothing says what a service without lines may be called instead.
func (s *Source) explainNothing(ctx context.Context, selection logs.Selection, c *logs.Coverage, gap func(log, why string)) {
	any := slices.ContainsFunc(c.Logs, func(l logs.Log) bool { return l.Entries > 0 })
	journal := slices.ContainsFunc(c.Logs, func(l logs.Log) bool { return l.Name == journalLog })
	if any || !journal || selection.Unit == "" || selection.Unit == journald.Kernel || ctx.Err() != nil {
		return
	}
	units, err := s.journal().Units(ctx)
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

func (s *Source) journal() journald.Journal { return journald.Journal{Root: s.Root, Runner: s.Runner} }

// readHost learns the name under which this machine writes.
func (s *Source) readHost() {
	name, err := hostfile.Text(filepath.Join(s.Root, "proc/sys/kernel/hostname"))
	if err == nil {
		s.host = shortName([]byte(name))
	}
}

func shortName(host []byte) []byte {
	short, _, _ := bytes.Cut(host, []byte("."))
	return short
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
