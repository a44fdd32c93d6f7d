// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// Bounds of what processes are told for.
const (
	busyPercent = 20             // of a core, in each sample
	apart       = 3*Interval + 1 // samples of one stretch are closer than that
	grownMiB    = 128
	grownTimes  = 1.3
	toldBusy    = 5
	toldGrown   = 3
)

// A stretch is a time in which a process was among the busiest, or the largest.
type stretch struct {
	of          process
	user        string
	began, last time.Time
	still       bool // it was there to the end
	sum         float64
	first, now  float64
	samples     int
}

// A process is one of all boots.
type process struct {
	pid        int32
	name, boot string
}

// maxStretches bounds how many are held: a machine may start thousands of processes that live for a minute.
const maxStretches = 2000

// stretches follows processes through the samples; pick lists those of one. A stretch begins with the
// time that its first value is the average of. Of very many, those that are better are returned.
func (t teller) stretches(points []point, least float64, pick func(*kept) []use, better func(a, b stretch) int) []stretch {
	open, list := map[process]int{}, []stretch{}
	for _, p := range points {
		if len(list) > maxStretches {
			open, list = best(list, p.at, better)
		}
		for _, u := range pick(p.kept) {
			value := float64(u.value)
			if value < least {
				continue
			}
			who := t.owners[u.who]
			of := process{u.pid, who.name, p.boot}
			at, known := open[of]
			if !known || p.at.Sub(list[at].last) >= apart {
				at = len(list)
				open[of] = at
				list = append(list, stretch{of: of, user: who.user, began: p.at.Add(-time.Duration(p.span * float64(time.Second))), first: value})
			}
			s := &list[at]
			s.last, s.sum, s.samples, s.now = p.at, s.sum+value, s.samples+1, value
		}
	}
	for i := range list {
		list[i].still = list[i].last.Equal(points[len(points)-1].at)
	}
	slices.SortStableFunc(list, better)
	return list
}

// best leaves half of the stretches: those that may go on, and the best of the others.
func best(list []stretch, now time.Time, better func(a, b stretch) int) (map[process]int, []stretch) {
	over := func(s stretch) int {
		if now.Sub(s.last) >= apart {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b stretch) int { return cmp.Or(cmp.Compare(over(a), over(b)), better(a, b)) })
	list = list[:maxStretches/2]
	open := map[process]int{}
	for i, s := range list {
		if over(s) == 0 {
			open[s.of] = i
		}
	}
	return open, list
}

func (s stretch) mean() float64 { return s.sum / float64(s.samples) }

// name names the process and who it ran as.
func (s stretch) name() string {
	of := ""
	if s.user != "" {
		of = " of user " + s.user
	}
	return fmt.Sprintf("%s%s (PID %d)", sanitize.Quoted(s.of.name, 64), of, s.of.pid)
}

// busiest tells of the processes that took most of the processor.
func busiest(points []point, t teller) []Change {
	more := func(a, b stretch) int { return cmp.Compare(b.sum, a.sum) }
	list := t.stretches(points, busyPercent, func(k *kept) []use { return k.busiest }, more)
	var changes []Change
	for _, s := range list[:min(toldBusy, len(list))] {
		span := fmt.Sprintf("from %s until %s", t.clock(s.began), t.clock(s.last))
		if s.still {
			span = fmt.Sprintf("from %s on, and still did at %s", t.clock(s.began), t.clock(s.last))
		}
		changes = append(changes, Change{
			Time: stamp(s.began), Kind: "busy_process", Text: fmt.Sprintf("%s took %.0f %% of a processor %s.", s.name(), s.mean(), span),
			at: s.began, weight: 25 + 25*s.sum/(s.sum+500),
		})
	}
	return changes
}

// grown tells of the processes whose memory grew most.
func grown(points []point, t teller) []Change {
	more := func(a, b stretch) int { return cmp.Compare(b.now-b.first, a.now-a.first) }
	list := t.stretches(points, worthKeeping, func(k *kept) []use { return k.largest }, more)
	list = slices.DeleteFunc(list, func(s stretch) bool { return s.now-s.first < grownMiB || s.now < grownTimes*s.first })
	var changes []Change
	for _, s := range list[:min(toldGrown, len(list))] {
		changes = append(changes, Change{
			Time: stamp(s.began), Kind: "growing_process",
			Text: fmt.Sprintf("%s grew from %s to %s of memory between %s and %s.", s.name(), mib(s.first), mib(s.now), t.clock(s.began), t.clock(s.last)),
			at:   s.began, weight: 45,
		})
	}
	return changes
}

func mib(x float64) string { return humanize.Bytes(uint64(x * (1 << 20))) }
