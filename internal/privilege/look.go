// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// An Identity is a user with the groups by which files let that user in.
type Identity struct {
	UID, GID int
	Groups   []int // beside GID
}

var errNotDone = errors.New("the system did not do it")

// looking is held by those who look, and by [AsUser] alone: the runtime cannot change the ids of all
// threads while those of one differ.
var looking sync.RWMutex

// Look runs f with the rights that a user has to files, and no other: it sees what this user sees. Unlike
// [AsUser] it changes nothing for other goroutines: f runs on a thread of its own and must not start
// others. The real user stays root, so that the user can neither signal nor trace the thread. Without
// root it only runs f.
func Look(who Identity, f func()) (err error) {
	if !IsRoot() {
		f()
		return nil
	}
	if who.UID <= 0 || who.UID >= 1<<31-1 || who.GID < 0 || who.GID >= 1<<31-1 {
		return fmt.Errorf("%d is no ordinary user", who.UID)
	}
	looking.RLock()
	defer looking.RUnlock()
	var panicked any
	var ended sync.WaitGroup
	ended.Go(func() {
		defer func() { panicked = recover() }()
		err = onThread(who, f)
	})
	ended.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// onThread leaves a thread that did not get root's rights back locked: it ends with its goroutine.
func onThread(who Identity, f func()) error {
	runtime.LockOSThread()
	back, err := takeOn(who)
	if back == nil {
		runtime.UnlockOSThread()
		return err
	}
	defer func() {
		if back() == nil {
			runtime.UnlockOSThread()
		}
	}()
	if err != nil {
		return fmt.Errorf("take on the rights of user %d: %w", who.UID, err)
	}
	f()
	return nil
}
