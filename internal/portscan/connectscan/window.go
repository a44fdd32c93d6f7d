// SPDX-License-Identifier: Apache-2.0

package connectscan

import "time"

const (
	firstWindow = 128  // connections under way at first
	smallWindow = 64   // and at least on a network that loses packets
	maxWindow   = 4096 // and at most
	// tick is how often the window doubles while no packet was seen to be lost.
	tick = 10 * time.Millisecond
	// retransmitted is the least age of an answer to the second packet of a connection.
	retransmitted = 950 * time.Millisecond
	// recovery is how long no packet may have been lost before the window grows
	// again. macOS, when it scans itself, loses most: it refuses 250 connections a second
	// and drops the others, which are sent again (net.inet.icmp.icmplim).
	recovery = 1200 * time.Millisecond
)

// A window is how many connections may be under way.
type window struct {
	size, most int
	grown      time.Time     // when it was widened last
	slowed     time.Time     // when it was narrowed last, for a lost packet
	late       int           // answers that came to the second packet
	fastest    time.Duration // answer so far
}

// answered learns from the time that an answer took.
func (w *window) answered(took time.Duration, now time.Time) {
	w.fastest = min(w.fastest, took)
	if took <= retransmitted || w.fastest > retransmitted {
		return
	}
	w.late++
	if now.Sub(w.slowed) > retransmitted { // one loss, of however many packets
		w.slowed = now
		w.size = max(min(smallWindow, w.most), w.size/2)
	}
}

// grow widens the window, carefully once a packet was lost.
func (w *window) grow(now time.Time) {
	if now.Sub(w.grown) < tick || w.late > 0 && now.Sub(w.slowed) < recovery {
		return
	}
	w.grown = now
	step := w.size
	if w.late > 0 {
		step = min(step, smallWindow/4)
	}
	w.size = min(w.size+step, w.most)
}
