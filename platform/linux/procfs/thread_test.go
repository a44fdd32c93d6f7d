// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
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

// A process whose threads each start the next one and end goes on, and what it uses is not nothing.
func TestThreadsThatEndLeaveNoZeros(t *testing.T) {
	headless := "7 (x) Z 1 7 7 0 -1 4 0 0 0 0 5 5 0 0 20 0 2 0 50 0 0\n"
	lives := "8 (x) S 1 7 7 0 -1 4 0 0 0 0 5 5 0 0 20 0 2 0 50 0 9\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  ProcessStat
	}{
		"a thread lives":   {map[string]string{"proc/7/task/8/stat": lives, "proc/7/task/8/exe": ""}, ProcessStat{State: 'S', RSSPages: 9}},
		"it has no memory": {map[string]string{"proc/7/task/8/stat": "8 (x) R 1 7 7 0 -1 4 0 0 0 0 5 5 0 0 20 0 2 0 50 0 0\n", "proc/7/task/8/exe": ""}, ProcessStat{Unseen: true}},
		"all of them end":  {map[string]string{"proc/7/task/8/stat": headless}, ProcessStat{Unseen: true}},
	} {
		c.files["proc/7/stat"] = headless
		p, err := New(testenv.Plant(t, c.files)).Process(7)
		if err != nil || p.State != c.want.State || p.RSSPages != c.want.RSSPages || p.Unseen != c.want.Unseen || !p.Headless {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
