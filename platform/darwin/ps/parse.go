// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Errors of what is no listing of ps.
var (
	errHeader = errors.New("ps printed no header with PID")
	errText   = errors.New("ps printed a name between other columns, where it has no end")
	errRows   = errors.New("ps printed no row that can be read")
	errStart  = errors.New("ps printed no complete start of processes")
)

// A listing is what ps printed. Fragments counts the lines that are no row.
type listing struct {
	header    []string
	rows      []Process
	fragments int
}

// parse reads a listing by its header. Which columns there are is free, but the
// one that may hold anything has to be the last.
func parse(raw []byte) (listing, error) {
	first, rest, _ := strings.Cut(string(raw), "\n")
	l := listing{header: strings.Fields(first)}
	if !slices.Contains(l.header, "PID") {
		return l, errHeader
	}
	if slices.IndexFunc(l.header, isText) != len(l.header)-1 {
		return l, errText
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\r\n")
		if p, ok := l.row(line); ok {
			l.rows = append(l.rows, p)
		} else if strings.TrimSpace(line) != "" {
			l.fragments++
		}
	}
	if len(l.rows) == 0 {
		return l, errRows
	}
	return l, nil
}

// isText says that a column holds what its process chose.
func isText(column string) bool {
	return column == "COMM" || column == "COMMAND" || column == "ARGS" || column == "UCOMM"
}

// complete checks that the columns which this package asks for are there.
func (l listing) complete() error {
	for _, column := range []string{"PPID", "UID", "STAT", "TIME", "RSS", "USER", "STARTED"} {
		if !slices.Contains(l.header, column) {
			return fmt.Errorf("ps printed no column %s", column)
		}
	}
	if slices.ContainsFunc(l.rows, func(p Process) bool { return p.Started.IsZero() }) {
		return errStart
	}
	return nil
}

// single returns the rows whose PID has no other row.
func (l listing) single() []Process {
	times := make(map[int]int, len(l.rows))
	for _, p := range l.rows {
		times[p.PID]++
	}
	return slices.DeleteFunc(slices.Clone(l.rows), func(p Process) bool { return times[p.PID] > 1 })
}

// only says that there are single rows of pids and no others.
func (l listing) only(pids []int) bool {
	return len(l.single()) == len(l.rows) &&
		!slices.ContainsFunc(l.rows, func(p Process) bool { return !slices.Contains(pids, p.PID) })
}

// row reads one line. It is false when the line is none of these columns: the
// rest of a name with a newline, or a message.
func (l listing) row(line string) (Process, bool) {
	var p Process
	for i, column := range l.header[:len(l.header)-1] {
		line = strings.TrimLeft(line, " ")
		var value string
		value, line = cut(column, l.header[i+1], line)
		if value == "" || !p.set(column, value) {
			return p, false
		}
	}
	p.Comm = strings.TrimSpace(line)
	return p, p.PID >= 0 && p.Comm != ""
}

// cut takes the value of a column off a line. The start is long or short. The
// name of a user may hold blanks, and ends where a start begins.
func cut(column, next, line string) (value, rest string) {
	if column == "STARTED" {
		if _, ok := start(line); ok {
			return line[:len(time.ANSIC)], line[len(time.ANSIC):]
		}
	}
	if column == "USER" && next == "STARTED" {
		for at := 1; at+len(time.ANSIC) <= len(line); at++ {
			if _, ok := start(line[at:]); ok && line[at-1] == ' ' {
				return strings.TrimRight(line[:at], " "), line[at:]
			}
		}
	}
	if end := strings.IndexByte(line, ' '); end >= 0 {
		return line[:end], line[end:]
	}
	return line, ""
}

// start reads the 24 characters of a long start, which is in UTC because the
// time zone of programs is.
func start(text string) (time.Time, bool) {
	length := len(time.ANSIC)
	if len(text) < length || text[3] != ' ' || text[7] != ' ' || len(text) > length && text[length] != ' ' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.ANSIC, text[:length])
	return t, err == nil
}

// set stores the value of a column; columns that are not needed hold one word.
func (p *Process) set(column, value string) bool {
	var err error
	switch column {
	case "PID":
		p.PID, err = strconv.Atoi(value)
	case "PPID":
		p.PPID, err = strconv.Atoi(value)
	case "UID":
		p.UID, err = strconv.Atoi(value)
	case "USER":
		p.User = value
	case "STAT":
		p.State = value[0]
	case "TIME":
		p.CPU, err = cpuTime(value)
	case "RSS":
		var kib uint64
		kib, err = strconv.ParseUint(value, 10, 54)
		p.RSS = kib << 10
	case "STARTED":
		p.Started, _ = start(value)
	}
	return err == nil
}

var errTime = errors.New("no time of ps")

// cpuTime reads minutes, seconds and hundredths, "7:53.61", with hours and days
// before them if there are any, "1-02:07:53.61".
func cpuTime(text string) (time.Duration, error) {
	var days uint64
	if before, after, found := strings.Cut(text, "-"); found {
		n, err := strconv.ParseUint(before, 10, 14)
		if err != nil {
			return 0, err
		}
		days, text = n, after
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, errTime
	}
	whole, hundredths, found := strings.Cut(parts[len(parts)-1], ".")
	if !found || len(hundredths) != 2 {
		return 0, errTime
	}
	parts[len(parts)-1] = whole
	bits := 24 // of minutes, and less of hours, for the sum to fit
	if len(parts) == 3 {
		bits = 18
	}
	var units uint64
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, bits)
		if err != nil {
			return 0, err
		}
		units = units*60 + n
	}
	n, err := strconv.ParseUint(hundredths, 10, 8)
	if err != nil {
		return 0, err
	}
	return time.Duration(days)*24*time.Hour + time.Duration(units)*time.Second + time.Duration(n)*10*time.Millisecond, nil
}
