// SPDX-License-Identifier: Apache-2.0

package filetree

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/unix/stuck"
)

const eve = 4000 // a user

// plantBeside makes a directory of a user, which others may list, and others beside it, of which one has a program with
// the set-user-ID bit.
func plantBeside(t *testing.T) (root string) {
	t.Helper()
	root = inMemory(t)
	for _, name := range []string{"a/x", "held/deep/x", "z/x", "z/program"} {
		mkfile(t, root, name)
	}
	if err := unix.Chmod(filepath.Join(root, "z/program"), 0o4755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(root, "held"), eve, eve); err != nil {
		t.Fatal(err)
	}
	return root
}

// A directory that a user keeps from being read takes nothing but itself out of a walk, and is named. The walk does not
// wait for its limit.
func TestADirectoryThatAUserHoldsHidesNoOther(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	root := plantBeside(t)
	release := deadfuse.Hold(t, eve, filepath.Join(root, "held"))
	want := []string{"/", "/a", "/a/x", "/held", "/z", "/z/program", "/z/x"}
	got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
	if diff := cmp.Diff(want, paths(got)); diff != "" || got["/z/program"].Mode&SetUID == 0 {
		t.Error(diff)
	}
	if diff := cmp.Diff(Sum{Entries: 7, Stuck: 1, StuckAt: "/held", StuckOwner: eve}, sum); diff != "" {
		t.Error(diff)
	}
	release()
	if got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}}); !sum.Whole() || len(got) != 9 {
		t.Errorf("once it is let go of: %+v, %v", sum, paths(got))
	}
}

// What an earlier run still waits for is not read again, and named, wherever its owner moves it; what is put in its
// place is read.
func TestWhatAnEarlierRunWaitsForIsNotRead(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a/x": "", "held/deep/x": "", "home/ana/x": "", "run/keep": ""})
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(root, "held"), &st); err != nil {
		t.Fatal(err)
	}
	forget := stuck.Note(root, stuck.Directory(st.Dev, st.Ino))
	want := []string{"/", "/a", "/a/x", "/held", "/home", "/home/ana", "/home/ana/x", "/run", "/run/keep", "/run/sentinel-stuck"}
	held := func(at string) {
		t.Helper()
		got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
		if diff := cmp.Diff(want, paths(got)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(Sum{Entries: int64(len(want)), Stuck: 1, StuckAt: at, StuckOwner: int64(st.Uid)}, sum); diff != "" {
			t.Error(diff)
		}
	}
	held("/held")
	if _, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/a", "/held/none"}}); sum.Stuck != 1 || sum.StuckAt != "/held/none" {
		t.Errorf("a start in it that may keep the walk waiting: %+v", sum)
	}
	// By FNV-1a of their paths, this was /home/ana.
	const moved = "60042860766-\a\x0f\x0f\x06\x1a\a\x03\x02\x05\xfb\b\x0e\x05\x7f"
	if err := os.Rename(filepath.Join(root, "held"), filepath.Join(root, "home", moved)); err != nil {
		t.Fatal(err)
	}
	mkfile(t, root, "held/new")
	want = append(want[:4], "/held/new", "/home", "/home/"+moved, "/home/ana", "/home/ana/x", "/run", "/run/keep", "/run/sentinel-stuck")
	held("/home/" + moved)
	forget()
	if got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}}); !sum.Whole() || len(got) != len(want)+2 {
		t.Errorf("once it is let go of: %+v, %v", sum, paths(got))
	}
}

// More of them than there are goroutines hide no other either, and one at which a walk begins, or that it has to look
// into before, does not keep it.
func TestManyHeldDirectoriesAndHeldStarts(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	root := inMemory(t)
	mkfile(t, root, "free/x")
	for _, name := range []string{"0", "1", "2", "3", "4", "5"} {
		mkfile(t, root, name+"/in/x")
		deadfuse.Hold(t, eve, filepath.Join(root, name))
	}
	tree := Tree{Root: root, Start: []string{"/free", "/0", "/1", "/2", "/3", "/4", "/5", "/5/new/in"}}
	got, sum := gather(t, t.Context(), tree)
	if diff := cmp.Diff([]string{"/0", "/1", "/2", "/3", "/4", "/5", "/free", "/free/x"}, paths(got)); diff != "" || sum.Stuck != 7 || sum.Unseen != 0 || sum.Cut {
		t.Errorf("%+v\n%s", sum, diff)
	}
}

// Whoever comes back after the walk has ended lets go of what was open.
func TestWhoComesBackTooLateLetsGo(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	root := plantBeside(t)
	release := deadfuse.Hold(t, eve, filepath.Join(root, "held"))
	noCollector(t)
	open := openFiles(t)
	got, sum := gather(t, t.Context(), Tree{Root: root, Start: []string{"/"}})
	if openFiles(t) <= open || sum.Stuck != 1 {
		t.Errorf("nobody is stuck: %+v", sum)
	}
	release()
	testenv.WaitFor(t, "all files closed", func() bool { return openFiles(t) <= open })
	if len(got) != 7 {
		t.Errorf("%v", paths(got))
	}
}

// What a visit saw after the walk has ended does not count.
func TestWhatIsSeenTooLateDoesNotCount(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"a": ""})
	noCollector(t)
	open, again, kept := openFiles(t), make(chan struct{}), 0
	ctx, cancel := context.WithCancel(t.Context())
	sum := Walk(ctx, Tree{Root: root, Start: []string{"/"}, Entries: 10}, func(_ int, p Place, _ Entry) func() {
		if p.Name == "a" {
			cancel()
			<-again
		}
		return func() { kept++ }
	})
	close(again)
	testenv.WaitFor(t, "all files closed", func() bool { return openFiles(t) <= open })
	if kept != 1 || sum.Stuck != 1 || sum.StuckAt != "/" || sum.Whole() {
		t.Errorf("%d are kept, %+v", kept, sum)
	}
}

// noCollector keeps files that nobody closes from being closed all the same.
func noCollector(t *testing.T) {
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
