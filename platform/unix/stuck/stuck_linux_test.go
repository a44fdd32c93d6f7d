// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// What one run waits for is not looked at by the next until that has ended, and all else is.
func TestALookThatHangsIsNotedUntilItEnds(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	hang := make(chan struct{})
	look := func(context.Context) (int, error) {
		<-hang
		return 0, nil
	}
	if _, err := Call(t.Context(), root, User(1000), time.Millisecond, look); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a look that hangs: %v", err)
	}
	if _, err := Call(t.Context(), root, User(1000), testenv.HangLimit, look); !errors.Is(err, ErrEarlier) {
		t.Errorf("the next look: %v", err)
	}
	for _, other := range []Thing{User(999), User(1001), Process(1000)} {
		if n, err := Call(t.Context(), root, other, testenv.HangLimit, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("of %d: %d, %v", other, n, err)
		}
	}
	close(hang)
	testenv.WaitFor(t, "the note goes with the look", func() bool { return !Noted(root, User(1000)) })
	if n, err := Call(t.Context(), root, User(1000), testenv.HangLimit, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}

func TestProcessesAreListedUpToABound(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": ""})
	if pids := Processes(root, 9); pids != nil || AnyDirectory(root) || Noted(root, Process(5)) {
		t.Errorf("without a note: %v", pids)
	}
	defer Note(root, User(1000))()
	for _, pid := range []int{7, 4194303, 5, 6} {
		defer Note(root, Process(pid))()
	}
	defer Note(root, Directory("/tmp"))()
	defer Note(root, Process(0)+1<<pidBits+8)() // of another namespace
	forget := Note(root, Process(300))
	defer Note(root, Process(6))() // by another run as well
	forget()
	if pids := Processes(root, 9); !slices.Equal(pids, []int{5, 6, 7, 4194303}) {
		t.Errorf("processes %v", pids)
	}
	if !AnyDirectory(root) || !Noted(root, Directory("/tmp")) || Noted(root, Directory("/tmp/a")) {
		t.Error("the directory is not told from others")
	}
	if pids := Processes(root, 2); !slices.Equal(pids, []int{5, 6}) {
		t.Errorf("two of them: %v", pids)
	}
}

// Nobody else can put notes there, nor have them go astray.
func TestNotesAreTheirWritersAlone(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"run/keep": "", "elsewhere": ""})
	forget := Note(root, User(1000))
	info, err := os.Lstat(file(root))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	forget()
	os.Remove(file(root))
	if err := os.Symlink(filepath.Join(root, "elsewhere"), file(root)); err != nil {
		t.Fatal(err)
	}
	defer Note(root, User(1000))()
	if Noted(root, User(1000)) {
		t.Error("a link was followed")
	}
}
