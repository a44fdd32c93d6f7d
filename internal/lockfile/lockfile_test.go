// SPDX-License-Identifier: Apache-2.0

package lockfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"sentinel/internal/trust"
)

const (
	long  = time.Minute
	short = 20 * time.Millisecond
)

type lock = func(context.Context, string, time.Duration) (release func(), err error)

// had takes a lock that is free.
func had(t *testing.T, take lock, path string) (release func()) {
	t.Helper()
	release, err := take(t.Context(), path, long)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestOneExcludesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	release := had(t, Exclude, path)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v: others could hold it for ever", info.Mode(), err)
	}
	for name, take := range map[string]lock{"Exclude": Exclude, "Share": Share} {
		if _, err := take(t.Context(), path, short); !errors.As(err, new(BusyError)) {
			t.Errorf("%s: %v, want a BusyError", name, err)
		}
	}
	release()
	// The waits that timed out got the lock first, and released it.
	had(t, Exclude, path)()
}

func TestSharersShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	had(t, Exclude, path)()
	first := had(t, Share, path)
	second := had(t, Share, path)
	if _, err := Exclude(t.Context(), path, short); !errors.As(err, new(BusyError)) {
		t.Errorf("%v, want a BusyError", err)
	}
	first()
	second()
	had(t, Exclude, path)()
}

func TestAWaitEndsWithItsCaller(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	defer had(t, Exclude, path)()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, err := Exclude(ctx, path, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while waiting: %v", err)
	}
	other := filepath.Join(t.TempDir(), "b.lock")
	for range 100 { // a file would be made aside
		if _, err := Exclude(ctx, other, long); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before: %v", err)
		}
	}
	if _, err := os.Lstat(other); err == nil {
		t.Error("a run that has ended makes a file")
	}
}

func TestOnlyAFileIsLocked(t *testing.T) {
	dir := t.TempDir()
	if _, err := Share(t.Context(), filepath.Join(dir, "none"), long); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(filepath.Join(dir, "target"), link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		if _, err := Exclude(t.Context(), path, long); !errors.Is(err, trust.ErrNotRegular) {
			t.Errorf("%s: %v, want ErrNotRegular", path, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "target")); err == nil {
		t.Error("it was made through a link")
	}
}

func TestASignalEndsNoWait(t *testing.T) {
	asked := 0
	err := retryInterrupted(nil, func(*flock.Flock) error {
		if asked++; asked < 3 {
			return fmt.Errorf("flock: %w", syscall.EINTR)
		}
		return syscall.ENOLCK
	})
	if asked != 3 || !errors.Is(err, syscall.ENOLCK) {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestABusyLockIsNamedWithItsHolder(t *testing.T) {
	for e, want := range map[BusyError]string{
		{Path: "/x.lock", Holder: 7}: "process 7, another run of sentinel, has held /x.lock for too long",
		{Path: "/x.lock", Holder: 7, Tool: "block_ip_address", Since: time.Unix(1800000000, 0).UTC()}: "process 7, another run of sentinel (block_ip_address), has held /x.lock since 2027-01-15T08:00:00Z, for too long",
		{Path: "/x.lock"}: "another run of sentinel has held /x.lock for too long",
		{Path: "/x.lock", Holder: 7, Tool: "block_ip_address", Since: time.Unix(1800000000, 0), Passes: true}: "one run of sentinel after another has held /x.lock, at last process 7 (block_ip_address)",
		{Path: "/x.lock", Holder: 7, Passes: true}:                                                            "one run of sentinel after another has held /x.lock, at last process 7",
		{Path: "/x.lock", Passes: true}:                                                                       "one run of sentinel after another has held /x.lock",
	} {
		if e.Error() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
}

// Whoever has just got the lock does not hang, and is not to be killed.
func TestWhoHasTheLockForAMomentIsNotAdvisedToBeKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	defer had(t, Exclude, path)()
	for began, passes := range map[int64]bool{uptime() - time.Hour.Milliseconds(): true, uptime(): false} {
		if e := busy(path, began); e.Passes != passes || strings.HasPrefix(e.Fix(), "Nothing was changed. Many runs") != passes {
			t.Errorf("after a wait since %d: %+v, %s", began, e, e.Fix())
		}
	}
	for e, want := range map[BusyError]bool{{Holder: 7}: true, {Holder: 7, Passes: true}: false} {
		if strings.Contains(e.Fix(), "kill") != want {
			t.Errorf("%+v: %s", e, e.Fix())
		}
	}
}
