// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"fmt"
	"time"
)

// A BusyError reports that a lock of sentinel did not become free in time, and its holder.
type BusyError struct {
	Path   string
	Holder int       // a PID; 0 if unknown
	Tool   string    // what it does; "" if unknown
	Since  time.Time // zero if unknown
	// Passes says that its holder has had it for less than half of the wait: many want it, and each goes on.
	Passes bool
}

// busy describes the lock at path after a wait for it, which began at an uptime.
func busy(path string, began int64) BusyError {
	e := BusyError{Path: path, Holder: holderOf(path)}
	h, ok := signed(path)
	if !ok {
		return e
	}
	now := uptime()
	e.Passes = h.Uptime <= now && now-h.Uptime < (now-began)/2
	if h.PID == e.Holder {
		e.Tool, e.Since = h.Tool, h.Since
	}
	return e
}

// Error implements error.
func (e BusyError) Error() string {
	if e.Passes {
		return "one run of sentinel after another has held " + e.Path + e.last()
	}
	who := "another run of sentinel"
	if e.Holder != 0 {
		who = fmt.Sprintf("process %d, another run of sentinel", e.Holder)
		if e.Tool != "" {
			who += " (" + e.Tool + ")"
		}
		who += ","
	}
	text := who + " has held " + e.Path
	if !e.Since.IsZero() {
		text += " since " + e.Since.Format(time.RFC3339) + ","
	}
	return text + " for too long"
}

// last names the holder of a lock that goes from one to the next.
func (e BusyError) last() string {
	switch {
	case e.Holder == 0:
		return ""
	case e.Tool == "":
		return fmt.Sprintf(", at last process %d", e.Holder)
	default:
		return fmt.Sprintf(", at last process %d (%s)", e.Holder, e.Tool)
	}
}

// Fix advises to wait, or to end the holder where that is the same all the time: the next run repairs anything that
// the holder leaves half done.
func (e BusyError) Fix() string {
	switch {
	case e.Passes:
		return "Nothing was changed. Many runs wait for this lock, and each has it for a moment. Try again, and make fewer calls at a time; see what runs with: pgrep -a sentinel"
	case e.Holder == 0:
		return "Nothing was changed. Try again in a moment; if it happens again, look for a hung run with: pgrep -a sentinel"
	default:
		return fmt.Sprintf("Nothing was changed. Try again in a moment; a run that does not go on is ended by those that wait for it, at the latest after two minutes. To end it now, which is safe: sudo kill -9 %d", e.Holder)
	}
}
