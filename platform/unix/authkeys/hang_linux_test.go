// SPDX-License-Identifier: Apache-2.0

package authkeys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/stuck"
)

// Some homes that do not answer keep none of the others from being read, and are not waited for twice.
func TestHomesThatDoNotAnswerHideNoOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	root := testenv.Plant(t, map[string]string{"run/keep": "", "home/1/x": "", "home/2/x": "", "home/3/x": "", "home/4/.ssh/authorized_keys": ""})
	for dir := root; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o755)
	}
	dead := deadfuse.NewForAll(t)
	var users []userdb.User
	for i, name := range []string{"1", "2", "3", "4"} {
		users = append(users, userdb.User{Name: name, UID: 1000 + i, Home: "/home/" + name})
	}
	for _, u := range users[:3] {
		home := filepath.Join(root, u.Home)
		if err := unix.Mount(dead.Dir, home, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(home, unix.MNT_FORCE|unix.MNT_DETACH) })
	}
	for _, want := range []error{context.DeadlineExceeded, stuck.ErrEarlier} {
		told := map[string]error{}
		files := map[string]int{}
		Of(t.Context(), root, users, func(u userdb.User, list []File, err error) { told[u.Name], files[u.Name] = err, len(list) })
		for _, u := range users[:3] {
			if !errors.Is(told[u.Name], want) {
				t.Errorf("home %s: %v, want %v", u.Name, told[u.Name], want)
			}
		}
		if told["4"] != nil || files["4"] != 1 {
			t.Errorf("the last: %d files, %v", files["4"], told["4"])
		}
	}
}
