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
	"syscall"

	"sentinel/internal/hashchain"
	"sentinel/internal/trust"
)

// Bounds of what is read.
const (
	maxFiles    = 10_000
	maxProblems = 100
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
		r.Problems = append(r.Problems, Problem{file, line, fmt.Sprintf(format, args...)})
	}
}

// Verify reads the whole record below dir. It changes nothing.
func Verify(ctx context.Context, dir string) (Report, error) {
	var r Report
	for range 3 { // a guard may remove old files meanwhile
		before, err := verifyOnce(ctx, dir, &r)
		if err != nil || r.ProblemsTotal == 0 {
			return r, err
		}
		if k, err := loadKey(dir, false); err == nil {
			if after, err := readHead(dir, k); err == nil && after.number == before {
				break
			}
		}
	}
	return r, nil
}

func verifyOnce(ctx context.Context, dir string, r *Report) (number uint64, err error) {
	*r = Report{Torn: []string{}, Problems: []Problem{}}
	names, err := files(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	k, err := loadKey(dir, false)
	if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	aside, err := filepath.Glob(filepath.Join(dir, headName+".damaged-*"))
	if err != nil {
		return 0, err
	}
	for _, path := range aside {
		r.problem(filepath.Base(path), 0, "a head that did not verify was set aside under this name")
	}
	h, err := readHead(dir, k)
	if err != nil && !errors.Is(err, errHead) {
		return 0, err
	}
	if err != nil {
		r.problem(headName, 0, "%v", err)
	}
	c := checker{report: r, dir: dir, sessions: map[string]link{}}
	for _, m := range h.marks {
		names = append(names, m.file)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		at := slices.IndexFunc(h.marks, func(m mark) bool { return m.file == name })
		var m *mark
		if at >= 0 {
			m = &h.marks[at]
		}
		if err := c.file(name, m); err != nil {
			return 0, err
		}
	}
	if c.newest > h.number && r.ProblemsTotal == 0 {
		r.problem(headName, 0, "it is head %d, and the record tells of head %d: an older one was put in its place", h.number, c.newest)
	}
	return h.number, nil
}

// files lists the names of the files below dir, sorted, which is by time.
func files(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	all, err := d.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, name := range all {
		if strings.HasSuffix(name, ".jsonl") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// open opens a file of the record, and nothing that could block or belongs to another.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = trust.ErrNotRegular
	}
	if err == nil {
		err = trust.RootOrSelf.Info(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A link is where a session ends so far.
type link struct {
	seq  uint64
	hash string
}

type checker struct {
	report   *Report
	dir      string
	sessions map[string]link
	newest   uint64 // head that a line tells of
}

func (c *checker) file(name string, m *mark) error {
	f, err := open(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		if m != nil && m.records > 0 {
			c.report.problem(name, 0, "the file is lost; it had %d lines", m.records)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	c.report.Files++
	if m == nil {
		c.report.problem(name, 0, "the head does not list the file: somebody added it")
	}
	return c.lines(name, m, f)
}

func (c *checker) lines(name string, m *mark, f io.Reader) error {
	lines := bufio.NewReaderSize(f, maxLine+1)
	var t tree
	var last link
	before := c.report.ProblemsTotal
	number, session := 0, ""
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			c.rest(name, number+1, line)
			break
		}
		number++
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line = line[:max(0, len(line)-1)]
		t.add(line)
		e, hash, intact, ok := parseEvent(line)
		switch {
		case !ok:
			c.report.problem(name, number, "this is no line of the record")
			last = link{last.seq + 1, ""}
			continue
		case !intact:
			c.report.problem(name, number, "the line was changed: it does not match its hash")
		}
		if number == 1 {
			session = e.SessionID
			last = c.sessions[session]
			if last == (link{}) { // what came before was removed for its age, or there is nothing
				last = link{e.Seq - 1, e.Prev}
			}
		}
		c.follows(name, number, last, e)
		if m != nil && t.size == m.records && t.root() != m.root && c.report.ProblemsTotal == before {
			c.report.problem(name, number, "the lines up to this one are not those that were signed")
		}
		last = link{e.Seq, hash}
		c.newest = max(c.newest, e.Head)
		if m != nil && m.closed && t.size > m.records && e.Type != headEvent {
			c.report.problem(name, number, "the line was added after the end")
		}
	}
	if session != "" {
		c.sessions[session] = last
	}
	c.report.Records += t.size
	if m != nil && !m.closed {
		c.report.Unsigned += max(0, t.size-m.records)
	}
	if m != nil && t.size < m.records {
		c.report.problem(name, number, "%d lines are lost after this one", m.records-t.size)
	}
	return nil
}

func (c *checker) follows(name string, number int, last link, e Event) {
	switch {
	case e.Seq > last.seq+1:
		c.report.problem(name, number, "%d lines are lost before this one", e.Seq-last.seq-1)
	case e.Seq <= last.seq:
		c.report.problem(name, number, "the line does not belong here: it was added or moved")
	case last.hash != "" && e.Prev != last.hash || e.Seq == 1 && e.Prev != "":
		c.report.problem(name, number, "the line does not follow the one before it")
	}
}

// rest judges what follows the last newline.
func (c *checker) rest(name string, number int, rest []byte) {
	switch {
	case len(rest) == 0:
	case hashchain.Torn(rest, maxLine):
		c.report.Torn = append(c.report.Torn, name)
	default:
		c.report.problem(name, number, "the last line has no end")
	}
}
