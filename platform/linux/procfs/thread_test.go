// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThreadsThatEndedAreNotTheProcess(t *testing.T) {
	const headless = "7 (x) Z 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 2 0 50 0 0\n"
	for stat, want := range map[string]error{
		headless: ErrThreadsChange,
		strings.Replace(headless, " 2 0 50", " 1 0 50", 1): fs.ErrNotExist,
		"": fs.ErrNotExist,
	} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "proc/7/task/8"), 0o755); err != nil {
			t.Fatal(err)
		}
		if stat != "" {
			if err := os.WriteFile(filepath.Join(root, "proc/7/stat"), []byte(stat), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if tid, err := New(root).Thread(7); !errors.Is(err, want) {
			t.Errorf("%q: %d, %v, want %v", stat, tid, err, want)
		}
	}
}
