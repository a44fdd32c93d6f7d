// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// A file that is mounted over another one is looked at as well as what it hides.
func TestAFileThatIsMountedIsLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/srv")
	mounted(t, "/opt")
	for path, mode := range map[string]os.FileMode{"/srv/shared.conf": 0o666, "/opt/app.conf": 0o644, "/srv/safe.conf": 0o644, "/opt/open.conf": 0o666} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for from, over := range map[string]string{"/srv/shared.conf": "/opt/app.conf", "/srv/safe.conf": "/opt/open.conf"} {
		if err := unix.Mount(from, over, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	f := here(t, "tree.world_writable")
	for _, path := range []string{"/opt/app.conf", "/opt/open.conf"} {
		if f.Status != audit.Fail || !strings.Contains(strings.Join(f.Evidence, "\n"), path+": mode 0666") {
			t.Errorf("%s: %+v", path, f)
		}
	}
}
