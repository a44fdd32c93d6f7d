// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// A topDocument is what these tests read of sentinel --top.
type topDocument struct {
	Processes []struct {
		PID        int     `json:"pid"`
		CPUPercent float64 `json:"cpu_percent"`
	} `json:"processes"`
	WindowMS int64 `json:"window_ms"`
}

func (d topDocument) percent(pid int) (float64, bool) {
	for _, p := range d.Processes {
		if p.PID == pid {
			return p.CPUPercent, true
		}
	}
	return 0, false
}

// points is how far sentinel may be from the account of the process itself, in
// percent of a core: the kernel tells user and system time in whole ticks of 10 ms each
// (do_task_stat in fs/proc/array.c), so that the difference of their sum may be off by two,
// which are 2 points each of a window of 500 ms.
const points = 4.0

// account is a worker's own account over a window, in percent of a core.
type account struct {
	least, most float64 // over any window of the same length within the run
	lifetime    float64 // since the process began, what ps shows
}

// watch runs sentinel --top beside a worker and compares. The window lies
// somewhere within the run, so the worker tells the extremes over all windows
// of the same length; under steady work they are almost the same.
func watch(t *testing.T, w *actor) (shown float64, own account) {
	t.Helper()
	from := monotonic()
	var d topDocument
	askSentinel(t, &d, "--top", "--json", "--top-count", "100")
	to := monotonic()
	if d.WindowMS < 400 || d.WindowMS > (to-from)/int64(time.Millisecond) {
		t.Fatalf("the window is %d ms of a run of %d ns", d.WindowMS, to-from)
	}
	shown, listed := d.percent(w.pid)
	if !listed {
		t.Fatalf("process %d is not listed", w.pid)
	}
	length := d.WindowMS * int64(time.Millisecond)
	answer := w.order("account %d %d %d", from, to, length)
	if _, err := fmt.Sscan(answer, &own.least, &own.most, &own.lifetime); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	if shown < own.least-points || shown > own.most+points {
		t.Errorf("sentinel shows %.1f %% of a core, the process says %.1f to %.1f", shown, own.least, own.most)
	}
	return shown, own
}

// notLifetime wants the lifetime average, which ps shows, to be so far from
// the truth that the comparison tells the two apart.
func notLifetime(t *testing.T, shown float64, own account) {
	t.Helper()
	distance := min(math.Abs(own.lifetime-own.most), math.Abs(own.lifetime-own.least))
	if distance < 2*points {
		t.Fatalf("the case tells nothing: %+v", own)
	}
	if math.Abs(shown-own.lifetime) < points {
		t.Errorf("sentinel shows %.1f %%, which is the lifetime average %.1f", shown, own.lifetime)
	}
}

func TestCPUOfAProcessThatIdledAndSpinsIsItsOwnAccount(t *testing.T) {
	if !inside(t) {
		return
	}
	w := hire(t, "worker", 0)
	w.order("after %d", 3*time.Second)
	w.order("work 100")
	shown, own := watch(t, w)
	notLifetime(t, shown, own)
}

func TestCPUOfAProcessThatWorkedAndRestsIsItsOwnAccount(t *testing.T) {
	if !inside(t) {
		return
	}
	w := hire(t, "worker", 0)
	w.order("work 100")
	w.order("spend %d", 2*time.Second)
	w.order("work 0")
	w.order("turn")
	shown, own := watch(t, w)
	notLifetime(t, shown, own)
	if shown > points {
		t.Errorf("a process that rests shows %.1f %%", shown)
	}
}

func TestCPUOfAProcessAtPartOfACoreIsItsOwnAccount(t *testing.T) {
	if !inside(t) {
		return
	}
	w := hire(t, "worker", 0)
	for _, percent := range []int{30, 60} {
		w.order("work %d", percent)
		w.order("turn")
		_, own := watch(t, w)
		if own.most < points {
			t.Errorf("the worker was to use %d %% and used %.1f", percent, own.most)
		}
	}
}
