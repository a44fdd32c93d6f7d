// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// The audit of this system asks the same about mounts of users as the figures of health.
func TestTheAuditSeesBehindMountsOfUsers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "unshare", "util-linux")
	const script = `mount -t tmpfs t /opt; cp /bin/sleep /opt/gone; cd /opt; umount -l /opt; exec ./gone 600`
	c := exec.CommandContext(t.Context(), "setpriv", "--reuid", "33", "--regid", "33", "--clear-groups", "unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script)
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	testenv.WaitFor(t, "the program", func() bool {
		name, err := os.Readlink("/proc/" + strconv.Itoa(c.Process.Pid) + "/exe")
		return err == nil && name == "/gone"
	})
	h, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range h.Audit.Checks() {
		if check.ID != "processes.program_gone" {
			continue
		}
		if f := check.Run(t.Context()); f.Status != audit.Fail || !strings.Contains(strings.Join(f.Evidence, "\n"), "/gone, called gone, from a file system that neither the system nor the process has mounted") {
			t.Errorf("%+v", f)
		}
	}
}
