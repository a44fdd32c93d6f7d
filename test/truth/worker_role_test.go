// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// dutyPeriod is how long one turn of work and rest takes.
const dutyPeriod = 50 * time.Millisecond

// playWorker works and rests as it is told, and keeps account of the CPU time
// that it used:
//
//	work PERCENT     use this share of a core from now on
//	turn             answer when it has begun to use that share, whatever a turn before takes
//	after NS         answer after so many nanoseconds
//	spend NS         answer when the process has used so much CPU time
//	account FROM TO LENGTH
//	                 tell the least and the most that was used in any window of
//	                 LENGTH between two moments of the monotonic clock, and since the process began
//
// All times are in nanoseconds.
func playWorker(orders *bufio.Scanner, out io.Writer) error {
	w := worker{began: monotonic()}
	go w.work()
	for orders.Scan() {
		answer, err := w.obey(orders.Text())
		if err != nil {
			answer = "error: " + err.Error()
		}
		fmt.Fprintln(out, answer) // the test misses it
	}
	return orders.Err()
}

type worker struct {
	began int64

	mu      sync.Mutex
	percent int64 // as it was told
	turn    int64 // the percent of the turn that it is at
	ledger  ledger
}

func (w *worker) obey(order string) (string, error) {
	var a, b, c int64
	if n, _ := fmt.Sscanf(order, "work %d", &a); n == 1 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.percent = a
		return "working", nil
	}
	if order == "turn" {
		for !w.turned() {
			<-time.After(time.Millisecond)
		}
		return "turned", nil
	}
	if n, _ := fmt.Sscanf(order, "after %d", &a); n == 1 {
		<-time.After(time.Duration(a))
		return "later", nil
	}
	if n, _ := fmt.Sscanf(order, "spend %d", &a); n == 1 {
		for entryNow().used < a {
			<-time.After(dutyPeriod)
		}
		return "spent", nil
	}
	if n, _ := fmt.Sscanf(order, "account %d %d %d", &a, &b, &c); n == 3 {
		w.mu.Lock()
		defer w.mu.Unlock()
		least, most := w.ledger.extremes(a, b, c)
		now := entryNow()
		return fmt.Sprintf("%f %f %f", least, most, 100*float64(now.used)/float64(now.at-w.began)), nil
	}
	return "", fmt.Errorf("order %q", order)
}

// work alternates between spinning and resting, with an entry in the ledger
// every half millisecond of work and at both ends of a rest. It works for its share of CPU
// time, not of time: beside other programs a turn takes longer.
func (w *worker) work() {
	for {
		w.mu.Lock()
		percent := w.percent
		w.turn = percent
		w.mu.Unlock()
		busy := int64(dutyPeriod) * percent / 100
		start := w.note()
		for w.note().used-start.used < busy {
			for pause := monotonic(); monotonic()-pause < int64(time.Millisecond/2); {
			}
		}
		<-time.After(dutyPeriod - time.Duration(busy))
	}
}

func (w *worker) turned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turn == w.percent
}

func (w *worker) note() entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := entryNow()
	w.ledger = append(w.ledger, e)
	return e
}

// An entry is how much CPU time the process had used at a moment.
type entry struct {
	at   int64 // monotonic, ns
	used int64 // user and system, ns
}

func entryNow() entry {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // documented to fail for bad arguments only
	}
	return entry{monotonic(), u.Utime.Nano() + u.Stime.Nano()}
}

// A ledger has entries in the order of time.
type ledger []entry

// extremes returns the least and the most percent of a core that were used in
// any window of the given length between two moments. Use is a line between
// entries, so the extremes lie where a window begins or ends at one, or at the bounds.
func (l ledger) extremes(from, to, length int64) (least, most float64) {
	starts := []int64{from, to - length}
	for _, e := range l {
		for _, start := range []int64{e.at, e.at - length} {
			if start > from && start+length < to {
				starts = append(starts, start)
			}
		}
	}
	least = math.Inf(1)
	for _, start := range starts {
		percent := 100 * (l.used(start+length) - l.used(start)) / float64(length)
		least, most = min(least, percent), max(most, percent)
	}
	return least, most
}

// used returns the CPU time used up to a moment, in nanoseconds.
func (l ledger) used(moment int64) float64 {
	after, _ := slices.BinarySearchFunc(l, moment, func(e entry, at int64) int { return cmp.Compare(e.at, at) })
	switch after {
	case 0:
		return float64(l[0].used)
	case len(l):
		return float64(l[len(l)-1].used)
	}
	a, b := l[after-1], l[after]
	return float64(a.used) + float64(b.used-a.used)*float64(moment-a.at)/float64(b.at-a.at)
}
