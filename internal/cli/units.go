// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"time"
)

// bytesText shows a size in binary units, three digits.
func bytesText(n uint64) string {
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

// percentText shows a share.
func percentText(p float64) string { return fmt.Sprintf("%.1f %%", p) }

// durationText shows days, hours and minutes.
func durationText(seconds int64) string {
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

// pidText shows a PID, or a dash where it is not known.
func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}

// known shows a text, or a dash where it is not known.
func known(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// counted shows a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// addresses shows a number of addresses.
func addresses(n int) string {
	if n == 1 {
		return "1 address"
	}
	return fmt.Sprintf("%d addresses", n)
}

// momentText shows a time of the past or the future in the time zone of this
// machine, with its year only where that is not this one.
func momentText(t, now time.Time) string {
	t = t.Local()
	if t.Year() == now.Local().Year() {
		return t.Format("01-02 15:04")
	}
	return t.Format("2006-01-02 15:04")
}
