// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// Of many processes those of people are not looked at, who can have as many files open as they like; of one they are.
func TestHoldingsOfPeopleAreReadOfTheOneThatIsNamed(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	const mounted = "128 65 0:58 / /mnt/a rw - fuse x rw,user_id=0,group_id=0\n"
	root := testenv.Plant(t, map[string]string{"proc/self/mountinfo": mounted})
	facts := map[int]*processes.Facts{}
	for pid, uid := range map[int]int{8: 0, 9: 1500, 10: 33, 11: 61184} {
		dir := filepath.Join(root, "proc", strconv.Itoa(pid))
		for _, sub := range []string{"fd", "fdinfo"} {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		facts[pid] = &processes.Facts{UserID: uid}
		plant(t, dir, uid)
	}
	NewTerminator(root).Holdings(t.Context(), facts, nil, false)
	for pid, want := range map[int]int{8: 1, 9: 0, 10: 1, 11: 1} {
		if got := len(facts[pid].Served); got != want {
			t.Errorf("%d serves %d", facts[pid].UserID, got)
		}
	}
	NewTerminator(root).Holdings(t.Context(), map[int]*processes.Facts{9: facts[9]}, nil, true)
	if len(facts[9].Served) != 1 {
		t.Error("what a person serves is not told")
	}
}

// plant has a process on paper hold the device of a file system.
func plant(t *testing.T, dir string, uid int) {
	t.Helper()
	id := strconv.Itoa(uid)
	for name, text := range map[string]string{"fdinfo/3": "fuse_connection:\t58\n", "stat": filepath.Base(dir) + " (x) S 1", "status": "Uid:\t" + id + "\t" + id + "\t" + id + "\t" + id + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/fuse", filepath.Join(dir, "fd/3")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chown(filepath.Join(dir, "fd"), uid, uid); err != nil {
		t.Fatal(err)
	}
}
