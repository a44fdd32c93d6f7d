// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/logs"
	"sentinel/platform/unix/hostfile"
)

// Bounds of the files.
const (
	maxNames    = 2000      // in one directory
	maxFiles    = 20        // logs of one service, without their rotated ones
	maxRotated  = 60        // of one log
	maxUnpacked = 256 << 20 // bytes of one compressed file
	maxHeld     = 200       // lines that wait for the one with their time
)

// A family is a log with what was rotated from it.
type family struct {
	dir  string // below the root, such as "var/log/nginx"
	name string // of the file that is written to
	of   format
	unit string // whose log it is; empty for that of all programs
}

// A stack is the files of a family, the newest first.
type stack struct {
	family
	files []fs.FileInfo
}

// syslogFiles are what rsyslog and syslog-ng write where nothing else is configured, on Debian and on
// Red Hat. kern.log and others have the same lines again.
var syslogFiles = []string{"syslog", "messages", "auth.log", "secure"}

// A keeper is a service that keeps logs of its own.
type keeper struct {
	units  []string // without what follows an @
	dir    string
	of     format
	access bool // it keeps requests besides, in files whose name says so
	suffix []string
}

// keepers are the services whose files are read, where their packages put them.
var keepers = []keeper{
	{[]string{"nginx"}, "var/log/nginx", nginxError, true, []string{".log"}},
	{[]string{"apache2"}, "var/log/apache2", apacheError, true, []string{".log"}},
	{[]string{"httpd"}, "var/log/httpd", apacheError, true, []string{"_log"}},
	{[]string{"mysql", "mysqld", "mariadb"}, "var/log/mysql", mysqlLine, false, []string{"error.log", "mysqld.log"}},
	{[]string{"mysqld"}, "var/log", mysqlLine, false, []string{"mysqld.log"}},
	{[]string{"mariadb", "mysqld"}, "var/log/mariadb", mysqlLine, false, []string{"mariadb.log"}},
	{[]string{"postgresql"}, "var/log/postgresql", postgresLine, false, []string{".log"}},
	{[]string{"postgresql"}, "var/lib/pgsql/data/log", postgresLine, false, []string{".log"}},
}

// bare is the name of a service without its kind and its instance.
func bare(unit string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(unit, ".service"), "@")
	return name
}

// ownFamilies lists the logs that a service keeps itself.
func (s *Source) ownFamilies(unit string, missing func(log string, err error)) (families []family) {
	for _, k := range keepers {
		if unit == "" || !slices.Contains(k.units, bare(unit)) {
			continue
		}
		names, err := hostfile.Names(filepath.Join(s.Root, k.dir), maxNames)
		if err != nil && !hostfile.Missing(err) {
			missing("/"+k.dir, err)
		}
		for _, name := range names {
			if !slices.ContainsFunc(k.suffix, func(end string) bool { return strings.HasSuffix(name, end) }) || len(families) == maxFiles {
				continue
			}
			f := family{dir: k.dir, name: name, of: k.of, unit: unit}
			if k.access && strings.Contains(name, "access") {
				f.of = accessLine
			}
			families = append(families, f)
		}
	}
	return families
}

// systemFamilies lists the logs of all programs.
func (s *Source) systemFamilies() (families []family) {
	for _, name := range syslogFiles {
		if _, err := os.Lstat(filepath.Join(s.Root, "var/log", name)); err == nil {
			families = append(families, family{dir: "var/log", name: name, of: syslogLine})
		}
	}
	return families
}

// stackOf finds what was rotated from a log.
func (s *Source) stackOf(f family) (stack, error) {
	files, err := hostfile.Rotated(filepath.Join(s.Root, f.dir), f.name, maxNames, maxRotated)
	return stack{f, files}, err
}

// A reading is one pass over the files of a stack.
type reading struct {
	source    *Source
	selection logs.Selection
	own       ownLines
	yield     func(logs.Entry) bool
	log       logs.Log
	gap       func(why string)
	failed    func(error) // one of the files was not read
	zone      *time.Location

	held       [][]byte // lines before whose time is known
	unpriced   int      // lines left out because they have no priority
	elsewhere  int      // lines of other machines
	stampless  int      // lines without a time
	oldest     time.Time
	past, done bool // the beginning of the time asked for was reached; no more is wanted
}

// read hands on the entries of a stack.
func (r *reading) read(ctx context.Context, list stack) {
	for _, info := range list.files {
		if r.done || r.past || ctx.Err() != nil {
			break
		}
		if info.ModTime().Before(r.selection.Since) { // it was last written to before
			r.past = true
			break
		}
		if err := r.file(ctx, list.family, info); err != nil {
			r.failed(fmt.Errorf("%s: %w", info.Name(), err))
		}
	}
	r.log.Stopped = !r.past && (r.done || ctx.Err() != nil)
	if !r.log.Stopped && !r.past && !r.oldest.IsZero() {
		r.log.Oldest = r.oldest.UTC().Format(time.RFC3339)
		if r.oldest.After(r.selection.Since) {
			r.gap("it begins at " + r.log.Oldest + ": what was before was rotated away, or never written")
		}
	}
	for what, n := range map[string]int{
		"lines have no priority recorded and are left out": r.unpriced, "lines are of other machines and are left out": r.elsewhere, "lines without a time are left out": r.stampless,
	} {
		if n > 0 {
			r.gap(fmt.Sprintf("%d %s", n, what))
		}
	}
}

// reason explains an error. For a forbidden file its own text would only show a path.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "not readable without root or the group adm"
	default:
		return err.Error()
	}
}

func (r *reading) file(ctx context.Context, f family, info fs.FileInfo) error {
	file, err := hostfile.OpenBelow(filepath.Join(r.source.Root, f.dir), info.Name())
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read from
	ref := reference{end: info.ModTime().In(r.zone), zone: r.zone}
	if packed, err := hostfile.IsPacked(info.Name()); err != nil {
		return err
	} else if packed {
		return r.unpacked(ctx, f, ref, file)
	}
	opened, err := file.Stat() // of now, not of when its directory was read
	if err != nil {
		return err
	}
	r.held = r.held[:0]
	err = backward(ctx, file, opened.Size(), func(line []byte) bool { return r.older(f, ref, line) })
	r.stampless += len(r.held)
	return err
}

// older takes the next line from the end. One that goes on with the line before it waits for that
// line's time.
func (r *reading) older(f family, ref reference, line []byte) bool {
	rec, ok := f.of(line, ref)
	if !ok {
		switch {
		case len(line) == 0:
		case len(r.held) < maxHeld:
			r.held = append(r.held, slices.Clone(line))
		default:
			r.stampless++
		}
		return true
	}
	for _, text := range r.held {
		follow := rec
		follow.text = text
		if !r.entry(f, follow) {
			return false
		}
	}
	r.held = r.held[:0]
	if rec.time.Before(r.selection.Since) {
		r.past = true
		return false
	}
	return r.entry(f, rec)
}

// unpacked reads a compressed file, which can be read only from its beginning.
func (r *reading) unpacked(ctx context.Context, f family, ref reference, file io.Reader) error {
	z, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	var last record
	more, err := forward(ctx, z, maxUnpacked, func(line []byte) bool {
		rec, ok := f.of(line, ref)
		switch {
		case ok:
			last = record{time: rec.time, priority: rec.priority, pid: rec.pid, host: slices.Clone(rec.host), program: slices.Clone(rec.program)}
		case last.time.IsZero() || len(line) == 0:
			return true
		default:
			rec = last
			rec.text = line
		}
		return r.entry(f, rec)
	})
	if err == nil && more && !r.done && ctx.Err() == nil {
		err = fmt.Errorf("only its first %d MB were read", maxUnpacked>>20)
	}
	return err
}

// entry hands on a line if it is wanted, and reports whether more are.
func (r *reading) entry(f family, rec record) bool {
	if r.oldest.IsZero() || rec.time.Before(r.oldest) {
		r.oldest = rec.time
	}
	s := r.selection
	if rec.time.Before(s.Since) || rec.time.After(s.Until) {
		return true
	}
	if !r.source.isOwn(rec.host) {
		r.elsewhere++
		return true
	}
	if f.unit == "" && !r.own.has(rec) {
		return true
	}
	if !s.Includes(rec.time, rec.priority) {
		if rec.priority == logs.NoPriority {
			r.unpriced++
		}
		return true
	}
	r.log.Entries++
	r.log.ReadBackTo = rec.time
	r.done = !r.yield(logs.Entry{Time: rec.time, Priority: rec.priority, Unit: []byte(f.unit), Program: rec.program, PID: rec.pid, Text: rec.text})
	return !r.done
}
