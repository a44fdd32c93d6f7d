// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"slices"
	"time"
)

// A rise is a time in which a figure was well above what is usual.
type rise struct {
	figure     Figure
	from, peak float64
	began      time.Time
	reached    time.Time // when it was near its peak first
	ended      time.Time
	still      bool // it was there to the end, ended
	samples    int
	score      float64
}

// usualShare says which of the ordered values is the usual one: a figure that was high for most of the
// time has still risen.
const usualShare = 0.25

// rises finds the rises of a figure. What is usual comes from all points; those that were over before
// since are left out.
func rises(points []point, f Figure, since time.Time) []rise {
	usual, ok := usualOf(points, f)
	if !ok {
		return nil
	}
	over := max(f.step, usual*(f.factor-1))
	var list []rise
	var now *rise
	below := 0
	end := func(at time.Time, still bool) {
		if now.ended, now.still = at, still; !at.Before(since) && (now.samples > 1 || now.peak >= usual+3*over) {
			now.score = (now.peak - usual) / over * float64(now.samples)
			now.reached = reachedAt(points, *now)
			list = append(list, *now)
		}
		now = nil
	}
	for i, p := range points {
		v, known := p.value(f)
		switch {
		case !known:
		case now != nil && i > 0 && p.at.Sub(points[i-1].at) > missed:
			end(points[i-1].at, true)
			fallthrough
		case now == nil:
			if below = 0; v >= usual+over {
				now = &rise{figure: f, from: beforeAt(points[:i], f, usual), peak: v, began: p.at, samples: 1}
			}
		case v < usual+over/2:
			if below++; below == 2 {
				end(points[i-1].at, false)
			}
		default:
			below = 0
			now.samples++
			now.peak = max(now.peak, v)
		}
	}
	if now != nil {
		end(points[len(points)-1].at, true)
	}
	return list
}

func usualOf(points []point, f Figure) (float64, bool) {
	values := make([]float64, 0, len(points))
	for _, p := range points {
		if v, ok := p.value(f); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return values[int(usualShare*float64(len(values)-1))], true
}

// beforeAt is the value right before a rise: of three samples, or what is usual.
func beforeAt(points []point, f Figure, usual float64) float64 {
	sum, n := 0.0, 0
	for _, p := range points[max(0, len(points)-3):] {
		if v, ok := p.value(f); ok {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return usual
	}
	return sum / float64(n)
}

// near is which part of a rise is near its peak.
const near = 0.8

// reachedAt finds when a rise was near its peak first.
func reachedAt(points []point, r rise) time.Time {
	for _, p := range between(points, r.began, r.ended) {
		if v, known := p.value(r.figure); known && v >= r.from+near*(r.peak-r.from) {
			return p.at
		}
	}
	return r.began
}

// slow is how long after its beginning a rise may be near its peak to be told as one step.
const slow = 5 * time.Minute

// change tells a rise in a sentence.
func (r rise) change(t teller) Change {
	text := fmt.Sprintf("%s rose from %s to %s at %s", r.figure.Name, r.figure.text(r.from), r.figure.text(r.peak), t.clock(r.began))
	if r.reached.Sub(r.began) > slow {
		text = fmt.Sprintf("%s rose from %s at %s to %s at %s", r.figure.Name, r.figure.text(r.from), t.clock(r.began), r.figure.text(r.peak), t.clock(r.reached))
	}
	if r.still {
		text += fmt.Sprintf(", and was still up at %s.", t.clock(r.ended))
	} else {
		text += fmt.Sprintf(", and was down again at %s.", t.clock(r.ended))
	}
	return Change{Time: stamp(r.began), Kind: "rise", Figure: r.figure.Key, Text: text, at: r.began, weight: 30 + 20*r.score/(r.score+20)}
}
