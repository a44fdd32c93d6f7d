// SPDX-License-Identifier: Apache-2.0

//go:build linux

package caller

import "golang.org/x/sys/unix"

// mpolDefault has pages placed on the node of the processor that asks for them (MPOL_DEFAULT of set_mempolicy(2)).
const mpolDefault = 0

// LeaveMemory has the calling thread, and what it starts, take memory of any node of the machine: numactl(8) can bind
// it to one that is full. No thread can change that for another. Kernels without nodes do not know it.
func LeaveMemory() {
	unix.Syscall(unix.SYS_SET_MEMPOLICY, mpolDefault, 0, 0) //nolint:errcheck // see Leave
}
