// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// However many end, their open files are read once, and those of people not.
func TestWhatEndsTogetherIsReadAtOnce(t *testing.T) {
	v := master(Facts{Name: "sleep", UserID: 1500, Nested: true})
	v.facts[0].First, v.below = true, nil
	for i := range 4 * maxBelow {
		v.below = append(v.below, Relative{PID: worker + i})
		v.parents[worker+i] = v.parents[worker]
	}
	p, err := PlanTermination(t.Context(), v, Target{PID: 4242}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if !slices.Equal(v.holdings, []int{1, maxBelow}) || v.people {
		t.Errorf("%v, of people %v", v.holdings, v.people)
	}
	if len(v.along) != 1+3*maxBelow || v.along[0] != 4242 || v.along[1] != worker+maxBelow {
		t.Errorf("along with %v", v.along)
	}
}

// A slow process takes a second to tell what it is.
type slow struct{ *victim }

func (s slow) Facts(ctx context.Context) (Facts, error) {
	<-time.After(time.Second)
	return s.victim.Facts(ctx)
}

// What an account of the system has takes no time from people's.
func TestWhatTheSystemMakesDearHidesNobodys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &victim{parents: map[int]Pinned{303: &victim{facts: []Facts{{Name: "x", UserID: 1500, Watchdog: "/dev/watchdog"}}}}}
		list := []Ending{{PID: 300}, {PID: 301}, {PID: 302}, {PID: 303}}
		for pid := 300; pid < 303; pid++ {
			v.parents[pid] = slow{&victim{facts: []Facts{{Name: "x", UserID: 33}}}}
		}
		if pid, _, why, err := Essential(t.Context(), v, list, nil, nil); pid != 303 || why == "" || err != nil {
			t.Errorf("%d %s, %v", pid, why, err)
		}
	})
}

// Whoever makes their processes dear to look at does not keep what they end with.
func TestWhatPeopleMakeDearIsGivenUp(t *testing.T) {
	for uid, want := range map[int]int{1500: 0, 33: 303} {
		synctest.Test(t, func(t *testing.T) {
			v := &victim{parents: map[int]Pinned{}}
			var list []Ending
			for pid := 300; pid < 304; pid++ {
				v.parents[pid] = slow{&victim{facts: []Facts{{Name: "x", UserID: uid, Watchdog: map[int]string{303: "/dev/watchdog"}[pid]}}}}
				list = append(list, Ending{PID: pid})
			}
			if pid, _, why, err := Essential(t.Context(), v, list, nil, nil); pid != want || (why != "") != (want != 0) || err != nil {
				t.Errorf("of %d: %d %s, %v", uid, pid, why, err)
			}
		})
	}
}
