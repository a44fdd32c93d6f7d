// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"sentinel/internal/host"
	"sentinel/internal/journal"
	"sentinel/internal/privilege"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

// To find a file whose name one knows takes less than to list the directory that it is in.
func TestNamesAreThoseOfDirectoriesThatCanBeListed(t *testing.T) {
	testenv.Need(t, privilege.IsRoot(), "root, who looks with the rights of another user")
	root := t.TempDir()
	for at := root; at != "/"; at = filepath.Dir(at) { // those that the test has made are its user's alone
		if info, err := os.Stat(at); err == nil && info.Mode().Perm() == 0o700 {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	uid := testenv.Nobody
	sees := session{who: journal.Who{SudoUID: &uid}, host: &host.Host{Root: "/", Listable: hostfile.Listable}}.sees()
	for mode, listed := range map[os.FileMode]bool{0o755: true, 0o711: false, 0o700: false} {
		dir := filepath.Join(root, mode.String())
		file := filepath.Join(dir, "merger.doc")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got := sees(0, file); got != listed {
			t.Errorf("below %v: %v", mode, got)
		}
		if !sees(uid, file) {
			t.Errorf("below %v: one's own is withheld", mode)
		}
	}
	held, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, link := range []string{"/proc/self/cwd", fmt.Sprintf("/proc/self/fd/%d", held.Fd())} {
		if runtime.GOOS == "linux" && sees(0, link+"/.") {
			t.Errorf("what is behind %s is seen", link)
		}
	}
	if sees(0, filepath.Join(root, "gone")) {
		t.Error("what is not there is seen")
	}
}
