// SPDX-License-Identifier: Apache-2.0

// Package crontab parses the tables of cron(8) and anacron(8): crontab(5), anacrontab(5).
package crontab

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/platform/unix/shellscript"
)

// Bounds of a table. That of a line is above those of all versions of cron: cronie has 128 KiB for a command.
const (
	MaxEntries = 1000
	maxLine    = 256 << 10 // bytes
)

// A Form is the form of the lines of a table.
type Form int

// The forms.
const (
	Personal Form = iota // when, command
	System               // when, user, command
	Anacron              // period, delay, name, command
)

// An Entry is one job. Its texts have any bytes but NUL and newline, the input newlines too.
type Entry struct {
	Line    int
	When    string // "*/5 * * * *", "@reboot"; of anacron "7 days", "@monthly"
	User    string // of a system table
	Command string // for the shell
	Input   string // that the command reads; "" for none
	Path    string // the PATH of the table, where it has other directories than those of the system; else ""
}

// Identity tells a job from others of its table.
func (e Entry) Identity() string {
	parts := []string{e.When, e.User, e.Command}
	if e.Input != "" {
		parts = append(parts, e.Input)
	}
	return strings.Join(parts, "\x00")
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

// usualShells are what SHELL is on most machines.
var usualShells = []string{"sh", "bash", "dash", "zsh", "ksh"}

var (
	timeField = lazyregexp.New(`^[-0-9A-Za-z*,/~?#]+`)
	nickname  = lazyregexp.New(`^@[A-Za-z0-9_]+$`)
)

// A Table is what was read of one.
type Table struct {
	Entries []Entry // at most [MaxEntries]
	Bad     int     // lines that cron would not take: it refuses a whole table for one
	First   int     // the number of the first of them
	More    int     // jobs and variables beyond those
	// Left is the digest of the lines that Bad and More count: SHA-256 in hex, "" for none.
	Left string
	// Variables are at most [MaxEntries], without shells and directories of programs that are usual.
	Variables []Variable
}

// A reader is at one line of a table.
type reader struct {
	Table
	path string
	left hash.Hash
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
func Parse(raw []byte, form Form) Table {
	r := reader{left: sha256.New()}
	number := 0
	for line := range bytes.Lines(raw) {
		number++
		r.line(number, strings.TrimSpace(string(line)), form)
	}
	if r.Bad+r.More > 0 {
		r.Left = hex.EncodeToString(r.left.Sum(nil))
	}
	return r.Table
}

func (r *reader) line(number int, whole string, form Form) {
	if whole == "" || whole[0] == '#' {
		return
	}
	text, _, _ := strings.Cut(whole, "\x00") // where a text ends for cron
	name, value, is := assignment(text, form)
	taken := false
	if is {
		taken = r.variable(Variable{number, name, value})
	} else {
		taken = r.job(number, text, form)
	}
	if !taken {
		r.left.Write([]byte(whole + "\n"))
	}
}

// assignment reads a variable as cron does (load_env in its env.c): a quoted value ends with its quote, and a line
// that goes on behind it, or has no such quote, is a job, whose first field may hold "=". anacron takes any value.
func assignment(text string, form Form) (name, value string, is bool) {
	name, rest, is := variableName(text)
	value, equals := strings.CutPrefix(strings.TrimLeft(rest, blanks), "=")
	value = strings.TrimSpace(value)
	switch {
	case !is || !equals || name == "":
		return "", "", false
	case form == Anacron:
		return name, strings.Trim(value, `"'`), true
	case value == "" || !strings.ContainsAny(value[:1], `"'`):
		return name, value, true
	}
	value, after, closed := strings.Cut(value[1:], value[:1])
	return name, value, closed && after == ""
}

// blanks are what isspace(3) has, but newline.
const blanks = " \t\v\f\r"

// variableName cuts off a name, which may stand in quotes.
func variableName(text string) (name, rest string, is bool) {
	if strings.ContainsAny(text[:min(1, len(text))], `"'`) {
		return strings.Cut(text[1:], text[:1])
	}
	end := strings.IndexAny(text, blanks+"=")
	if end < 0 {
		return "", "", false
	}
	return text[:end], text[end:], true
}

// variable keeps one that starts something, and reports whether it is kept or starts nothing.
func (r *reader) variable(v Variable) bool {
	directory, name := path.Split(v.Value)
	usual := slices.Contains(usualShells, name) && slices.Contains([]string{"/bin/", "/usr/bin/"}, directory)
	starts := shellscript.Starts(v.Name, v.Value) || v.Name == "SHELL" && v.Value != "" && !usual
	if v.Name == "PATH" {
		r.path = ""
		if starts {
			r.path = v.Value
		}
	}
	switch {
	case !starts:
		return true
	case len(r.Variables) == MaxEntries || len(v.Value) > maxLine:
		r.More++
		return false
	}
	r.Variables = append(r.Variables, v)
	return true
}

// job keeps one, and reports whether it could.
func (r *reader) job(number int, text string, form Form) bool {
	e, ok := parseLine(text, form)
	e.Line, e.Path = number, r.path
	switch {
	case !ok:
		r.Bad++
		r.First = cmp.Or(r.First, number)
	case len(r.Entries) == MaxEntries:
		r.More++
	default:
		r.Entries = append(r.Entries, e)
		return true
	}
	return false
}

func parseLine(text string, form Form) (e Entry, ok bool) {
	if len(text) > maxLine {
		return e, false
	}
	if form == Anacron {
		return anacronLine(text)
	}
	if e.When, text, ok = when(text); !ok {
		return e, false
	}
	if form == System {
		if e.User, text = word(text); strings.ContainsAny(e.User, "/=") { // it is missing
			return e, false
		}
	}
	e.Command, e.Input = command(text)
	return e, e.Command != "" || e.Input != ""
}

// when takes the time from the beginning of a line: five fields or a nickname. A dash before it
// (SUSE) only keeps cron from logging. Of a field cron reads what it knows and skips the rest up to a blank.
func when(text string) (fields, rest string, ok bool) {
	text = strings.TrimPrefix(text, "-")
	if first, rest := word(text); strings.HasPrefix(first, "@") {
		return first, rest, nickname.Get().MatchString(first)
	}
	var list []string
	for range 5 {
		var field string
		field, text = word(text)
		if field = timeField.Get().FindString(field); field == "" {
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
	for _, field := range []string{strings.TrimPrefix(period, "@"), delay} {
		if field == "" || timeField.Get().FindString(field) != field {
			return e, false
		}
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

// command splits at the first percent sign without a backslash before it: behind it is the input, in which others
// are newlines (crontab(5)). A backslash before another character stays.
func command(text string) (line, input string) {
	var b strings.Builder
	at := percent(text)
	line = strings.TrimSpace(unescaped(text[:at]))
	for at < len(text) {
		text = text[at+1:]
		at = percent(text)
		b.WriteString(unescaped(text[:at]) + "\n")
	}
	return line, b.String()
}

// percent is where the first percent sign stands that no backslash escapes; the end of the text if there is none.
func percent(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '%':
			return i
		}
	}
	return len(text)
}

// unescaped is a text with its percent signs as they are meant.
func unescaped(text string) string { return strings.ReplaceAll(text, `\%`, "%") }
