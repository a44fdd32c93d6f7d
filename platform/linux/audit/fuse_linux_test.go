// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/stuck"
)

// A user who mounts a file system of their own over a folder keeps root out of it, and does not make a check
// pass by that.
func TestAFileSystemOfAUserIsToldAsNotLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	user := userdb.User{Name: "x", UID: 1000, GID: 1000, Home: deadfuse.New(t, 1000).Dir}
	m := &machine{Parts: Parts{Root: "/"}}
	l, end := m.looks(t.Context())
	defer end()
	good := func(hostfile.Meta) bool { return true }
	check := func(name string) func() fileVerdict {
		return func() (v fileVerdict) { v.checkNamed(m, name, good); return v }
	}
	all, allErr := asUser(l, user, user.Home, func() (all mcpServers) { all.add(m, localUsers{}, user, "mcp.json"); return all })
	v, err := asUser(l, user, user.Home, check(user.Home+"/id_ed25519"))
	if err := errors.Join(err, allErr); err != nil || !errors.Is(v.unread, errOnFUSE) {
		t.Errorf("%v, %v", err, v.unread)
	}
	if f := all.List().Judge(func([]configured) audit.Finding { return audit.Passed("") }); f.Status == audit.Pass {
		t.Errorf("%+v", f)
	}
	if v, err = asUser(l, user, user.Home, check("/root/x/id_ed25519")); err != nil || v.unread != nil {
		t.Errorf("what is root's: %v, %v", err, v.unread)
	}
}

// What keeps whoever looks at it waiting costs the first look of a run, is not looked at by the next, and takes no other
// directory of that user, and no other user, out of any.
func TestWhatDoesNotAnswerIsGivenUp(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	mounted(t, "/run")
	mounted(t, "/srv")
	for _, name := range []string{"tools/x", "ana/x"} {
		put(t, "/srv", name, 1000, 0o644)
	}
	deadfuse.Hold(t, 4000, "/srv/tools")
	m := &machine{Parts: Parts{Root: "/"}}
	ana, other, root := userdb.User{Name: "x", UID: 1000, GID: 1000}, userdb.User{Name: "y", UID: 1001, GID: 1001}, userdb.User{Name: "root"}
	look := func(l *looks, u userdb.User, name string) error {
		is, err := asUser(l, u, name, func() bool { return m.exists(name) })
		if err == nil && !is {
			t.Errorf("%s is not there", name)
		}
		return err
	}
	l, end := m.looks(t.Context())
	defer end()
	if err := look(l, root, "/srv/tools/none"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first look, of root's: %v", err)
	}
	if err := look(l, ana, "/srv/tools/none"); !errors.Is(err, stuck.ErrEarlier) {
		t.Errorf("the next: %v", err)
	}
	for _, u := range []userdb.User{ana, other} {
		if err := look(l, u, "/srv/ana"); err != nil {
			t.Errorf("what another directory has: %v", err)
		}
	}
}

// A user of whom one look was given up is not looked at again by the same check, wherever that is: one who lets go in
// time each time would use up the time of all. Another user is.
func TestOneLookOfAUserIsGivenUpByACheck(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	mounted(t, "/run")
	m, hang := &machine{Parts: Parts{Root: "/"}}, make(chan struct{})
	l, end := m.looks(t.Context())
	defer end()
	mallory, ana := userdb.User{Name: "m", UID: 1000, GID: 1000}, userdb.User{Name: "ana", UID: 1001, GID: 1001}
	if _, err := asUser(l, mallory, "/usr", func() bool { <-hang; return true }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(hang)
	testenv.WaitFor(t, "nobody waits", func() bool { return !stuck.AnyDirectory("/") })
	if _, err := asUser(l, mallory, "/etc", func() bool { t.Error("looked once more"); return true }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if is, err := asUser(l, ana, "/etc", func() bool { return true }); !is || err != nil {
		t.Error(is, err)
	}
	end()
	if _, err := asUser(l, ana, "/etc", func() bool { <-t.Context().Done(); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the check has ended: %v", err)
	}
}
