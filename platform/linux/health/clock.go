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

// A clock holds what the kernel reports about the system clock (adjtimex(2)).
type clock struct {
	synchronized bool
	offset       float64 // seconds; the correction that is under way
}

// readClock sets no mode, so it changes nothing and needs no privilege.
func readClock() (clock, error) {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return clock{}, clockError(err)
	}
	return newClock(t), nil
}

// clockError explains a refusal, which does not come from the kernel's own rules: root meets it as well.
func clockError(err error) error {
	if errors.Is(err, unix.EPERM) {
		return errors.New("this container does not let anybody ask the kernel for its clock (adjtimex)")
	}
	return err
}

// newClock converts the offset, which is in microseconds unless STA_NANO is set.
func newClock(t unix.Timex) clock {
	unit := 1e-6
	if t.Status&unix.STA_NANO != 0 {
		unit = 1e-9
	}
	return clock{synchronized: t.Status&unix.STA_UNSYNC == 0, offset: float64(t.Offset) * unit}
}

// clock works only on the live system: a tree of files has no clock.
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

var errUnsynchronized = errors.New("unknown while the clock is not synchronized")

// clockOffset is unknown while the clock is not synchronized.
func (s source) clockOffset(ctx context.Context) (health.Reading, error) {
	c, err := s.clock()
	if err == nil && !c.synchronized {
		err = errUnsynchronized
	}
	if err != nil {
		return health.Reading{}, err
	}
	if offset, known, err := s.chronyOffset(ctx); known {
		return health.Reading{Value: math.Abs(offset)}, err
	}
	return health.Reading{Value: math.Abs(c.offset)}, nil
}
