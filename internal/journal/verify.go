// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"sentinel/internal/hashchain"
)

// maxProblems is the most problems that a report lists.
const maxProblems = 100

// A Problem is a place where the journal differs from what was written.
type Problem struct {
	File    string `json:"file"`           // its name in the journal directory; empty for a problem of the whole journal
	Line    int    `json:"line,omitempty"` // from 1
	Seq     uint64 `json:"seq,omitempty"`  // if known
	Message string `json:"message"`
}

// A Report is what [Journal.Verify] found. A journal without problems holds every
// record since FirstSeq, unless root rewrote head and journal together: the heads that syslog got
// tell.
type Report struct {
	Records       int        `json:"records"`
	Files         int        `json:"files"`
	FirstSeq      uint64     `json:"first_seq,omitempty"`
	RotatedBefore uint64     `json:"rotated_before,omitempty"` // the head says that sentinel itself removed the records with lower numbers because of their age; absent if there were none
	LastSeq       uint64     `json:"last_seq,omitempty"`
	LastTime      *time.Time `json:"last_time,omitempty"` // UTC
	LastHash      string     `json:"last_hash,omitempty"`
	Torn          bool       `json:"torn,omitempty"` // a crash left part of a line, which the next write removes
	Problems      []Problem  `json:"problems"`       // at most 100
	ProblemsTotal int        `json:"problems_total"`
	Announced     *Announced `json:"announced,omitempty"` // the heads in the log that was given; absent without one
}

// Verify reads the whole journal and checks every line, the chain through all
// files, and both ends against the head. The report lists what is wrong; an error means that the
// journal cannot be read, or that other users could have written it. log is what syslog kept; nil if
// that is not looked at. kept are public keys that were kept elsewhere: heads that they signed count,
// and a machine whose key neither is one of them nor follows it has lost it.
func (j *Journal) Verify(ctx context.Context, log io.Reader, kept ...[]byte) (Report, error) {
	said, count, lost, err := j.readAnnounced(ctx, log, kept) // before the journal, which then has all that was announced
	if err != nil {
		return Report{}, j.failed(err)
	}
	s, err := j.snapshot(ctx)
	if err != nil {
		return Report{}, j.failed(err)
	}
	defer s.close()
	c := checker{head: s.head, announced: said, report: Report{Files: len(s.segments), Problems: []Problem{}, Announced: count}}
	for range lost {
		c.problem(0, "the key of this machine is not the one that was given, and does not follow it: somebody removed or replaced it")
	}
	said.beginnings(&c, j.fewestKept())
	if s.head.First > 1 && j.keptFiles(s.segments) < j.maxKept {
		c.problem(0, "records 1 to %d are missing, and not for their age: at least %d full files after them are kept", s.head.First-1, j.maxKept)
	}
	for i, seg := range s.segments {
		if err := c.file(ctx, seg, i == len(s.segments)-1); err != nil {
			return Report{}, j.failed(err)
		}
	}
	c.end(s.badHead)
	return c.report, nil
}

// A checker verifies the chain, record by record.
type checker struct {
	head     Head
	report   Report
	name     string // of the current file
	line     int
	expected uint64 // next sequence number; 0 before the first record
	prevHash string // hash of the previous record; empty if it is not known
	last     Record // the newest intact record
	torn     bool   // the newest file ends with part of a line
	// announced are the heads that no record was compared with yet.
	announced heads
	told      uint64 // of the newest head that tells where the journal began
}

func (c *checker) problem(seq uint64, format string, values ...any) {
	c.report.ProblemsTotal++
	if len(c.report.Problems) < maxProblems {
		c.report.Problems = append(c.report.Problems, Problem{File: c.name, Line: c.line, Seq: seq, Message: fmt.Sprintf(format, values...)})
	}
}

// file checks a file with at most one line in memory.
func (c *checker) file(ctx context.Context, seg *segment, newest bool) error {
	c.name, c.line = filepath.Base(seg.path), 0
	lines := bufio.NewReaderSize(io.NewSectionReader(seg.file, 0, seg.size), maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, bufio.ErrBufferFull):
			err = skipLine(lines)
			line = nil // too long to be a record
		case errors.Is(err, io.EOF):
			c.partialLine(line, newest)
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.line++
		c.record(line[:max(0, len(line)-1)], seg)
	}
}

func skipLine(lines *bufio.Reader) error {
	for {
		if _, err := lines.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// partialLine judges what follows the last newline. A crash can have left it only
// in the newest file.
func (c *checker) partialLine(rest []byte, newest bool) {
	if len(rest) == 0 {
		return
	}
	c.line++
	if c.torn = newest && hashchain.Torn(rest, maxLine); !c.torn {
		c.problem(0, "the last line has no end")
	}
}

func (c *checker) record(line []byte, seg *segment) {
	r, err := parseLine(line)
	if err != nil {
		c.problem(r.Seq, "%v", err)
	}
	if errors.Is(err, errNoRecord) {
		c.skip()
		return
	}
	c.chain(r, seg)
	c.announced.compare(c, r)
	if r.Damage != "" {
		c.problem(r.Seq, "found when this record was written: %s", r.Damage)
	}
	c.report.Records++
	c.expected, c.prevHash = r.Seq+1, r.Hash
	if err == nil {
		c.last = r
	}
}

// skip passes over a line whose sequence number is not known.
func (c *checker) skip() {
	if c.expected > 0 {
		c.expected++
	}
	c.prevHash = ""
}

func (c *checker) chain(r Record, seg *segment) {
	if c.report.FirstSeq == 0 {
		c.report.FirstSeq = r.Seq
		if r.Seq > c.head.First && c.head.First > 0 {
			c.problem(r.Seq, "records %d to %d are missing", c.head.First, r.Seq-1)
		}
	}
	switch {
	case c.expected == 0:
	case r.Seq > c.expected:
		c.problem(r.Seq, "records %d to %d are missing", c.expected, r.Seq-1)
	case r.Seq < c.expected:
		c.problem(r.Seq, "the record is out of its place: %d should be here", c.expected)
	}
	if c.prevHash != "" && r.Prev != c.prevHash || r.Seq == c.head.First && r.Prev != c.head.FirstPrev {
		c.problem(r.Seq, "the record does not follow the one before it")
	}
	if c.line == 1 && seg.first > 0 && seg.first != r.Seq {
		c.problem(r.Seq, "the file has the name of one that begins with record %d", seg.first)
	}
}

// end checks the newest record against the head.
func (c *checker) end(badHead error) {
	c.report.LastSeq, c.report.LastHash = c.last.Seq, c.last.Hash
	if c.head.First > 1 {
		c.report.RotatedBefore = c.head.First
	}
	if c.last.Seq > 0 {
		c.report.LastTime = &c.last.Time
	}
	_, damage := compare(c.last, c.head)
	if badHead != nil {
		damage = badHead.Error()
	}
	c.name, c.line = "", 0
	if damage != "" {
		c.problem(0, "%s", damage)
	}
	c.announced.rest(c)
	c.report.Torn = c.torn && damage == ""
}
