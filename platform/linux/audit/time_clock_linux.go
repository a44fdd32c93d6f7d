// SPDX-License-Identifier: Apache-2.0

package audit

import "golang.org/x/sys/unix"

// timeError is what adjtimex(2) returns of a clock that nobody keeps in step.
const timeError = 5

// kernelClockSynchronized asks the kernel whether its clock is in step. It changes
// nothing: no mode is set.
func kernelClockSynchronized() (bool, error) {
	var state unix.Timex
	status, err := unix.Adjtimex(&state)
	return status != timeError && state.Status&unix.STA_UNSYNC == 0, err
}
