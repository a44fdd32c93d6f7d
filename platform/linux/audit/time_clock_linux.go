// SPDX-License-Identifier: Apache-2.0

package audit

import "golang.org/x/sys/unix"

// timeError is TIME_ERROR, which adjtimex(2) returns for a clock that nothing
// synchronises.
const timeError = 5

// kernelClockSynchronized asks the kernel whether its clock is synchronised. With no
// mode set, adjtimex(2) changes nothing.
func kernelClockSynchronized() (bool, error) {
	var state unix.Timex
	status, err := unix.Adjtimex(&state)
	return status != timeError && state.Status&unix.STA_UNSYNC == 0, err
}
