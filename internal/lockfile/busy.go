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
}

func busy(path string) BusyError {
	e := BusyError{Path: path, Holder: holderOf(path)}
	if h, ok := signed(path); ok && h.PID == e.Holder {
		e.Tool, e.Since = h.Tool, h.Since
	}
	return e
}

// Error implements error.
func (e BusyError) Error() string {
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

// Fix advises to wait, or to end the holder: the next run repairs anything that the holder leaves
// half done.
func (e BusyError) Fix() string {
	if e.Holder == 0 {
		return "Nothing was changed. Try again in a moment; if it happens again, look for a hung run with: pgrep -a sentinel"
	}
	return fmt.Sprintf("Nothing was changed. Try again in a moment; a run that does not go on is ended by those that wait for it, at the latest after two minutes. To end it now, which is safe: sudo kill -9 %d", e.Holder)
}
