// SPDX-License-Identifier: Apache-2.0

// Package logs reads the unified log of macOS through log(1).
package logs

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/logs"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

const program = "/usr/bin/log"

// A Source reads the log of a Mac.
type Source struct {
	Runner sysexec.Runner
	EUID   int // of this run
}

var _ logs.Source = Source{}

// Unit implements [logs.Source]: the label of a job of launchd, the name of a process, or a subsystem.
func (Source) Unit(typed string) (string, error) {
	name := typed[strings.LastIndexByte(typed, '/')+1:] // system/com.example.web is com.example.web
	why := ""
	switch {
	case name == "":
		why = "it is empty"
	case len(name) > 255:
		why = "it is too long"
	case strings.HasPrefix(name, "-"):
		why = "it begins with -"
	case strings.ContainsFunc(name, notOfName):
		why = "only letters, digits, blanks and . _ - + are allowed"
	default:
		return name, nil
	}
	return "", fault.New(fault.InvalidService, `"`+sanitize.Text(typed, 80)+`" is not the name of a service: `+why+".")
}

// notOfName keeps what could end a string of a predicate out.
func notOfName(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune(" ._-+", r)
}

const (
	logName      = "unified log"
	maxComplaint = 64 << 10
	// maxWindow bounds the output for one window, in bytes: log(1) prints the oldest first, and cannot
	// be told how many.
	maxWindow = 256 << 20
	maxLine   = 1 << 20 // bytes of one line that are kept
)

// windows are how far back each call reaches: log(1) prints the oldest entry first, so what is newest is
// asked for first.
var windows = []time.Duration{10 * time.Minute, 2 * time.Hour}

// Read implements [logs.Source].
func (s Source) Read(ctx context.Context, selection logs.Selection, yield func(logs.Entry) bool) (logs.Coverage, error) {
	c := logs.Coverage{Logs: []logs.Log{}}
	r := &reading{log: logs.Log{Name: logName}, selection: selection, yield: yield, seed: maphash.MakeSeed()}
	gap := func(why string) { c.Gaps = append(c.Gaps, logs.Gap{Log: logName, Why: why}) }
	until := selection.Until
	for i := 0; until.After(selection.Since) && !r.done && ctx.Err() == nil; i++ {
		since := selection.Since
		if i < len(windows) && selection.Until.Add(-windows[i]).After(since) {
			since = selection.Until.Add(-windows[i])
		}
		r.size, r.lines = 0, sysexec.Lines{Longest: maxLine, Line: r.line}
		result, err := s.Runner.Run(ctx, sysexec.Command{Path: program, Args: arguments(selection, since, until), MaxOutput: maxComplaint, OnStdout: r.add})
		why := s.trouble(ctx, result, err)
		if why == "" && !r.whole && !r.done && ctx.Err() == nil {
			why = "the output of log ended early"
		}
		if why != "" {
			gap(why)
			c.Incomplete = true
			break
		}
		r.whole, until = false, since
	}
	if r.cut > 0 {
		gap(fmt.Sprintf("%d times there was more than one call reads, and the newest part was left out; ask for a shorter time, a unit or a priority", r.cut))
	}
	if selection.Unit != "" {
		gap("which job a line is of is not known: these were found by the name of their process or subsystem, which any program chooses")
	}
	if selection.Priority < 6 {
		gap("messages of the types info and debug are read only when priority asks for them")
	}
	r.log.Stopped = r.done || ctx.Err() != nil
	c.Incomplete = c.Incomplete || r.cut > 0
	if r.log.Entries > 0 || !c.Incomplete {
		c.Logs = append(c.Logs, r.log)
	}
	return c, nil
}

// trouble says why the log could not be read; empty if it could.
func (s Source) trouble(ctx context.Context, r sysexec.Result, err error) string {
	said, _, _ := strings.Cut(strings.TrimSpace(string(r.Stderr)), "\n")
	switch {
	case ctx.Err() != nil:
		return ""
	case err != nil:
		return err.Error()
	case r.Exit != 0 && s.EUID != 0:
		return "not readable without root or an administrator: " + sanitize.Text(said, 100)
	case r.Exit != 0:
		return "log ended with status " + strconv.Itoa(r.Exit) + ": " + sanitize.Text(said, 100)
	}
	return ""
}

// arguments ask for one window. Seconds since 1970 mean the same in every time zone; the end is one
// second later, because log(1) leaves it out.
func arguments(s logs.Selection, since, until time.Time) []string {
	args := []string{"show", "--style", "ndjson", "--start", "@" + strconv.FormatInt(max(since.Unix(), 0), 10), "--end", "@" + strconv.FormatInt(until.Unix()+1, 10)}
	if s.Priority >= 6 {
		args = append(args, "--info")
	}
	if s.Priority >= 7 {
		args = append(args, "--debug")
	}
	if p := predicate(s); p != "" {
		args = append(args, "--predicate", p)
	}
	return args
}

// predicate selects by unit and by type. A checked name cannot end the string that it stands in.
func predicate(s logs.Selection) string {
	var parts []string
	if s.Unit != "" {
		last := s.Unit[strings.LastIndexByte(s.Unit, '.')+1:]
		parts = append(parts, fmt.Sprintf(`(process == "%s" OR process == "%s" OR subsystem == "%s" OR (process == "launchd" AND eventMessage CONTAINS "%s"))`, s.Unit, last, s.Unit, s.Unit))
	}
	switch {
	case s.Priority == logs.NoPriority || s.Priority >= 5:
	case s.Priority >= 3:
		parts = append(parts, `(messageType == error OR messageType == fault)`)
	default:
		parts = append(parts, `messageType == fault`)
	}
	return strings.Join(parts, " AND ")
}

// A reading takes what log(1) prints.
type reading struct {
	log       logs.Log
	selection logs.Selection
	yield     func(logs.Entry) bool
	seed      maphash.Seed
	lines     sysexec.Lines
	size      int  // of this window
	cut       int  // windows that were not read to their end
	whole     bool // log(1) said that it has printed all
	done      bool // no more is wanted
}

// add takes the next piece, and is false once the window or all has been enough.
func (r *reading) add(piece []byte) bool {
	if r.size += len(piece); r.size > maxWindow {
		r.cut++
		r.whole = true
		return false
	}
	return r.lines.Add(piece)
}

func (r *reading) line(line []byte, _ bool) bool {
	e, boot, ok := parse(line)
	r.whole = !ok && bytes.Contains(line, []byte(`"finished":1`))
	if !ok || !r.selection.Includes(e.Time, e.Priority) {
		return true
	}
	if boot != "" {
		e.Boot = maphash.String(r.seed, boot)
	}
	if r.log.Entries++; r.log.ReadBackTo.IsZero() || e.Time.Before(r.log.ReadBackTo) {
		r.log.ReadBackTo = e.Time
	}
	r.done = !r.yield(e)
	return !r.done
}
