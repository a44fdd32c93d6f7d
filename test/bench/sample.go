// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A sample is what one run of a program cost.
type sample struct {
	cpu  time.Duration // user and system
	wall time.Duration
	peak int64 // resident memory, bytes
}

// once runs a program to its end with its output thrown away, as /dev/null
// does.
func once(ctx context.Context, argv ...string) (sample, error) {
	return runTo(ctx, nil, argv...)
}

// runTo runs a program with its output sent to w. The kernel's account of peak
// memory begins with that of the process that starts the program, this one, so
// it is never below that: see ownPeak.
func runTo(ctx context.Context, w io.Writer, argv ...string) (sample, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = w
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return sample{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall, peak: peak(cmd)}, nil
}

func peak(cmd *exec.Cmd) int64 {
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) << 10 //nolint:unconvert // it has 32 bits on ARM
}

// rounds runs each of several programs once a round, in turn, so that whatever
// else the machine does meets all of them; the order turns too. The first round
// warms up and does not count. Samples are by program, then by round.
func rounds(ctx context.Context, count int, programs ...[]string) ([][]sample, error) {
	all := make([][]sample, len(programs))
	for round := range count + 1 {
		for i := range programs {
			at := (i + round) % len(programs)
			s, err := once(ctx, programs[at]...)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[at] = append(all[at], s)
			}
		}
	}
	return all, nil
}

// ratio returns the median over the rounds of what first cost against the sum
// of what the others cost.
func ratio(cost func(sample) time.Duration, first []sample, others ...[]sample) float64 {
	ratios := make([]float64, len(first))
	for round, s := range first {
		var sum time.Duration
		for _, other := range others {
			sum += cost(other[round])
		}
		ratios[round] = float64(cost(s)) / float64(sum)
	}
	return median(ratios)
}

func cpu(s sample) time.Duration  { return s.cpu }
func wall(s sample) time.Duration { return s.wall }

// milliseconds returns the median of a cost.
func milliseconds(cost func(sample) time.Duration, samples []sample) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = cost(s).Seconds() * 1000
	}
	return median(values)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
