// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/diskusage"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/unix/stuck"
)

// Directories that a user keeps from being read, more than are read at a time, take nothing but themselves out of the
// sum, and are told. Nothing waits for the end of the time.
func TestHeldDirectoriesHideNoOther(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	const dir = "/mnt"
	for _, mounted := range []string{dir, "/run"} {
		if err := unix.Mount("m", mounted, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	var release []func()
	for i := range 10 {
		held := fmt.Sprintf("%s/%d", dir, i)
		file(t, held+"/in/f", 1<<20)
		file(t, held+"free/in/f", 1<<20)
		release = append(release, deadfuse.Hold(t, 4000, held))
	}
	open := openFiles(t)
	tree := walkOf(t, dir, Options{})
	if tree.Bytes != 10<<20 || tree.Stuck != 10 || !strings.HasPrefix(tree.StuckAt, dir+"/") || tree.Complete() || tree.Bound != "" || tree.Failed+tree.Unread != 0 {
		t.Errorf("%+v", tree)
	}
	for _, b := range tree.BySize {
		if b.AtLeast != (len(b.Path) == len("/mnt/0")) {
			t.Errorf("%+v", b)
		}
	}
	for _, let := range release {
		let()
	}
	testenv.WaitFor(t, "all files closed", func() bool { return openFiles(t) <= open })
	if tree = walkOf(t, dir, Options{}); tree.Bytes != 20<<20 || !tree.Complete() {
		t.Errorf("once they are let go of: %+v", tree)
	}
}

// What an earlier run still waits for is not read again.
func TestWhatAnEarlierRunWaitsForIsNotRead(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	for _, name := range []string{"/var/held/f", "/var/held/in/f", "/var/free/f"} {
		file(t, root+name, 1<<20)
	}
	var st unix.Stat_t
	if err := unix.Stat(root+"/var/held", &st); err != nil {
		t.Fatal(err)
	}
	forget := stuck.Note(root, stuck.Directory(st.Dev, st.Ino))
	walk := func() diskusage.Tree {
		tree, err := Walk(t.Context(), Options{Root: root, Dir: "/var", Entries: 99})
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	if err := os.Rename(root+"/var/held", root+"/var/moved"); err != nil {
		t.Fatal(err)
	}
	tree := walk()
	if tree.Bytes/(1<<20) != 1 || tree.Stuck != 1 || tree.StuckAt != "/var/moved" || tree.Complete() {
		t.Errorf("%+v", tree)
	}
	forget()
	if tree = walk(); tree.Bytes/(1<<20) != 3 || !tree.Complete() {
		t.Errorf("once it is let go of: %+v", tree)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
