// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package lockfile

import "os"

// endStuck ends nobody: this system does not tell who holds a lock, and a PID that is read from a
// file may be another process's by now.
func endStuck(string) (ended bool) { return false }

// isFile reports whether a path leads to a file.
func isFile(path string, file os.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, file)
}
