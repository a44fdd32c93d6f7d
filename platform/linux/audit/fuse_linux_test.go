// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

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
	if _, err := asUser(l, ana, "/etc", func() bool { t.Error("looked after the end"); return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the check has ended: %v", err)
	}
}

// A user whose looks all end in time, and late, uses up their own time alone, also that of the IDs that are theirs.
func TestTheLooksOfAUserHaveTheirTimeTogether(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	mounted(t, "/run")
	mounted(t, "/etc")
	for name, text := range map[string]string{"passwd": "m:x:1000:1000::/:/bin/sh\nana:x:1001:1001::/:/bin/sh\n", "group": "", "subuid": "m:100000:65536\n"} {
		if err := os.WriteFile("/etc/"+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, end := (&machine{Parts: Parts{Root: "/"}}).looks(t.Context())
	defer end()
	mallory, ana := userdb.User{Name: "m", UID: 1000, GID: 1000}, userdb.User{Name: "ana", UID: 1001, GID: 1001}
	look := func(u userdb.User) (bool, error) { return asUser(l, u, "/etc", func() bool { return true }) }
	if is, err := look(mallory); !is || err != nil || l.spent[mallory.UID] <= 0 {
		t.Errorf("%t, %v, spent %v", is, err, l.spent)
	}
	l.spent[mallory.UID] = userLimit
	if is, err := look(mallory); !is || err != nil {
		t.Errorf("the look that uses up the time: %t, %v", is, err)
	}
	for _, uid := range []int{mallory.UID, 100007} {
		if is, err := look(userdb.User{UID: uid, GID: nogroup}); is || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the next, as %d: %t, %v", uid, is, err)
		}
	}
	if is, err := look(ana); !is || err != nil {
		t.Errorf("another user's: %t, %v", is, err)
	}
}

// A check with looks goes on after they have used up their time, and tells what it has seen.
func TestTheLooksOfACheckEndBeforeIt(t *testing.T) {
	rounds := map[string]time.Duration{"files.homes": 1, "processes.program_gone": 1, "mcp.config": 1, "mcp.command": 2, "mcp.missing": 2}
	for _, c := range New(Parts{Root: t.TempDir()}).Checks() {
		if n := rounds[c.ID]; n > 0 && (c.Limit < n*looksLimit+audit.DefaultLimit || c.Limit >= audit.TotalLimit) {
			t.Errorf("%s has %v", c.ID, c.Limit)
		}
		delete(rounds, c.ID)
	}
	if len(rounds) > 0 {
		t.Errorf("no such checks: %v", rounds)
	}
}
