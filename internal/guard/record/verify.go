// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/hashchain"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

// Bounds of what is read.
const (
	maxRead     = maxFile + 1<<20 // bytes of one file: those of a guard are hardly longer than maxFile
	maxProblems = 100
	maxShown    = 300 // characters of the name of a file, and of what is said about it
	maxMessage  = 1000
)

// maxEntries is how many names of the folder are read; the head keeps far fewer files. It is a variable
// for tests.
var maxEntries = 100_000

var (
	// errCrowded is that somebody has put files into the folder: there are more than are read.
	errCrowded = errors.New("there are more names in the folder of the record than are read")
	// errForeign is that a file is none that a guard has written: a link, a pipe, of another user.
	errForeign = errors.New("it is no file of the record")
)

// A Problem is a place where the record is not what was written.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// A Report is what Verify found.
type Report struct {
	Files         int       `json:"files"`
	Records       int64     `json:"records"`
	Unsigned      int64     `json:"unsigned"` // lines since the head was signed: their end could be cut off unnoticed
	Torn          []string  `json:"torn"`     // files with a part of a line at the end, left by a guard that was killed
	Problems      []Problem `json:"problems"`
	ProblemsTotal int       `json:"problems_total"`
}

func (r *Report) problem(file string, line int, format string, args ...any) {
	r.ProblemsTotal++
	if len(r.Problems) < maxProblems {
		r.Problems = append(r.Problems, Problem{sanitize.Text(file, maxShown), line, sanitize.Text(fmt.Sprintf(format, args...), maxMessage)})
	}
}

// Verify reads the whole record below dir. It changes nothing. Guards may go on meanwhile: what does not
// fit the head that was read first is held to the one that stands there by then.
func Verify(ctx context.Context, dir string) (Report, error) {
	r := Report{Torn: []string{}, Problems: []Problem{}}
	all, err := entries(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, nil
	case errors.Is(err, errCrowded):
		r.problem("", 0, "%v: somebody added them", err)
	case err != nil:
		return r, err
	}
	names := parts(all)
	k, err := loadKey(dir, false)
	if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	h, err := r.head(dir, k, all)
	if err != nil {
		return r, err
	}
	c := checker{report: &r, dir: dir, key: k, sessions: map[string]link{}}
	if err := c.all(ctx, names, h.marks); err != nil {
		return r, err
	}
	if c.newest > h.number && r.ProblemsTotal == 0 && c.newest > c.current().number {
		r.problem(headName, 0, "it is head %d, and the record tells of head %d: an older one was put in its place", h.number, c.newest)
	}
	return r, nil
}

// head reads the head. One that does not verify, or was set aside for that, is a problem.
func (r *Report) head(dir string, k key, names []string) (head, error) {
	for _, name := range names {
		if strings.HasPrefix(name, asideName) {
			r.problem(name, 0, "a head that did not verify was set aside under this name")
		}
	}
	h, err := readHead(dir, k)
	if errors.Is(err, errHead) {
		r.problem(headName, 0, "%v", err)
		err = nil
	}
	return h, err
}

// entries lists the names in dir, sorted, as far as the bound goes: beyond it the error is errCrowded.
func entries(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.Sort(names)
	if len(names) > maxEntries {
		return names, errCrowded
	}
	return names, nil
}

// parts are those of names that are files of the record.
func parts(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, ".jsonl") })
}

// files lists the names of the files below dir, sorted, which is by time.
func files(dir string) ([]string, error) {
	names, err := entries(dir)
	if err != nil {
		return nil, err
	}
	return parts(names), nil
}

// open opens a file of the record, and nothing that could block or belongs to another: that is
// errForeign.
func open(path string) (*os.File, error) {
	f, err := trust.RootOrSelf.Open(path)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return f, err
	default:
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
}

// passed says that who lists events passes over a file with this error: it was removed meanwhile, or
// is none of the record, and Verify tells of it.
func passed(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errForeign) }

// A link is where a session ends so far.
type link struct {
	seq  uint64
	hash string
}

type checker struct {
	report   *Report
	dir      string
	key      key
	sessions map[string]link
	newest   uint64 // head that a line tells of

	later     head // that stood there when it was last looked for
	laterFile fs.FileInfo
}

// current returns the head that stands there now, an empty one when there is none that verifies.
func (c *checker) current() head {
	info, err := os.Lstat(filepath.Join(c.dir, headName))
	if err != nil || c.laterFile != nil && os.SameFile(info, c.laterFile) {
		return c.later
	}
	c.later, err = readHead(c.dir, c.key)
	if err != nil {
		c.later = head{}
	}
	c.laterFile = info
	return c.later
}

// all judges the files that are there, and those that the head lists.
func (c *checker) all(ctx context.Context, names []string, marks []mark) error {
	listed := map[string]*mark{}
	for i := range marks {
		if listed[marks[i].file] == nil {
			listed[marks[i].file] = &marks[i]
		}
		names = append(names, marks[i].file)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.file(name, listed[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) file(name string, m *mark) error {
	f, err := open(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		if m != nil && m.records > 0 && c.current().lists(name) {
			c.report.problem(name, 0, "the file is lost; it had %d lines", m.records)
		}
		return nil
	}
	if err != nil {
		c.report.problem(name, 0, "%v", err)
		return nil
	}
	defer f.Close() //nolint:errcheck // only read from
	c.report.Files++
	if m == nil && !c.current().lists(name) {
		c.report.problem(name, 0, "the head does not list the file: somebody added it")
	}
	one := fileChecker{checker: c, name: name, mark: m, before: c.report.ProblemsTotal}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxRead {
		c.report.problem(name, 0, "it is larger than any file of the record")
	}
	// What a guard writes meanwhile is left: who reads as fast as it writes would never end.
	if err := one.lines(io.LimitReader(f, min(info.Size(), maxRead))); err != nil {
		return err
	}
	one.end()
	return nil
}

// A fileChecker judges one file, line by line.
type fileChecker struct {
	*checker
	name    string
	mark    *mark // nil where the head does not list the file
	before  int   // problems before the first line
	tree    tree
	number  int // of the line
	session string
	last    link
}

func (c *fileChecker) problem(format string, args ...any) {
	c.report.problem(c.name, c.number, format, args...)
}

func (c *fileChecker) lines(f io.Reader) error {
	lines := bufio.NewReaderSize(f, maxLine+1)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			c.rest(line)
			return nil
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.line(line[:max(0, len(line)-1)])
	}
}

func (c *fileChecker) line(line []byte) {
	c.number++
	c.tree.add(line)
	e, hash, intact, ok := parseEvent(line)
	switch {
	case !ok:
		c.problem("this is no line of the record")
		c.last = link{c.last.seq + 1, ""}
		return
	case !intact:
		c.problem("the line was changed: it does not match its hash")
	}
	if c.number == 1 {
		c.begin(e)
	}
	c.follows(e)
	if m := c.mark; m != nil && c.tree.size == m.records && c.tree.root() != m.root && c.report.ProblemsTotal == c.before {
		c.problem("the lines up to this one are not those that were signed")
	}
	c.last = link{e.Seq, hash}
	c.newest = max(c.newest, e.Head)
	if m := c.mark; m != nil && m.closed && c.tree.size > m.records && e.Type != headEvent {
		c.problem("the line was added after the end")
	}
}

// begin takes up the session where the file before has left it. Where that was removed for its age, or
// there is none, the first line says where it stands.
func (c *fileChecker) begin(e Event) {
	c.session = e.SessionID
	if c.last = c.sessions[c.session]; c.last == (link{}) {
		c.last = link{e.Seq - 1, e.Prev}
	}
}

// end judges the file as a whole.
func (c *fileChecker) end() {
	if c.session != "" {
		c.sessions[c.session] = c.last
	}
	c.report.Records += c.tree.size
	if m := c.mark; m != nil && !m.closed {
		c.report.Unsigned += max(0, c.tree.size-m.records)
	}
	if m := c.mark; m != nil && c.tree.size < m.records {
		c.problem("%d lines are lost after this one", m.records-c.tree.size)
	}
}

func (c *fileChecker) follows(e Event) {
	switch {
	case e.Seq > c.last.seq+1:
		c.problem("%d lines are lost before this one", e.Seq-c.last.seq-1)
	case e.Seq <= c.last.seq:
		c.problem("the line does not belong here: it was added or moved")
	case c.last.hash != "" && e.Prev != c.last.hash || e.Seq == 1 && e.Prev != "":
		c.problem("the line does not follow the one before it: one of the two was changed")
	}
}

// rest judges what follows the last newline.
func (c *fileChecker) rest(rest []byte) {
	switch {
	case len(rest) == 0:
	case hashchain.Torn(rest, maxLine):
		c.report.Torn = append(c.report.Torn, sanitize.Text(c.name, maxShown))
	default:
		c.report.problem(c.name, c.number+1, "the last line has no end")
	}
}
