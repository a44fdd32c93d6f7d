// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sentinel/internal/humanize"
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
	Process
	began, last time.Time
	still       bool // it was there to the end
	sum         float64
	first       float64
	samples     int
}

// stretches follows processes through the samples; pick lists those of one. A stretch begins with the
// time that its first value is the average of.
func stretches(points []point, least float64, pick func(*Sample) []Process) []stretch {
	type key struct {
		pid        int
		name, boot string
	}
	open, list := map[key]int{}, []stretch{}
	for _, p := range points {
		for _, process := range pick(p.Sample) {
			if process.Value < least {
				continue
			}
			k := key{process.PID, process.Name, p.Boot}
			at, known := open[k]
			if !known || p.at.Sub(list[at].last) >= apart {
				at = len(list)
				open[k] = at
				list = append(list, stretch{Process: process, began: p.at.Add(-time.Duration(p.Span * float64(time.Second))), first: process.Value})
			}
			s := &list[at]
			s.last, s.sum, s.samples, s.Value = p.at, s.sum+process.Value, s.samples+1, process.Value
		}
	}
	for i := range list {
		list[i].still = list[i].last.Equal(points[len(points)-1].at)
	}
	return list
}

func (s stretch) mean() float64 { return s.sum / float64(s.samples) }

// name names the process and who it ran as.
func (s stretch) name() string {
	of := ""
	if s.User != "" {
		of = " of user " + s.User
	}
	return fmt.Sprintf("%s%s (PID %d)", s.Name, of, s.PID)
}

// busiest tells of the processes that took most of the processor.
func busiest(points []point, t teller) []Change {
	list := stretches(points, busyPercent, func(s *Sample) []Process { return s.Busiest })
	slices.SortStableFunc(list, func(a, b stretch) int { return cmp.Compare(b.sum, a.sum) })
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
	list := stretches(points, worthKeeping, func(s *Sample) []Process { return s.Largest })
	list = slices.DeleteFunc(list, func(s stretch) bool { return s.Value-s.first < grownMiB || s.Value < grownTimes*s.first })
	slices.SortStableFunc(list, func(a, b stretch) int { return cmp.Compare(b.Value-b.first, a.Value-a.first) })
	var changes []Change
	for _, s := range list[:min(toldGrown, len(list))] {
		changes = append(changes, Change{
			Time: stamp(s.began), Kind: "growing_process",
			Text: fmt.Sprintf("%s grew from %s to %s of memory between %s and %s.", s.name(), mib(s.first), mib(s.Value), t.clock(s.began), t.clock(s.last)),
			at:   s.began, weight: 45,
		})
	}
	return changes
}

func mib(x float64) string { return humanize.Bytes(uint64(x * (1 << 20))) }
