// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"testing"
)

// memory is the file system in memory that Linux has for everyone (shm_overview(7)).
const memory = "/dev/shm"

// MemDir is [testing.T.TempDir] in memory, where the system has such a file
// system: a test of what is synced to disk thousands of times need not wait for the disk.
func MemDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory, "sentinel-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
