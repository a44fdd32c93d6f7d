// SPDX-License-Identifier: Apache-2.0

package connectscan

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

func TestPortsWhereAScanMetItselfAreAskedAgain(t *testing.T) {
	// 22 and 80 have a listener; 5000 met itself; 6000 and 7000 met each other,
	// and behind 7000 somebody listens besides.
	open := map[uint16]uint16{22: 40000, 80: 22, 5000: 5000, 6000: 7000, 7000: 6000}
	var asked [][]uint16
	closed, err := confirm(open, func(ports []uint16) error {
		slices.Sort(ports)
		asked = append(asked, slices.Clone(ports))
		if slices.Contains(ports, 7000) {
			open[7000] = 41000
		}
		return nil
	})
	if err != nil || closed != 0 || !maps.Equal(open, map[uint16]uint16{22: 40000, 80: 22, 7000: 41000}) {
		t.Errorf("open %v, closed %d, %v", open, closed, err)
	}
	if len(asked) != 1 || !slices.Equal(asked[0], []uint16{5000, 6000, 7000}) {
		t.Errorf("asked %v", asked)
	}
}

func TestAPortThatOnlyMeetsItselfIsClosed(t *testing.T) {
	open, asked := map[uint16]uint16{22: 40000, 5000: 5000}, 0
	closed, err := confirm(open, func([]uint16) error {
		asked++
		open[5000] = 5000
		return nil
	})
	if err != nil || closed != 1 || asked != 64 || !maps.Equal(open, map[uint16]uint16{22: 40000}) {
		t.Errorf("open %v, closed %d, asked %d times, %v", open, closed, asked, err)
	}
}

func TestConfirmingEndsWithTheScan(t *testing.T) {
	failure := errors.New("no route")
	if closed, err := confirm(map[uint16]uint16{5000: 5000}, func([]uint16) error { return failure }); !errors.Is(err, failure) || closed != 0 {
		t.Errorf("%d, %v", closed, err)
	}
}
