// SPDX-License-Identifier: Apache-2.0

// Package privilege reports the user IDs of this process, and drops root temporarily. It is the
// only package that reads user IDs from the system.
package privilege

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// nobody is the group without rights, and the user where there is no other to
// become.
const nobody = 65534

// AsUser runs f with the rights of an ordinary user and of the group nobody, and
// then takes root back. It drops root for the whole process, so nothing that needs root may run
// at the same time. The real user id stays root's, so that the user can neither signal nor
// trace this process. Without root it only runs f. For a uid that is root's or invalid it uses
// nobody's.
func AsUser(uid int, f func() error) (err error) {
	if !IsRoot() {
		return f()
	}
	if uid <= 0 || uid >= 1<<31-1 {
		uid = nobody
	}
	if err := reachesThreads(); err != nil {
		return fmt.Errorf("drop root: %w", err)
	}
	looking.Lock()
	defer looking.Unlock()
	groups, err := syscall.Getgroups()
	if err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	group := os.Getegid()
	defer func() {
		if back := raise(group, groups); back != nil {
			err = errors.Join(err, fmt.Errorf("take root back: %w", back))
		}
	}()
	if err := lower(uid); err != nil {
		return fmt.Errorf("drop root: %w", err)
	}
	return f()
}

func lower(uid int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := setegid(nobody); err != nil {
		return err
	}
	if err := seteuid(uid); err != nil {
		return err
	}
	if EffectiveUID() != uid || os.Getegid() != nobody {
		return errors.New("the system did not do it")
	}
	return nil
}

func raise(group int, groups []int) error {
	if err := seteuid(0); err != nil {
		return err
	}
	return errors.Join(setegid(group), syscall.Setgroups(groups))
}
