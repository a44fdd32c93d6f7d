// SPDX-License-Identifier: Apache-2.0

// Package sysctl reads kernel values of macOS with one run of sysctl(8).
package sysctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// program is the path of sysctl.
const program = "/usr/sbin/sysctl"

const (
	limit     = 2500 * time.Millisecond // less than health's deadline for a fact
	waitDelay = 200 * time.Millisecond  // a program that only prints is not worth waiting for
)

// Values maps names to the values of the kernel. A name that it does not know is absent.
type Values map[string]string

// Read returns the values of names. Which names exist differs between releases and processors, so
// an unknown name is not an error, unless all are unknown.
func Read(ctx context.Context, runner sysexec.Runner, names ...string) (Values, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: names, Timeout: limit, WaitDelay: waitDelay})
	if err != nil {
		return nil, err
	}
	values := parse(r.Stdout, names)
	if len(values) == 0 {
		return nil, fmt.Errorf("sysctl ended with status %d and printed no value", r.Exit)
	}
	return values, nil
}

// parse reads "name: value". It skips lines that begin with none of names; the first value of a
// name counts.
func parse(raw []byte, names []string) Values {
	values := Values{}
	for line := range strings.Lines(string(raw)) {
		name, value, found := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		_, before := values[name]
		if found && !before && slices.Contains(names, name) {
			values[name] = strings.TrimSpace(value)
		}
	}
	return values
}

// ErrAbsent reports that the kernel does not know a name.
var ErrAbsent = errors.New("this kernel does not report it")

// Number returns the value of name as an unsigned number.
func (v Values) Number(name string) (uint64, error) {
	text, found := v[name]
	if !found {
		return 0, fmt.Errorf("%s: %w", name, ErrAbsent)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is no number", name)
	}
	return n, nil
}

// BootTime returns the time of boot, from kern.boottime ("{ sec = 1758552252, usec = 973963 } Mon
// Sep 22 ..."). The kernel adjusts it when the clock is set.
func (v Values) BootTime() (time.Time, error) {
	text, found := v["kern.boottime"]
	if !found {
		return time.Time{}, fmt.Errorf("kern.boottime: %w", ErrAbsent)
	}
	var seconds, micros int64
	if _, err := fmt.Sscanf(text, "{ sec = %d, usec = %d }", &seconds, &micros); err != nil || seconds <= 0 || micros < 0 || micros >= 1e6 {
		return time.Time{}, errors.New("kern.boottime has another form")
	}
	return time.Unix(seconds, micros*1000).UTC(), nil
}

// LoadAverage returns the load over 1, 5 and 15 minutes, from vm.loadavg
// ("{ 1.79 1.52 1.67 }").
func (v Values) LoadAverage() (loads [3]float64, err error) {
	text, found := v["vm.loadavg"]
	if !found {
		return loads, fmt.Errorf("vm.loadavg: %w", ErrAbsent)
	}
	fields := strings.Fields(strings.Trim(text, "{} "))
	if len(fields) != len(loads) {
		return loads, errors.New("vm.loadavg has another form")
	}
	for i, field := range fields {
		loads[i], err = strconv.ParseFloat(field, 64)
		if err != nil || loads[i] < 0 || loads[i] > 1e6 || loads[i] != loads[i] {
			return [3]float64{}, errors.New("vm.loadavg has another form")
		}
	}
	return loads, nil
}

// Swap returns the total and used swap space in bytes, from vm.swapusage ("total = 3072.00M used =
// 1422.75M free = 1649.25M (encrypted)"). macOS creates swap files on demand: a total of 0 means
// that none has been needed yet.
func (v Values) Swap() (total, used uint64, err error) {
	text, found := v["vm.swapusage"]
	if !found {
		return 0, 0, fmt.Errorf("vm.swapusage: %w", ErrAbsent)
	}
	fields := strings.Fields(text)
	if len(fields) < 6 || fields[0] != "total" || fields[3] != "used" {
		return 0, 0, errors.New("vm.swapusage has another form")
	}
	if total, err = size(fields[2]); err != nil {
		return 0, 0, err
	}
	if used, err = size(fields[5]); err != nil {
		return 0, 0, err
	}
	if used > total {
		return 0, 0, errors.New("vm.swapusage reports more used than the total")
	}
	return total, used, nil
}

// size reads a number of bytes with its unit, "3072.00M".
func size(text string) (uint64, error) {
	bad := fmt.Errorf("vm.swapusage holds the size %q", text)
	if text == "" {
		return 0, bad
	}
	shift := strings.IndexByte("BKMGT", text[len(text)-1])
	n, err := strconv.ParseFloat(text[:len(text)-1], 64)
	if shift < 0 || err != nil || n < 0 || n >= 1<<20 || n != n {
		return 0, bad
	}
	return uint64(n * float64(uint64(1)<<(10*shift))), nil
}
