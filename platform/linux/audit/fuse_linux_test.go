// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sys/unix"

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
	good := func(hostfile.Meta) bool { return true }
	check := func(name string) func() fileVerdict {
		return func() (v fileVerdict) { v.checkNamed(m, name, good); return v }
	}
	all, allErr := asUser(m, user, func() (all mcpServers) { all.add(m, localUsers{}, user, "mcp.json"); return all })
	v, err := asUser(m, user, check(user.Home+"/id_ed25519"))
	if err := errors.Join(err, allErr); err != nil || !errors.Is(v.unread, errOnFUSE) {
		t.Errorf("%v, %v", err, v.unread)
	}
	if f := all.List().Judge(func([]configured) audit.Finding { return audit.Passed("") }); f.Status == audit.Pass {
		t.Errorf("%+v", f)
	}
	if v, err = asUser(m, user, check("/root/x/id_ed25519")); err != nil || v.unread != nil {
		t.Errorf("what is root's: %v, %v", err, v.unread)
	}
}

// A user whose files keep whoever looks at them waiting takes time of one run, and no other user's place in it.
func TestWhoseFilesDoNotAnswerIsGivenUp(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	dead := deadfuse.NewForAll(t)
	m := &machine{Parts: Parts{Root: "/"}}
	look := func(name string) func() bool { return func() bool { return m.exists(name) } }
	user, other := userdb.User{Name: "x", UID: 1000, GID: 1000}, userdb.User{Name: "y", UID: 1001, GID: 1001}
	if _, err := asUser(m, user, look(dead.Dir+"/a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first look: %v", err)
	}
	if _, err := asUser(&machine{Parts: Parts{Root: "/"}}, user, look("/etc")); !errors.Is(err, stuck.ErrEarlier) {
		t.Errorf("the next: %v", err)
	}
	if is, err := asUser(m, other, look("/etc")); !is || err != nil {
		t.Errorf("another user's: %v, %v", is, err)
	}
}
