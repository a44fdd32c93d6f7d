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
	// maxFruitless bounds, in bytes, lines in a row that are too old or have no time. To read so many takes some
	// 1.5 s; who can send lines of any date to hide others behind has to send more.
	maxFruitless = 256 << 20
)

// written is how far behind its lines the time of a file may be: it goes on growing while it is read.
const written = time.Minute

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

// A reading is one pass over the files of a stack. Dates are what senders say: one line of any date, wherever it
// stands, ends nothing and proves nothing.
type reading struct {
	source    *Source
	selection logs.Selection
	own       ownLines
	yield     func(logs.Entry) bool
	log       logs.Log
	gap       func(why string)
	failed    func(error) // something that was to be read was not
	zone      *time.Location

	held      [][]byte // lines before whose time is known
	unpriced  int      // lines left out because they have no priority
	elsewhere int      // lines of other machines
	stampless int      // lines without a time
	ahead     int      // lines dated after the last write to their file
	order     order
	back      back
	begins    time.Time // of the line that stands first in what was read
	fruitless int       // bytes in a row of lines that are too old or have no time
	reached   bool      // the next file was last written to before the time asked for
	gaveUp    bool      // too many bytes were fruitless
	done      bool      // no more is wanted
}

// read hands on the entries of a stack.
func (r *reading) read(ctx context.Context, list stack) {
	for _, info := range list.files {
		if r.done || r.gaveUp || ctx.Err() != nil {
			break
		}
		if info.ModTime().Before(r.selection.Since) { // the kernel's time, which no sender chooses
			r.reached = true
			break
		}
		if err := r.file(ctx, list.family, info); err != nil {
			r.failed(fmt.Errorf("%s: %w", info.Name(), err))
		}
	}
	r.log.Stopped = !r.reached && (r.done || r.gaveUp || ctx.Err() != nil)
	r.log.ReadBackTo = r.back.from()
	r.sayBeginning()
	r.sayLeftOut()
}

// sayBeginning tells where the log begins, if it was read so far.
func (r *reading) sayBeginning() {
	switch {
	case r.gaveUp:
		r.failed(fmt.Errorf("%d MB of lines in a row are dated before the time asked for, or have no date: what stands before them is not read", r.source.fruitlessLimit()>>20))
	case !r.log.Stopped && !r.reached && !r.begins.IsZero():
		r.log.Oldest = r.begins.UTC().Format(time.RFC3339)
		if r.begins.After(r.selection.Since) {
			r.gap("it begins at " + r.log.Oldest + ": what was before was rotated away, or never written")
		}
	}
}

// sayLeftOut tells how many lines were left out, and why.
func (r *reading) sayLeftOut() {
	for _, left := range []struct {
		lines int
		why   string
	}{
		{r.unpriced, "have no priority recorded and are left out"},
		{r.elsewhere, "are of other machines and are left out"},
		{r.stampless, "without a time are left out"},
		{r.order.outOfOrder, "are dated before the time asked for, but stand behind later ones, and are left out: a clock was wrong, or a sender chose the date"},
		{r.ahead, "are dated after their file was last written to, and are left out: a clock was wrong, or a sender chose the date"},
	} {
		if left.lines > 0 {
			r.gap(fmt.Sprintf("%d lines %s", left.lines, left.why))
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
	r.held, r.order = r.held[:0], r.order.next(false)
	err = backward(ctx, file, opened.Size(), func(line []byte) bool { return r.older(f, ref, line) && !r.overBudget(len(line)) })
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
		if !r.entry(f, ref, follow) {
			return false
		}
	}
	r.held = r.held[:0]
	r.beginAt(rec)
	return r.entry(f, ref, rec)
}

// beginAt notes the line that stands first. Other machines have clocks of their own.
func (r *reading) beginAt(rec record) {
	if r.begins.IsZero() || r.source.isOwn(rec.host) {
		r.begins = rec.time
	}
}

// overBudget reports whether more bytes than are worth it had nothing of the time asked for.
func (r *reading) overBudget(bytes int) bool {
	r.fruitless += bytes
	r.gaveUp = r.fruitless > r.source.fruitlessLimit()
	return r.gaveUp
}

// unpacked reads a compressed file, which can be read only from its beginning.
func (r *reading) unpacked(ctx context.Context, f family, ref reference, file io.Reader) error {
	z, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	var last record
	r.order = r.order.next(true)
	more, err := forward(ctx, z, maxUnpacked, func(line []byte) bool {
		rec, ok := f.of(line, ref)
		switch {
		case ok:
			if last.time.IsZero() {
				r.beginAt(rec)
			}
			last = record{time: rec.time, priority: rec.priority, pid: rec.pid, host: slices.Clone(rec.host), program: slices.Clone(rec.program)}
		case last.time.IsZero() || len(line) == 0:
			return true
		default:
			rec = last
			rec.text = line
		}
		return r.entry(f, ref, rec)
	})
	if err == nil && more && !r.done && ctx.Err() == nil {
		err = fmt.Errorf("only its first %d MB were read", maxUnpacked>>20)
	}
	return err
}

// entry hands on a line if it is wanted, and reports whether more are.
func (r *reading) entry(f family, ref reference, rec record) bool {
	s := r.selection
	own, old := r.source.isOwn(rec.host), rec.time.Before(s.Since)
	if own && (!old || rec.time.Before(s.Since.Add(-written))) { // Apache dates a request by its beginning
		r.order.take(old)
	}
	if !old {
		r.fruitless = 0
	}
	switch {
	case old:
		return true
	case rec.time.After(s.Until):
		if own && rec.time.After(ref.end.Add(written)) {
			r.ahead++
		}
		return true
	case !own:
		r.elsewhere++
		return true
	case f.unit == "" && !r.own.has(rec):
		return true
	case !s.Includes(rec.time, rec.priority):
		if rec.priority == logs.NoPriority {
			r.unpriced++
		}
		return true
	}
	return r.take(f, rec)
}

// take hands on a line that is wanted.
func (r *reading) take(f family, rec record) bool {
	r.log.Entries++
	if !r.order.forward {
		r.back.add(rec.time)
	}
	r.done = !r.yield(logs.Entry{Time: rec.time, Priority: rec.priority, Unit: []byte(f.unit), Program: rec.program, PID: rec.pid, Text: rec.text})
	return !r.done
}
