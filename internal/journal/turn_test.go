// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
)

// of returns an intent of a user behind sudo.
func of(uid int) Intent {
	i := block("x")
	i.Who.SudoUID, i.Who.SudoUser = &uid, "ana"
	return i
}

// ends fails the test unless Begin ends with a code; "" is none.
func ends(t *testing.T, what string, j *Journal, i Intent, limit *Limit, want fault.Code) {
	t.Helper()
	e, err := j.Begin(t.Context(), i, limit)
	known, _ := errors.AsType[*fault.Error](err)
	switch {
	case want == "" && err == nil:
		finish(t, e)
	case want == "" || known == nil || known.Code != want:
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// Whoever has used up what a limit allows keeps nobody else from the journal, however often they ask.
func TestWhoIsRefusedByALimitNeedsNoLock(t *testing.T) {
	j := fresh(t)
	j.maxFile = maxLine + 500 // the records that count are in several files
	limit := &Limit{Most: 2, Within: time.Hour}
	for range limit.Most {
		ends(t, "allowed", j, of(1000), limit, "")
	}
	held, err := j.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j.lockTimeout = time.Second
	for range 2 {
		ends(t, "used up", j, of(1000), limit, fault.RateLimited)
	}
	ends(t, "not used up", j, of(1000), &Limit{Most: 3, Within: time.Hour}, fault.JournalFailed)
	held()
	j.lockTimeout = lockTimeout
	j.now = func() time.Time { return time.Now().Add(time.Hour) }
	ends(t, "an hour later", j, of(1000), limit, "")
	sound(t, j)
}

// What cannot be read without the lock is checked under it.
func TestAJournalThatIsNotThereHasNoLimitReached(t *testing.T) {
	j := in(filepath.Join(t.TempDir(), "none"))
	if err := j.reached([]*Limit{{Most: 0, Within: time.Hour}}); err != nil {
		t.Error(err)
	}
	ends(t, "none allowed", j, of(1000), &Limit{Most: 0, Within: time.Hour}, fault.RateLimited)
}

// However many a user starts, one of them at a time waits for the lock of the journal beside others.
func TestRunsOfAUserWaitForOneAnother(t *testing.T) {
	j := fresh(t)
	limit := &Limit{Most: 10, Within: time.Hour}
	ends(t, "the first", j, of(1000), limit, "")
	pass, err := j.queue(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	ends(t, "another user", j, of(1001), limit, "")
	ends(t, "root", j, block("x"), limit, "")
	ends(t, "who is not limited", j, of(1000), nil, "")
	j.lockTimeout = time.Second
	ends(t, "the same user, whose other run does not go on", j, of(1000), limit, fault.JournalFailed)
	pass()
	j.lockTimeout = lockTimeout
	ends(t, "the same user again", j, of(1000), limit, "")
	sound(t, j)
}

func TestOnlyManyRunsOfAUserAreTooMany(t *testing.T) {
	passes := lockfile.BusyError{Path: "turn-1000.lock", Holder: 7, Passes: true}
	if known, is := errors.AsType[*fault.Error](passedOver(passes)); !is || known.Code != fault.RateLimited {
		t.Errorf("one after another: %v", known)
	}
	hung := lockfile.BusyError{Path: "turn-1000.lock", Holder: 7}
	if err := passedOver(hung); !errors.Is(err, hung) || errors.As(err, new(*fault.Error)) {
		t.Errorf("one all the time: %v", err)
	}
}
