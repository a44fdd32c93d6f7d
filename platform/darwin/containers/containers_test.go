// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/engine"
)

// Root's own socket in the folder of the system is root's. Behind a link from there is the user's.
func TestOnlyTheSystemsOwnSocketIsRoots(t *testing.T) {
	root, err := filepath.EvalSymlinks(testenv.Plant(t, map[string]string{"private/var/run/docker.sock": "", "Users/ann/.colima/default/docker.sock": ""}))
	if err != nil {
		t.Fatal(err)
	}
	system, own := filepath.Join(root, "private/var/run/docker.sock"), filepath.Join(root, "Users/ann/.colima/default/docker.sock")
	if err := os.Symlink("private/var", filepath.Join(root, "var")); err != nil {
		t.Fatal(err)
	}
	s := Source{Root: root, Home: "/Users/ann", UID: 501}
	owner := s.UID
	if os.Getuid() == 0 { // who made the files
		owner = 0
	}
	if diff := cmp.Diff([]engine.Socket{{Path: system, Owner: owner}, {Path: own, Owner: 501}}, s.sockets()); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(system); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, system); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]engine.Socket{{Path: own, Owner: 501}}, s.sockets()); diff != "" {
		t.Error(diff)
	}
}
