// SPDX-License-Identifier: Apache-2.0

package privilege

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sentinel/internal/testenv"
)

// What Look runs sees with the rights of the user, and what runs beside it, or after it, with root's.
func TestAUserLooksAloneWithTheRightsOfThatUser(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give it up")
	if !testenv.Inside(t, "env") { // other threads are watched
		return
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret, shared := filepath.Join(dir, "secret", "x"), filepath.Join(dir, "shared", "x")
	for path, group := range map[string]int{secret: 0, shared: 4242} {
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o750), os.WriteFile(path, nil, 0o600), os.Chown(filepath.Dir(path), 0, group)); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	before, groupsBefore, capsBefore := ids(t)
	var inside sync.WaitGroup
	err = Look(Identity{UID: 1000, GID: 1000, Groups: []int{4242}}, func() {
		uids, groups, caps := ids(t)
		if uids != "0 0 0 1000" || groups != "4242" || strings.Trim(caps, "0") != "" {
			t.Errorf("ids %q, groups %q, capabilities %q", uids, groups, caps)
		}
		if _, err := os.Stat(secret); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a file of root is seen: %v", err)
		}
		if _, err := os.Stat("/proc/1/root" + secret); err == nil {
			t.Error("a file of root is seen through a link in /proc")
		}
		if _, err := os.Stat(shared); err != nil {
			t.Errorf("a file of the user's group is not seen: %v", err)
		}
		inside.Go(func() {
			if after, groups, caps := ids(t); after != before || groups != groupsBefore || caps != capsBefore {
				t.Errorf("beside it: ids %q, groups %q, capabilities %q", after, groups, caps)
			}
		})
		inside.Wait()
	})
	if err != nil {
		t.Error(err)
	}
	for range 100 { // no thread with these rights is left
		if after, groups, caps := ids(t); after != before || groups != groupsBefore || caps != capsBefore {
			t.Fatalf("afterwards: ids %q, groups %q, capabilities %q", after, groups, caps)
		}
	}
	for _, uid := range []int{0, -1, 1<<31 - 1} {
		if err := Look(Identity{UID: uid, GID: 1000}, func() { t.Errorf("it looked as user %d", uid) }); err == nil {
			t.Errorf("user %d is an ordinary one", uid)
		}
	}
}

func TestAPanicOfALookIsNotKeptBack(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was kept back")
		}
	}()
	if err := Look(Identity{UID: 1000, GID: 1000}, func() { panic("x") }); err != nil {
		t.Error(err)
	}
}
