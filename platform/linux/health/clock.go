// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"context"
	"errors"
	"math"

	"golang.org/x/sys/unix"

	"sentinel/internal/health"
)

// A clock is what the kernel says of the system clock (adjtimex(2)).
type clock struct {
	synchronized bool
	offset       float64 // seconds, of the correction that is under way
}

// readClock changes nothing: no mode is set, so that nobody needs a right for it.
func readClock() (clock, error) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return clock{}, err
	}
	return newClock(t), nil
}

// newClock knows the unit of the offset, microseconds unless STA_NANO is set.
func newClock(t unix.Timex) clock {
	unit := 1e-6
	if t.Status&unix.STA_NANO != 0 {
		unit = 1e-9
	}
	return clock{synchronized: t.Status&unix.STA_UNSYNC == 0, offset: float64(t.Offset) * unit}
}

// clock reads the live system alone: a tree of files has no clock.
func (s source) clock() (clock, error) {
	if s.root != "/" {
		return clock{}, errNotLive
	}
	return readClock()
}

func (s source) clockUnsynchronized(context.Context) (health.Reading, error) {
	c, err := s.clock()
	if err != nil || c.synchronized {
		return health.Reading{}, err
	}
	return health.Reading{Value: 1}, nil
}

var errUnsynchronized = errors.New("nobody measures it while the clock is not synchronized")

// clockOffset is not known while nobody measures it.
func (s source) clockOffset(context.Context) (health.Reading, error) {
	c, err := s.clock()
	if err == nil && !c.synchronized {
		err = errUnsynchronized
	}
	return health.Reading{Value: math.Abs(c.offset)}, err
}
