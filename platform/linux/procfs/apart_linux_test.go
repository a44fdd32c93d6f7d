// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// Any user can hold the directory of any process. Root reads it all the same, and all that there is of it.
func TestAProcessOfRootsThatAUserHoldsIsRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	c := exec.Command(testenv.Program(t, "sleep", "coreutils"), "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	pid := c.Process.Pid
	root := testenv.Plant(t, map[string]string{"run/keep": ""}) // where this test notes
	deadfuse.Hold(t, 1000, filepath.Join("/proc", strconv.Itoa(pid)))
	for _, run := range []string{"first run", "next run"} {
		t.Run(run, func(t *testing.T) { readHeld(t, root, pid) })
	}
}

func readHeld(t *testing.T, root string, pid int) {
	fs := New("/")
	fs.stats.root = root
	table, stuck, err := fs.Processes(t.Context())
	if len(stuck) != 0 || err != nil || len(table) < 3 {
		t.Errorf("%d processes, stuck %v, %v", len(table), stuck, err)
	}
	p, err := fs.Process(pid)
	if p.Name != "sleep" || err != nil || !fs.Apart(pid) {
		t.Errorf("the process: %+v, %v", p, err)
	}
	if line, err := fs.CommandLine(pid); len(line) != 2 || err != nil {
		t.Errorf("its arguments: %q, %v", line, err)
	}
	if uid, err := fs.User(pid); uid != 0 || err != nil {
		t.Errorf("its user: %d, %v", uid, err)
	}
	if faces, err := fs.Faces([]int{pid}); err != nil || faces[0].Err != nil || filepath.Base(faces[0].Program) != "sleep" && filepath.Base(faces[0].Program) != "coreutils" {
		t.Errorf("its program: %+v, %v", faces, err)
	}
	if space, err := fs.Link(pid, "ns/net"); !strings.HasPrefix(space, "net:[") || err != nil {
		t.Errorf("its network: %q, %v", space, err)
	}
	if n, err := fs.Of(pid).Interfaces(); len(n) == 0 || err != nil {
		t.Errorf("its interfaces: %v, %v", n, err)
	}
	if threads, err := fs.Threads(pid); len(threads) != 1 || err != nil {
		t.Errorf("its threads: %v, %v", threads, err)
	}
	files := 0
	skipped, err := fs.OpenFiles(t.Context(), []int{pid}, func(OpenFile) bool { files++; return true })
	if files < 3 || len(skipped) != 0 || err != nil {
		t.Errorf("%d open files, skipped %v, %v", files, skipped, err)
	}
	if _, err := fs.Link(pid, "none"); !os.IsNotExist(err) || !strings.Contains(err.Error(), " /proc/"+strconv.Itoa(pid)+"/none") {
		t.Errorf("an error: %v", err)
	}
}
