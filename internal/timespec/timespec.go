// SPDX-License-Identifier: Apache-2.0

// Package timespec reads moments as people, models and logs write them, and writes them as RFC 3339 has them.
package timespec

import (
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Examples are spellings that [Parse] takes, for a sentence that says what to send.
const Examples = "-2h, 90 min ago, yesterday, 03:12, 2026-03-04 05:06 or 2026-03-04T05:06:07Z"

// MaxLength bounds what is looked at, in bytes.
const MaxLength = 64

// Why a text is no moment.
var (
	errSpelling = errors.New("it is not a time")
	errRange    = errors.New("it is not between the years 1 and 9999")
)

// Format returns a moment as RFC 3339 has it, in UTC; "" for none, and for one of a year that it has no form for, which
// everybody can give their files (utimensat(2)).
func Format(t time.Time) string {
	if t = t.UTC(); t.IsZero() || !Writable(t) {
		return ""
	}
	return t.Format(time.RFC3339)
}

// Writable reports whether RFC 3339 has a form for a moment.
func Writable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

// Parse returns the moment that text names, seen from now and in its time zone:
//
//	now  today  yesterday  tomorrow  monday  yesterday 14:30
//	-2h  2h  1d12h  90 min ago  last hour  +10m
//	03:12  03:12:45  3pm               the last one that has been
//	2026-03-04  2026-03-04 05:06[:07[.5]]  2026-03-04T05:06:07Z  …+01:00  2026/03/04 …
//	Mar 4 05:06:07  4 Mar 2026  04/Mar/2026:05:06:07 +0100
//	@1772600767  1772600767            seconds since 1970, milliseconds with 13 digits
//
// A length of time without a sign lies in the past. A month is one of the calendar.
func Parse(text string, now time.Time) (time.Time, error) {
	if len(text) > MaxLength {
		return time.Time{}, errSpelling
	}
	s := strings.ToUpper(strings.Join(strings.Fields(text), " "))
	for _, read := range []func(string, time.Time) (time.Time, error){epoch, relative, dayAndClock, calendar, clock} {
		t, err := read(s, now)
		switch {
		case errors.Is(err, errSpelling):
			continue
		case err != nil:
			return time.Time{}, err
		case t.Year() < 1 || t.Year() > 9999:
			return time.Time{}, errRange
		}
		return t, nil
	}
	return time.Time{}, errSpelling
}

// epoch reads seconds since 1970, with at most 12 digits so that none overflows.
func epoch(s string, now time.Time) (time.Time, error) {
	digits, marked := strings.CutPrefix(s, "@")
	whole, fraction, _ := strings.Cut(digits, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	switch {
	case err != nil || n < 0 || strings.HasPrefix(whole, "+"):
		return time.Time{}, errSpelling
	case len(whole) == 13:
		return time.UnixMilli(n).In(now.Location()), nil
	case len(whole) > 12 || !marked && len(whole) != 10:
		return time.Time{}, errSpelling
	}
	nanos := 0
	if fraction != "" {
		part, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 32)
		if err != nil {
			return time.Time{}, errSpelling
		}
		nanos = int(part)
	}
	return time.Unix(n, int64(nanos)).In(now.Location()), nil
}

// maxCount bounds the number before a unit: no calculation with it overflows.
const maxCount = 1_000_000

// relative reads lengths of time.
func relative(s string, now time.Time) (time.Time, error) {
	sign, s := direction(s)
	t, found := now, false
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ,") {
		count, rest := countOf(s)
		unit, rest := leading(strings.TrimLeft(rest, " "), unicode.IsLetter)
		step, ok := units[unit]
		if !ok {
			step, ok = units[strings.TrimSuffix(unit, "S")]
		}
		if !ok || count < 0 {
			return time.Time{}, errSpelling
		}
		if count > maxCount {
			return time.Time{}, errRange
		}
		t = step(t, sign*count)
		if t.Year() < 1 || t.Year() > 9999 {
			return time.Time{}, errRange
		}
		s, found = rest, true
	}
	if !found {
		return time.Time{}, errSpelling
	}
	return t, nil
}

// direction cuts off what says whether a length lies ahead.
func direction(s string) (sign int, rest string) {
	s = strings.TrimSuffix(s, " AGO")
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		return 1, rest
	}
	for _, word := range []string{"-", "LAST ", "PAST "} {
		if rest, ok := strings.CutPrefix(s, word); ok {
			return -1, rest
		}
	}
	return -1, s
}

// countOf reads the number before a unit; a unit alone is one of it, as in "last hour". Below 0 is
// none.
func countOf(s string) (count int, rest string) {
	digits, rest := leading(s, func(r rune) bool { return r >= '0' && r <= '9' })
	if digits == "" {
		word, _, _ := strings.Cut(s, " ")
		if word == "A" || word == "AN" {
			return 1, s[len(word):]
		}
		if len(s) > 2 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return 1, s
		}
		return -1, s
	}
	if len(digits) > 9 {
		return maxCount + 1, rest
	}
	count, err := strconv.Atoi(digits)
	if err != nil {
		return -1, s
	}
	return count, rest
}

// leading cuts off the runes at the beginning that are of a kind.
func leading(s string, is func(rune) bool) (of, rest string) {
	rest = strings.TrimLeftFunc(s, is)
	return s[:len(s)-len(rest)], rest
}

// units are steps of time by their names, without the s of several.
var units = map[string]func(t time.Time, n int) time.Time{
	"S": seconds(time.Second), "SEC": seconds(time.Second), "SECOND": seconds(time.Second),
	"M": seconds(time.Minute), "MIN": seconds(time.Minute), "MINUTE": seconds(time.Minute),
	"H": seconds(time.Hour), "HR": seconds(time.Hour), "HOUR": seconds(time.Hour),
	"D": days(1), "DAY": days(1), "W": days(7), "WEEK": days(7),
	"MONTH": func(t time.Time, n int) time.Time { return t.AddDate(0, n, 0) },
	"Y":     func(t time.Time, n int) time.Time { return t.AddDate(n, 0, 0) },
	"YEAR":  func(t time.Time, n int) time.Time { return t.AddDate(n, 0, 0) },
}

func seconds(unit time.Duration) func(time.Time, int) time.Time {
	return func(t time.Time, n int) time.Time { return t.Add(time.Duration(n) * unit) }
}

// days keep the hour of the day over a change of the clocks.
func days(each int) func(time.Time, int) time.Time {
	return func(t time.Time, n int) time.Time { return t.AddDate(0, 0, n*each) }
}

// dayAndClock reads a day by its name, with a time of day or at its beginning.
func dayAndClock(s string, now time.Time) (time.Time, error) {
	if s == "NOW" {
		return now, nil
	}
	word, rest, _ := strings.Cut(strings.TrimPrefix(s, "LAST "), " ")
	day, ok := dayNamed(word, now)
	if !ok {
		return time.Time{}, errSpelling
	}
	rest = strings.TrimPrefix(rest, "AT ")
	if rest == "" {
		return day, nil
	}
	of, ok := timeOfDay(rest)
	if !ok {
		return time.Time{}, errSpelling
	}
	return on(day, of), nil
}

// dayNamed returns the beginning of a day; a day of the week is the last one, today included.
func dayNamed(word string, now time.Time) (time.Time, bool) {
	away, ok := map[string]int{"TODAY": 0, "YESTERDAY": -1, "TOMORROW": 1}[word]
	for day := range time.Saturday + 1 {
		if name := strings.ToUpper(day.String()); word == name || word == name[:3] {
			away, ok = -((int(now.Weekday()-day) + 7) % 7), true
		}
	}
	return time.Date(now.Year(), now.Month(), now.Day()+away, 0, 0, 0, 0, now.Location()), ok
}

// clock reads a time of day: the last one that has been.
func clock(s string, now time.Time) (time.Time, error) {
	of, ok := timeOfDay(s)
	if !ok {
		return time.Time{}, errSpelling
	}
	t := on(now, of)
	if t.After(now) {
		t = on(now.AddDate(0, 0, -1), of)
	}
	return t, nil
}

func timeOfDay(s string) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05", "3:04PM", "3:04 PM", "3PM", "3 PM"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// on returns a time of day on a day.
func on(day, of time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), of.Hour(), of.Minute(), of.Second(), of.Nanosecond(), day.Location())
}

// Layouts of moments with their day. Without a year it is the last such day; seconds may have a
// fraction in all of them (package time).
var (
	dated = []string{
		"2006-01-02", "20060102", "Jan 2 2006", "2 Jan 2006", "2 January 2006", "January 2 2006", "January 2, 2006", "Jan 2, 2006",
		"Mon Jan 2 15:04:05 2006", "Mon 2006-01-02 15:04:05", "02/Jan/2006:15:04:05 -0700", "02/Jan/2006:15:04:05", "Mon, 02 Jan 2006 15:04:05 -0700", "Mon, 02 Jan 2006 15:04:05",
	}
	clocks   = []string{"15:04", "15:04:05"}
	zones    = []string{"", "Z07:00", " Z07:00", "Z0700", " -0700", "Z07"}
	yearless = []string{"Jan 2", "2 Jan", "January 2", "2 January", "Jan 2 15:04", "Jan 2 15:04:05"}
)

// calendar reads a day of the calendar, with a time of day or at its beginning.
func calendar(s string, now time.Time) (time.Time, error) {
	zone := now.Location()
	for _, name := range []string{" UTC", " GMT"} {
		if rest, ok := strings.CutSuffix(s, name); ok {
			s, zone = rest, time.UTC
		}
	}
	s = strings.ReplaceAll(s, " AT ", " ")
	if len(s) > 7 && s[4] == '/' && s[7:8] == "/" {
		s = s[:4] + "-" + s[5:7] + "-" + s[8:]
	}
	for _, layout := range dated {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t.In(now.Location()), nil
		}
	}
	if t, ok := dayWithClock(s, zone); ok {
		return t.In(now.Location()), nil
	}
	for _, layout := range yearless {
		// 2000 is a leap year: the 29th of February is a day of it.
		if t, err := time.ParseInLocation("2006 "+layout, "2000 "+s, zone); err == nil {
			return lastOf(t, now), nil
		}
	}
	return time.Time{}, errSpelling
}

func dayWithClock(s string, zone *time.Location) (time.Time, bool) {
	for _, between := range []string{"T", " "} {
		for _, of := range clocks {
			for _, offset := range zones {
				if t, err := time.ParseInLocation("2006-01-02"+between+of+offset, s, zone); err == nil {
					return t, true
				}
			}
		}
	}
	return time.Time{}, false
}

// lastOf returns the last day like t, which has no year of its own, that is not after tomorrow.
func lastOf(t, now time.Time) time.Time {
	return LastYear(now.AddDate(0, 0, 1), t.Month(), t.Day(), func(year int) time.Time {
		return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	})
}

// LastYear returns the moment that in gives for the latest year in which it is not after end; a day
// that the year does not have, the 29th of February, is looked for in earlier ones.
func LastYear(end time.Time, month time.Month, day int, in func(year int) time.Time) time.Time {
	var t time.Time
	for year := end.Year() + 1; year > end.Year()-9; year-- {
		t = in(year)
		if t.Month() == month && t.Day() == day && !t.After(end) {
			break
		}
	}
	return t
}
