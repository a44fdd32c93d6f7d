// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// tables answers one table after the other, as read at that moment.
type tables struct {
	source
	list  []Table
	fails int // the call that fails, from 1
	calls int
}

var errTable = errors.New("no table")

func (s *tables) Table(context.Context) (Table, error) {
	s.calls++
	if s.calls == s.fails {
		return Table{}, errTable
	}
	t := s.list[s.calls-1]
	for i := range t.Samples {
		t.Samples[i].Read = time.Now()
	}
	return t, nil
}

func two() *tables {
	return &tables{list: []Table{
		table(began, Sample{PID: 1, CPU: time.Second}),
		table(began, Sample{PID: 1, CPU: time.Second + 125*time.Millisecond}),
	}}
}

func TestTopMeasuresOverHalfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got, err := Top(t.Context(), two(), Options{Sort: "cpu"})
		if err != nil || got.Processes[0].CPUPercent != 25 || got.WindowMS != 500 || time.Since(start) != 500*time.Millisecond {
			t.Errorf("got %+v after %v, %v", got, time.Since(start), err)
		}
	})
}

func TestTopFailsWithItsSource(t *testing.T) {
	for call := 1; call <= 2; call++ {
		synctest.Test(t, func(t *testing.T) {
			s := two()
			s.fails = call
			if _, err := Top(t.Context(), s, Options{}); !errors.Is(err, errTable) {
				t.Errorf("call %d: %v", call, err)
			}
		})
	}
}

func TestTopEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start, s := time.Now(), two()
		if _, err := Top(ctx, s, Options{}); !errors.Is(err, context.DeadlineExceeded) || s.calls != 1 || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%v after %v and %d calls", err, time.Since(start), s.calls)
		}
	})
}
