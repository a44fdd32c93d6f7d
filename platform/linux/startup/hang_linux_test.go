// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/platform/unix/stuck"
)

// A home on a server that does not answer is said to be unread, and costs the others nothing.
func TestAHomeThatDoesNotAnswerIsUnread(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	root := testenv.Plant(t, map[string]string{
		"etc/passwd":       "ann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n",
		"home/ann/.x":      "",
		"home/bob/.bashrc": "/opt/beat\n",
		"opt/beat":         "",
	})
	for dir := root; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	dead := deadfuse.NewForAll(t)
	home := filepath.Join(root, "home", "ann")
	if err := unix.Mount(dead.Dir, home, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(home, unix.MNT_FORCE|unix.MNT_DETACH) })
	found, err := New(Parts{Root: root, Owner: os.Geteuid()}).Startup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Unread, func(u startup.Unread) bool {
		return u.Path == "/home/ann" && errors.Is(u.Err, context.DeadlineExceeded)
	}) {
		t.Errorf("unread: %+v", found.Unread)
	}
	if !slices.ContainsFunc(found.Entries, func(e startup.Entry) bool { return e.File == "/home/bob/.bashrc" }) {
		t.Errorf("bob's is not among %+v", found.Entries)
	}
}

// A program in a directory that somebody keeps from being searched takes away neither what else its user starts, nor
// their home from the next run.
func TestAProgramInAHeldDirectoryLeavesItsUsersHomeRead(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	const root = "/srv"
	if err := unix.Mount("m", root, "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"etc/passwd":       "ann:x:1000:1000::/home/ann:/bin/sh\n",
		"home/ann/.bashrc": "/opt/tools/none\n/opt/beat\n",
		"opt/tools/x":      "",
		"opt/beat":         "",
		"run/keep":         "",
	} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	deadfuse.Hold(t, 4000, root+"/opt/tools")
	for _, want := range []error{context.DeadlineExceeded, stuck.ErrEarlier} {
		found, err := New(Parts{Root: root, Owner: os.Geteuid()}).Startup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Unread) > 0 || len(found.Unseen) != 1 || found.Unseen[0].Path != "/home/ann/.bashrc" || !errors.Is(found.Unseen[0].Err, want) {
			t.Errorf("unread: %+v, unseen: %+v, want %v", found.Unread, found.Unseen, want)
		}
		if !slices.ContainsFunc(found.Entries, func(e startup.Entry) bool {
			return slices.ContainsFunc(e.Programs, func(p startup.Program) bool { return p.Path == "/opt/beat" && !p.Missing })
		}) {
			t.Errorf("what she starts is not among %+v", found.Entries)
		}
	}
}
