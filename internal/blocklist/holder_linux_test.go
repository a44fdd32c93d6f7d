// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/testenv"
)

// Whoever holds the lock and does not go on keeps no reader away, and is named
// to those who have to wait.
func TestHolderOfTheLockIsNamedAndKeepsNoReaderAway(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	holder := exec.Command("/usr/bin/flock", l.lockPath(), "/bin/cat")
	in, err := holder.StdinPipe()
	must(t, err)
	must(t, holder.Start())
	t.Cleanup(func() { in.Close(); holder.Wait() })
	testenv.WaitFor(t, "the lock", func() bool {
		held, err := lockfile.Locked(l.lockPath())
		return held && err == nil
	})
	l.lockTimeout = shortWait
	_, err = block(t, l, Request{Address: "203.0.113.8"})
	e := fault.From(err)
	if e.Code != fault.Unavailable || !strings.Contains(e.Message, fmt.Sprintf("process %d, another run", holder.Process.Pid)) ||
		!strings.HasSuffix(e.Fix, fmt.Sprintf("which is safe: sudo kill -9 %d", holder.Process.Pid)) {
		t.Errorf("%+v", e)
	}
	l.lockTimeout = 10 * testenv.HangLimit
	testenv.HangGuard(t)
	if got := listing(t, l); len(got.IPs) != 1 || !*got.InSync {
		t.Errorf("%+v", got)
	}
	if r, err := l.Pending(t.Context()); err != nil || !r.Idle() {
		t.Errorf("%+v, %v", r, err)
	}
}

// Reading a part of very many locks takes seconds, and does not show that nobody changes the list.
func TestLocksThatAreTooManyAreReadOnce(t *testing.T) {
	m := newMachine()
	l := m.on(t)
	mustBlock(t, l, "203.0.113.7")
	asked := 0
	l.locked = func(string) (bool, error) {
		asked++
		return false, lockfile.ErrTooManyLocks
	}
	if got := listing(t, l); got.IPsTotal != 1 || !*got.InSync || asked != 1 {
		t.Errorf("asked %d times: %+v", asked, got)
	}
}

// A block that is being made is no difference between list and kernel.
func TestListingWaitsForAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		l := m.on(t)
		mustBlock(t, l, "203.0.113.1")
		got := make(chan Listing, 1)
		m.at = func(step string) error {
			if step == "add" {
				go func() {
					r, err := l.Read(t.Context(), 0, 0)
					must(t, err)
					got <- r
				}()
				<-time.After(5 * l.readInterval)
			}
			return nil
		}
		mustBlock(t, l, "203.0.113.2")
		if r := <-got; !*r.InSync || r.IPsTotal != 2 {
			t.Errorf("%+v", r)
		}
	})
}
