// SPDX-License-Identifier: Apache-2.0

package lockfile

import "fmt"

// A BusyError reports that a lock of sentinel did not become free in time, and its holder.
type BusyError struct {
	Path   string
	Holder int // a PID; 0 if unknown
}

func busy(path string) BusyError { return BusyError{path, holderOf(path)} }

// Error implements error.
func (e BusyError) Error() string {
	who := "another run of sentinel"
	if e.Holder != 0 {
		who = fmt.Sprintf("process %d, another run of sentinel,", e.Holder)
	}
	return who + " has held " + e.Path + " for too long"
}

// Fix advises to wait, or to end the holder: the next run repairs anything that the holder leaves
// half done.
func (e BusyError) Fix() string {
	if e.Holder == 0 {
		return "Nothing was changed. Try again in a moment; if it happens again, look for a hung run with: pgrep -a sentinel"
	}
	return fmt.Sprintf("Nothing was changed. Try again in a moment; if it happens again, end the run that holds it, which is safe: sudo kill -9 %d", e.Holder)
}
