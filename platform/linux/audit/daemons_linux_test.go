// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// runsNow says whether a program of a name runs as a service of this system.
func runsNow(t *testing.T, m *machine, name string) bool {
	t.Helper()
	all, err := m.processTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, found := all.daemon(m, name)
	return found
}

// A service account that was taken over starts a program of its own.
func TestAProgramOfAServiceAccountIsNoDaemon(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/bin/sleep", "/mnt/chronyd", 0o755)
	sleeperAs(t, 33, "/mnt/chronyd", "chronyd")
	if !runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("root's program is none")
	}
	if err := os.Chown("/mnt/chronyd", 33, 33); err != nil {
		t.Fatal(err)
	}
	if runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("a program that the account can change is one")
	}
}

// inContainer begins a shell in a mount namespace with a root directory of its own, in which
// /usr/sbin/chronyd runs.
const inContainer = `set -e
mount -t tmpfs -o mode=0755 t /mnt
for d in lib lib64 usr/lib; do if [ -d /$d ]; then mkdir -p /mnt/$d; mount --bind /$d /mnt/$d; fi; done
mkdir -p /mnt/usr/sbin /mnt/old
cp /bin/sleep /mnt/usr/sbin/chronyd
cd /mnt
pivot_root . old
exec /usr/sbin/chronyd 600`

// Root in a container is called 0 too, and its programs have the paths of this system's.
func TestAProcessOfAContainerIsNoDaemonOfItsHost(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	c := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", inContainer)
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		if err := c.Wait(); err == nil || said.Len() > 0 {
			t.Errorf("%v: %s", err, said.String())
		}
	})
	proc := "/proc/" + strconv.Itoa(c.Process.Pid)
	testenv.WaitFor(t, "the program in the container", func() bool {
		to, _ := os.Readlink(proc + "/exe")
		return to == "/usr/sbin/chronyd"
	})
	if runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("it is one")
	}
	if err := os.Remove(filepath.Join(proc, "root/usr/sbin/chronyd")); err != nil {
		t.Fatal(err)
	}
	if runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("removed, it is one")
	}
}

// A package that is renewed removes the program of a daemon that runs.
func TestADaemonWhoseProgramIsRenewedRuns(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/bin/sleep", "/mnt/chronyd", 0o755)
	sleeperAs(t, 0, "/mnt/chronyd", "chronyd")
	if err := os.Remove("/mnt/chronyd"); err != nil {
		t.Fatal(err)
	}
	if !runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("it does not")
	}
}
