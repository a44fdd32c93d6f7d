// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
)

// top prints two samples, a second apart, without processes; the first one covers no time. The
// counters of each core cannot be read without cgo, so only the usage of all cores together is
// known.
const (
	topProgram = "/usr/bin/top"
	topWindow  = time.Second
	topLimit   = 5 * time.Second
)

var topArguments = []string{"-l", "2", "-n", "0", "-s", "1"}

type share struct {
	value health.CPUShare
	err   error
}

// cpu starts top on the first call and waits for it on the second, so that top measures the time
// between them and a little more.
func (s *source) cpu(ctx context.Context) (health.CPUSample, error) {
	first := false
	s.topOnce.Do(func() {
		first = true
		s.share = make(chan share, 1)
		go func() { s.share <- s.measure(ctx) }()
	})
	if first {
		return health.CPUSample{}, nil
	}
	select {
	case found := <-s.share:
		s.share <- found
		return health.CPUSample{Share: &found.value}, found.err
	case <-ctx.Done():
		return health.CPUSample{}, ctx.Err()
	}
}

func (s *source) measure(ctx context.Context) share {
	r, err := s.Runner.Run(ctx, sysexec.Command{Path: topProgram, Args: topArguments, Timeout: topLimit, WaitDelay: waitDelay})
	if err != nil {
		return share{err: err}
	}
	if r.Exit != 0 {
		return share{err: failed("top", r)}
	}
	percent, err := busy(r.Stdout)
	return share{health.CPUShare{Percent: percent, Cores: s.cores(ctx), Window: topWindow}, err}
}

var errBusy = errors.New("top printed no processor usage")

// busy parses the last of two lines such as "CPU usage: 67.43% user, 6.56% sys, 25.99% idle".
func busy(raw []byte) (float64, error) {
	samples, percent := 0, 0.0
	for line := range strings.Lines(string(raw)) {
		rest, ok := strings.CutPrefix(line, "CPU usage: ")
		if !ok {
			continue
		}
		idle, ok := idleShare(rest)
		if !ok {
			return 0, errBusy
		}
		samples++
		percent = 100 - idle
	}
	if samples < 2 {
		return 0, errBusy
	}
	return percent, nil
}

func idleShare(text string) (float64, bool) {
	for part := range strings.SplitSeq(text, ",") {
		number, ok := strings.CutSuffix(strings.TrimSpace(part), "% idle")
		if !ok {
			continue
		}
		idle, err := strconv.ParseFloat(number, 64)
		// Rounded shares may add up to a little more than 100.
		return min(100, idle), err == nil && !math.IsNaN(idle) && idle >= 0 && idle <= 101
	}
	return 0, false
}
