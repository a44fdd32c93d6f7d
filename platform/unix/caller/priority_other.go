// SPDX-License-Identifier: Apache-2.0

//go:build unix && !darwin

package caller

// resetPriority does nothing: on Linux each thread has a niceness of its own, and platform/linux/caller
// resets them.
func resetPriority() {}
