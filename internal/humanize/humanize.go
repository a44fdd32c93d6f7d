// SPDX-License-Identifier: Apache-2.0

// Package humanize writes quantities for people.
package humanize

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes formats a size in binary units, with three digits.
func Bytes(n uint64) string {
	const step = 1024
	if n < step {
		return strconv.FormatUint(n, 10) + " B"
	}
	x := float64(n)
	unit := 0
	for x >= step && unit < 6 {
		x /= step
		unit++
	}
	places := 1
	if x >= 100 {
		places = 0
	}
	return fmt.Sprintf("%.*f %ciB", places, x, " KMGTPE"[unit])
}

// Percent formats a percentage.
func Percent(p float64) string { return fmt.Sprintf("%.1f %%", p) }

// Duration formats a duration as days, hours and minutes.
func Duration(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	days, rest := int64(d.Hours())/24, d%(24*time.Hour)
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, int(rest.Hours()))
	case rest >= time.Hour:
		return fmt.Sprintf("%d h %d min", int(rest.Hours()), int(rest.Minutes())%60)
	default:
		return fmt.Sprintf("%d min", int(rest.Minutes()))
	}
}

// Moment formats a time in the zone of this machine, with its offset from UTC.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04 -07:00") }

// Processors shows a number of processors, which may be a part of one: "0.5 processors", "1 processor".
func Processors(n float64) string {
	text := strconv.FormatFloat(n, 'g', 3, 64)
	if text == "1" {
		return "1 processor"
	}
	return text + " processors"
}

// Count shows a number of things with the word for one or for several: "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
