// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

var thing = Process(1, 1000)

// What one run waits for is not looked at by the next until that has ended, and all else is.
func TestALookThatHangsIsNotedUntilItEnds(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	hang := make(chan struct{})
	look := func(context.Context) (int, error) {
		<-hang
		return 0, nil
	}
	if _, err := Call(t.Context(), root, thing, time.Millisecond, look); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a look that hangs: %v", err)
	}
	if _, err := Call(t.Context(), root, thing, testenv.HangLimit, look); !errors.Is(err, ErrEarlier) {
		t.Errorf("the next look: %v", err)
	}
	for _, other := range []Thing{thing - 1, thing + 1, Process(1000, 1)} {
		if n, err := Call(t.Context(), root, other, testenv.HangLimit, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("of %d: %d, %v", other, n, err)
		}
	}
	close(hang)
	testenv.WaitFor(t, "the note goes with the look", func() bool { return !Noted(root, thing) })
	if n, err := Call(t.Context(), root, thing, testenv.HangLimit, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}

// Once time is up nothing is looked at, waited for or noted: thousands of homes may come after the one that used it up.
func TestNothingIsLookedAtOnceTimeIsUp(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	ctx, end := context.WithCancel(t.Context())
	end()
	var looked atomic.Bool
	look := func(context.Context) (int, error) {
		looked.Store(true)
		<-t.Context().Done()
		return 0, nil
	}
	if _, err := Call(ctx, root, thing, testenv.HangLimit, look); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Look(ctx, root, "/run", 1000, testenv.HangLimit, look); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if looked.Load() || Noted(root, thing) || AnyDirectory(root) {
		t.Errorf("looked: %t, noted: %t, %t", looked.Load(), Noted(root, thing), AnyDirectory(root))
	}
}

func TestThingsAreToldApart(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	process := Process(0x1234567, 1<<32-1)
	defer Note(root, Directory(1, 2))()
	if AnyProcess(root) || !AnyDirectory(root) || !Noted(root, Directory(1, 2)) || Noted(root, Directory(2, 1)) {
		t.Error("the directory is not told from others")
	}
	forget := Note(root, process)
	forget()
	if AnyProcess(root) {
		t.Error("the note is still there")
	}
	defer Note(root, process)()
	if !AnyProcess(root) || !Noted(root, process) {
		t.Error("the process is not noted")
	}
	for _, other := range []Thing{Process(0x1234567, 1<<32-2), Process(0x1234566, 1<<32-1)} {
		if Noted(root, other) {
			t.Errorf("%d is noted", other)
		}
	}
}

// Nobody else can put notes there, nor have them go astray.
func TestNotesAreTheirWritersAlone(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": "", "elsewhere": ""})
	forget := Note(root, thing)
	info, err := os.Lstat(file(root))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	forget()
	os.Remove(file(root))
	if err := os.Symlink(filepath.Join(root, "elsewhere"), file(root)); err != nil {
		t.Fatal(err)
	}
	defer Note(root, thing)()
	if Noted(root, thing) {
		t.Error("a link was followed")
	}
}

// Several runs that wait for the same are known until the last one does not.
func TestAThingIsNotedAsLongAsAnyRunWaits(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	first, second := Note(root, thing), Note(root, thing)
	first()
	if !Noted(root, thing) {
		t.Error("the second one is not known")
	}
	second()
	if Noted(root, thing) {
		t.Error("nobody waits any more")
	}
}

// Of what is given up, a look of the same user into the same directory is left out, by whatever path, and no other: what
// keeps it waiting may be anywhere behind a link of theirs.
func TestALookThatIsGivenUpLeavesOutNoOther(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": "", "srv/tools/x": "", "home/ana/x": "", "var/x": ""})
	for name, target := range map[string]string{"var/away": "../srv", "srv/tools/l": "/var/away/tools", "srv/loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	hang := make(chan struct{})
	if _, err := Look(ctx, root, "/srv/tools/x", 1000, testenv.HangLimit, func(context.Context) (int, error) { giveUp(); <-hang; return 0, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	look := func(path string, uid int) error {
		_, err := Look(t.Context(), root, path, uid, testenv.HangLimit, func(context.Context) (int, error) { return 0, nil })
		return err
	}
	for _, path := range []string{"/srv/tools/x", "/srv/tools", "/var/away/tools/none/y", "/srv/tools/l/l/x"} {
		if err := look(path, 1000); !errors.Is(err, ErrEarlier) {
			t.Errorf("%s: %v", path, err)
		}
		if err := look(path, 1001); err != nil {
			t.Errorf("%s, by another user: %v", path, err)
		}
	}
	for _, path := range []string{"/home/ana", "/srv", "/", "", "/none", "/srv/loop", "/var/x/y"} {
		if err := look(path, 1000); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	close(hang)
	testenv.WaitFor(t, "the note goes with the look", func() bool { return !AnyDirectory(root) })
}

// Where somebody keeps a directory from being searched, it is noted itself: no look of anybody waits there, nor where it
// is moved, and all others go on.
func TestADirectoryThatIsHeldIsNotedItself(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	const root = "/srv"
	if err := unix.Mount("m", root, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/run", "/opt/tools/in", "/opt/free"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	release := deadfuse.Hold(t, 4000, root+"/opt/tools")
	look := func(path string, uid int) error {
		limit := testenv.HangLimit
		if uid == 1000 {
			limit = 500 * time.Millisecond
		}
		_, err := Look(t.Context(), root, path, uid, limit, func(context.Context) (bool, error) { return true, nil })
		return err
	}
	if err := look("/opt/tools/none", 1000); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := os.Rename(root+"/opt/tools", root+"/opt/moved"); err != nil {
		t.Fatal(err)
	}
	if err := look("/opt/moved/none", 1001); !errors.Is(err, ErrEarlier) {
		t.Errorf("another user's: %v", err)
	}
	for _, path := range []string{"/opt", "/opt/free", "/opt/tools", "/opt/moved/in"} {
		if err := look(path, 1001); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	release()
	testenv.WaitFor(t, "it is free", func() bool { return look("/opt/moved/none", 1001) == nil })
}

// A user who holds a directory of everybody's, and has a run wait there for a name of their choice, takes nobody out who
// would not wait: names that the kernel remembers are found, and looked at.
func TestADirectoryOfAllThatIsHeldTakesNobodyOut(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	root := commonRoot(t)
	deadfuse.Hold(t, 1000, root)
	look := func(path string, uid int, limit time.Duration) error {
		_, err := Look(t.Context(), root, path, uid, limit, func(context.Context) (bool, error) { return true, nil })
		return err
	}
	if err := look("/chosen/by", 1000, 500*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for _, path := range []string{"/home/ana", "/home/ana/x", "/home/ana/none", "/home", "/"} {
		if err := look(path, 1001, testenv.HangLimit); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := look("/none", 1001, testenv.HangLimit); !errors.Is(err, ErrEarlier) {
		t.Errorf("a name that nobody remembers: %v", err)
	}
}

// Where the kernel does not say whether a look-up would wait, a directory of root's is not left out, and one of a user is.
func TestBeforeLinux512OnlyDirectoriesOfUsersAreLeftOut(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := commonRoot(t)
	for _, dir := range []string{"/home", "/home/ana", "/tmp"} {
		var st unix.Stat_t
		if err := unix.Stat(root+dir, &st); err != nil {
			t.Fatal(err)
		}
		defer Note(root, Directory(st.Dev, st.Ino))()
	}
	for path, want := range map[string]error{"/home/bob/x": nil, "/home": nil, "/home/ana/x": ErrEarlier, "/home/ana": ErrEarlier, "/tmp/x": ErrEarlier} {
		for _, says := range []unix.Errno{unix.ENOSYS, unix.EINVAL, unix.EPERM} {
			var err error
			testenv.Intercept(t, unix.SYS_OPENAT2, func(int) unix.Errno { return says }, func() { _, _, err = new(Way).Follow(root, path) })
			if !errors.Is(err, want) {
				t.Errorf("%s, %v: %v", path, says, err)
			}
		}
	}
}

// commonRoot is one of a file system of the test's own, with homes.
func commonRoot(t *testing.T) string {
	t.Helper()
	const root = "/srv"
	if err := unix.Mount("m", root, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/run", "/home/ana/x", "/home/bob/x", "/tmp/x"} {
		if err := os.MkdirAll(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chown(root+"/home/ana", 1001, 1001), os.Chmod(root+"/tmp", 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	return root
}
