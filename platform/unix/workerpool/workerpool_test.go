// SPDX-License-Identifier: Apache-2.0

package workerpool

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A tree of directories that are numbers: those from 100 on do not answer before all is over, and what is in them is
// never read in time. Below 10 each has one in it.
type tree struct {
	mu    sync.Mutex
	read  []int // to its end and in time
	late  []int
	again chan struct{}
}

func (t *tree) pool(workers int) Pool[int, []int] {
	return Pool[int, []int]{
		Read: func(_ *Steps, d int) []int {
			if d >= 100 {
				<-t.again
			}
			if d < 10 {
				return []int{d + 10}
			}
			return nil
		},
		Add: func(d int, found []int) []int { t.read = append(t.read, d); return found },
		Late: func(d int, _ []int) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.late = append(t.late, d)
		},
		Workers: workers,
	}
}

// What does not answer is told, all else is read, and what comes too late is not added.
func TestWhatDoesNotAnswerHidesNoOther(t *testing.T) {
	for _, workers := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			tree := tree{again: make(chan struct{})}
			left, stuck := tree.pool(workers).Run(t.Context(), 1, 2, 3, 100, 101, 102, 103, 104)
			read := slices.Sorted(slices.Values(tree.read))
			slices.Sort(stuck)
			if diff := cmp.Diff([][]int{{1, 2, 3, 11, 12, 13}, {100, 101, 102, 103, 104}, nil}, [][]int{read, stuck, append([]int(nil), left...)}); diff != "" {
				t.Errorf("%d workers: %s", workers, diff)
			}
			close(tree.again)
			synctest.Wait() // and no goroutine is left behind
			if len(tree.read) != 6 || len(tree.late) != 5 {
				t.Errorf("%d workers: then %v, %v too late", workers, tree.read, tree.late)
			}
		})
	}
}

// Of very many that do not answer only some keep a thread, and the others are left.
func TestOnlySomeWorkersAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree, first := tree{again: make(chan struct{})}, make([]int, 100)
		for i := range first {
			first[i] = 100 + i
		}
		left, stuck := tree.pool(4).Run(t.Context(), first...)
		if len(stuck) != maxReplaced+4 || len(left)+len(stuck) != 100 {
			t.Errorf("%d are stuck, %d left", len(stuck), len(left))
		}
		close(tree.again)
	})
}

// A disk that sleeps holds up all workers, and is read whole once it is awake. Who was replaced and comes back leaves
// no more than there should be.
func TestASlowDiskIsReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree, first := tree{again: make(chan struct{})}, make([]int, 20)
		for i := range first {
			first[i] = 100 + i
		}
		time.AfterFunc(pause*(leaveAfter-10), func() { close(tree.again) })
		if left, stuck := tree.pool(2).Run(t.Context(), first...); len(left)+len(stuck) > 0 || len(tree.read) != 20 {
			t.Errorf("%v left, %v stuck, %d read", left, stuck, len(tree.read))
		}
	})
}

// A large directory takes its time and is not given up as long as something comes of it.
func TestALargeDirectoryIsReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read bool
		pool := Pool[int, int]{Workers: 2, Add: func(int, int) []int { read = true; return nil }, Read: func(s *Steps, _ int) int {
			for range 20 {
				<-time.After(pause * (leaveAfter - 1))
				s.Take()
			}
			return 0
		}}
		if left, stuck := pool.Run(t.Context(), 1); len(left)+len(stuck) > 0 || !read {
			t.Errorf("%v left, %v stuck, read: %v", left, stuck, read)
		}
	})
}

// At the end of the time those who are reading may come to an end, what they find is left, and who is stuck is not
// waited for.
func TestTheEndOfTheTimeEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), pause/2)
		defer cancel()
		again := make(chan struct{})
		defer close(again)
		pool := Pool[int, []int]{Workers: 2, Add: func(_ int, found []int) []int { return found }, Late: func(int, []int) {}, Read: func(_ *Steps, d int) []int {
			if d == 100 {
				<-again
				return nil
			}
			<-time.After(pause)
			return []int{d + 1}
		}}
		began := time.Now()
		left, stuck := pool.Run(ctx, 1, 100)
		if diff := cmp.Diff([][]int{{2}, {100}}, [][]int{left, stuck}); diff != "" || time.Since(began) != pause/2+grace {
			t.Errorf("after %v: %s", time.Since(began), diff)
		}
		if left, stuck = pool.Run(ctx, 1, 2); len(left) != 2 || len(stuck) > 0 {
			t.Errorf("begun after its time: %v left, %v stuck", left, stuck)
		}
	})
}
