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

// Errors of output that is not a listing of ps.
var (
	errHeader = errors.New("ps printed no header with PID")
	errText   = errors.New("ps printed a name between other columns, where it has no end")
	errRows   = errors.New("ps printed no row that can be read")
	errStart  = errors.New("ps printed no complete start times")
)

// A listing is the parsed output of ps. fragments counts the lines that are not rows.
type listing struct {
	header    []string
	rows      []Process
	fragments int
}

// parse reads a listing by its header. It accepts any columns, but the one that may contain
// arbitrary text must be the last.
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

// isText reports whether a column contains text that the process chose.
func isText(column string) bool {
	return column == "COMM" || column == "COMMAND" || column == "ARGS" || column == "UCOMM"
}

// complete checks that all the columns that this package requests are there.
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

// only reports whether every row is the single row of one of pids.
func (l listing) onlyRowsOf(pids []int) bool {
	return len(l.single()) == len(l.rows) &&
		!slices.ContainsFunc(l.rows, func(p Process) bool { return !slices.Contains(pids, p.PID) })
}

// row parses one line. It returns false if the line is not a row: the rest of a name with a
// newline, or a message.
func (l listing) row(line string) (Process, bool) {
	var p Process
	for i, column := range l.header[:len(l.header)-1] {
		line = strings.TrimLeft(line, " ")
		var value string
		value, line = splitColumn(column, l.header[i+1], line)
		if value == "" || !p.set(column, value) {
			return p, false
		}
	}
	p.Comm = strings.TrimSpace(line)
	return p, p.PID >= 0
}

// splitColumn splits the value of a column off a line. The start time may have the long or the short form.
// A user name may contain blanks, and ends where a start time begins.
func splitColumn(column, next, line string) (value, rest string) {
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

// start parses the 24 characters of a long start time. It is in UTC because programs are run with
// that time zone.
func start(text string) (time.Time, bool) {
	length := len(time.ANSIC)
	if len(text) < length || text[3] != ' ' || text[7] != ' ' || len(text) > length && text[length] != ' ' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.ANSIC, text[:length])
	return t, err == nil
}

// set stores the value of a column; columns that are not needed are a single word.
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

// cpuTime parses minutes, seconds and hundredths, "7:53.61", optionally preceded by hours and days,
// "1-02:07:53.61".
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
	bits := 24 // for minutes, and fewer for hours, so that the sum does not overflow
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
