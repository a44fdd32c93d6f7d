// SPDX-License-Identifier: Apache-2.0

// Package crontab parses the tables of cron(8) and anacron(8): crontab(5), anacrontab(5).
package crontab

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"sentinel/internal/lazyregexp"
)

// Bounds of a table.
const (
	MaxEntries = 1000
	maxLine    = 4096 // bytes
)

// A Form is the form of the lines of a table.
type Form int

// The forms.
const (
	Personal Form = iota // when, command
	System               // when, user, command
	Anacron              // period, delay, name, command
)

// An Entry is one job.
type Entry struct {
	Line    int
	When    string // "*/5 * * * *", "@reboot"; of anacron "7 days", "@monthly"
	User    string // of a system table
	Command string // for the shell; what follows a percent sign is its input and left out
}

// A Variable is one that has every job below it run, or load, a file.
type Variable struct {
	Line        int
	Name, Value string
}

// Words are the command that finds what it runs: the shell, or the assignment.
func (v Variable) Words() []string {
	if v.Name == "SHELL" {
		return []string{v.Value}
	}
	return []string{v.Name + "=" + v.Value}
}

// starters are the variables of which cron, its shell or the loader of programs makes something run.
var starters = []string{"SHELL", "BASH_ENV", "ENV", "LD_AUDIT", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"}

// usualShells are what SHELL is on most machines.
var usualShells = []string{"sh", "bash", "dash", "zsh", "ksh"}

var (
	assignment = lazyregexp.New(`^["']?([A-Za-z_][A-Za-z0-9_]*)["']?\s*=\s*(.*)$`)
	timeField  = lazyregexp.New(`^[-0-9A-Za-z*,/~?#]{1,100}$`)
	nickname   = lazyregexp.New(`^@[a-z_]{1,20}$`)
	account    = lazyregexp.New(`^[\w.$@+-]{1,64}(:[\w.$@+/-]{0,128})?$`)
)

// A Table is what was read of one.
type Table struct {
	Entries []Entry // at most [MaxEntries]
	Bad     int     // lines that cron would not take: it refuses a whole table for one
	First   int     // the number of the first of them
	More    int     // jobs and variables beyond those
	// Variables are at most [MaxEntries], without shells that are usual.
	Variables []Variable
}

// Unread says what of the table is not among its entries; nil is nothing.
func (t Table) Unread() error {
	var list []string
	if t.Bad > 0 {
		list = append(list, fmt.Sprintf("lines that are no job: %d, the first is line %d", t.Bad, t.First))
	}
	if t.More > 0 {
		list = append(list, fmt.Sprintf("jobs beyond the first %d: %d", MaxEntries, t.More))
	}
	if list == nil {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}

// Parse reads a table.
func Parse(raw []byte, form Form) (t Table) {
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		if match := assignment.Get().FindStringSubmatch(text); match != nil {
			t.variable(Variable{number, match[1], strings.Trim(match[2], `"'`)})
			continue
		}
		e, ok := parseLine(text, form)
		e.Line = number
		switch {
		case ok && len(t.Entries) < MaxEntries:
			t.Entries = append(t.Entries, e)
		case ok:
			t.More++
		default:
			t.Bad++
			t.First = cmp.Or(t.First, number)
		}
	}
	return t
}

// variable keeps one that starts something.
func (t *Table) variable(v Variable) {
	directory, name := path.Split(v.Value)
	usual := v.Name == "SHELL" && slices.Contains(usualShells, name) && slices.Contains([]string{"/bin/", "/usr/bin/"}, directory)
	switch {
	case v.Value == "" || usual || !slices.Contains(starters, v.Name):
	case len(t.Variables) < MaxEntries && len(v.Value) <= maxLine:
		t.Variables = append(t.Variables, v)
	default:
		t.More++
	}
}

func parseLine(text string, form Form) (e Entry, ok bool) {
	if len(text) > maxLine || strings.ContainsFunc(text, func(r rune) bool { return r != '\t' && unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		return e, false
	}
	if form == Anacron {
		return anacronLine(text)
	}
	if e.When, text, ok = when(text); !ok {
		return e, false
	}
	if form == System {
		e.User, text = word(text)
		if !account.Get().MatchString(e.User) {
			return e, false
		}
	}
	e.Command = command(text)
	return e, e.Command != ""
}

// when takes the time from the beginning of a line: five fields or a nickname. A dash before it
// (SUSE) only keeps cron from logging.
func when(text string) (fields, rest string, ok bool) {
	text = strings.TrimPrefix(text, "-")
	if first, rest := word(text); strings.HasPrefix(first, "@") {
		return first, rest, nickname.Get().MatchString(first)
	}
	var list []string
	for range 5 {
		var field string
		if field, text = word(text); !timeField.Get().MatchString(field) {
			return "", "", false
		}
		list = append(list, field)
	}
	return strings.Join(list, " "), text, true
}

func anacronLine(text string) (e Entry, ok bool) {
	period, text := word(text)
	delay, text := word(text)
	_, text = word(text) // the name under which it is logged
	if !timeField.Get().MatchString(strings.TrimPrefix(period, "@")) || !timeField.Get().MatchString(delay) {
		return e, false
	}
	if e.When = period; period[0] != '@' {
		e.When = period + " days"
	}
	e.Command = text
	return e, text != ""
}

// word cuts the first word off.
func word(text string) (first, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimLeft(text[at:], " \t")
}

// command leaves out the input after the first percent sign without a backslash before it.
func command(text string) string {
	for i := range len(text) {
		if text[i] == '%' && (i == 0 || text[i-1] != '\\') {
			text = text[:i]
			break
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(text, `\%`, "%"))
}
