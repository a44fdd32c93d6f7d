// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFileThatKeepsTheJobRunningComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	for _, on := range []bool{false, true, true, false, false} {
		if err := Watch(dir, on); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, WatchName)); (err == nil) != on {
			t.Errorf("on %v: %v", on, err)
		}
	}
}
