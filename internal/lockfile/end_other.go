// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package lockfile

// endStuck ends nobody: this system does not tell who holds a lock, and a PID that is read from a
// file may be another process's by now.
func endStuck(string) (ended bool) { return false }
