// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// A program is a file of the system where nobody but root could have put it there, under its name.
func TestProgramsOfTheSystemAreRootsAlone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir("/mnt/in", 0o755), os.WriteFile("/mnt/in/x", raw, 0o755), os.WriteFile("/mnt/other", raw, 0o755)); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		run        string // before the program is looked at
		want, lent bool
	}{
		"as it is":            {"", true, false},
		"removed":             {"rm /mnt/in/x", true, false},
		"replaced":            {"cp /mnt/other /mnt/in/y; mv /mnt/in/y /mnt/in/x", true, false},
		"set-user-ID":         {"chmod 4755 /mnt/in/x", true, true},
		"writable by a group": {"chmod 0775 /mnt/in/x", false, false},
		"of a user":           {"chown 65534 /mnt/in/x", false, false},
		"in a user's folder":  {"chown 65534 /mnt/in", false, false},
		"in an open folder":   {"chmod 0777 /mnt/in", false, false},
		"moved":               {"mv /mnt/in/x /mnt/in/y; ln -s /mnt/in/y /mnt/in/x", true, false},
		"moved away":          {"mv /mnt/in/x /mnt/y", true, false},
	} {
		t.Run(what, func(t *testing.T) {
			runs := started(t, "/mnt/in/x")
			defer func() {
				must(t, "rm -rf /mnt/in /mnt/y; mkdir /mnt/in; cp /mnt/other /mnt/in/x")
			}()
			must(t, c.run)
			if p, err := New("/").Program(runs, 0); err != nil || p.System != c.want || p.Lent != c.lent {
				t.Errorf("%+v, %v", p, err)
			}
			if got := New("/").Lends(runs); got != c.lent {
				t.Errorf("lends rights: %t", got)
			}
		})
	}
	t.Run("under another name, in a mount namespace of its own", func(t *testing.T) {
		runs := started(t, testenv.Program(t, "unshare", "util-linux"), "--mount", "--propagation", "private", "/bin/sh", "-c", "mount --bind /mnt/other /mnt/in/x; exec /mnt/in/x 600")
		testenv.WaitFor(t, "the program", func() bool {
			p, err := New("/").Program(runs, 0)
			return err == nil && p.Path == "/mnt/in/x" && !p.System
		})
	})
	t.Run("removed, in a mount namespace that any user can make", func(t *testing.T) {
		runs := started(t, testenv.Program(t, "unshare", "util-linux"), "--map-root-user", "--mount", "--propagation", "private", "/bin/sh", "-c", "mount --bind /mnt/other /mnt/in/x; exec /mnt/in/x 600")
		testenv.WaitFor(t, "the program", func() bool {
			link, err := New("/").Link(runs, "exe")
			return err == nil && link == "/mnt/in/x"
		})
		must(t, "rm /mnt/other")
		if p, err := New("/").Program(runs, 0); err != nil || p.Path != "/mnt/in/x" || !p.Removed || p.System {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func must(t *testing.T, script string) {
	t.Helper()
	if out, err := exec.Command("/bin/sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// started runs a program until the test ends.
func started(t *testing.T, file string, args ...string) int {
	t.Helper()
	if len(args) == 0 {
		args = strings.Fields("600")
	}
	c := exec.CommandContext(t.Context(), file, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Process.Kill(), c.Wait()); err == nil {
			t.Error("it ended by itself")
		}
	})
	return c.Process.Pid
}
