// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// imposter runs what is in memory alone, called name, and shown by the kernel as a file of root's with the path shown.
func imposter(t *testing.T, name, shown string, before ...string) *os.Process {
	t.Helper()
	sleep, err := os.ReadFile("/bin/sleep")
	if err := errors.Join(err, unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"), unix.Mount("tmpfs", "/usr/local/sbin", "tmpfs", 0, "mode=0755"), os.WriteFile(shown, sleep, 0o755)); err != nil {
		t.Fatal(err)
	}
	return testenv.Imposter(t, "/mnt/"+name, 1500, shown, before...)
}

// What the kernel shows in the place of a program makes no process harmless, and protects none.
func TestAProgramThatIsOnlyShownExcusesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	p := imposter(t, "gnome-shell", "/usr/local/sbin/gnome-shell")
	const want = `runs a program from memory and calls it "/usr/local/sbin/gnome-shell", of which it has loaded nothing`
	if got, how := disguised(t, "/usr/local/sbin/gnome-shell"); got != processes.Hides || how != want {
		t.Errorf("%d, %q", got, how)
	}
	gone, lost, err := New("/").GonePrograms(t.Context(), []int{1, p.Pid})
	if c, is := gone[p.Pid]; err != nil || len(gone) != 1 || len(lost) > 0 || !is || !c.Unmapped || !c.LeavesNoFile() {
		t.Errorf("%+v, %v, %v", gone, lost, err)
	}
	i := inspected(t, p.Pid)
	if f := i.Program; f == nil || f.Path != "/usr/local/sbin/gnome-shell" || f.State != "memory" || f.RootOnly || f.AsPackaged != nil || f.ModifiedAt != nil {
		t.Errorf("%+v", f)
	}
	plan, err := processes.PlanTermination(context.Background(), NewTerminator("/"), processes.Target{PID: p.Pid}, []string{"gnome-shell"})
	if err != nil {
		t.Fatal(err)
	}
	plan.Close()
}

// Nor is a daemon what is only shown as one.
func TestADaemonThatIsOnlyShownIsNone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	setpriv, unshare := testenv.Program(t, "setpriv", "util-linux"), testenv.Program(t, "unshare", "util-linux")
	imposter(t, "sshd", "/usr/local/sbin/sshd", setpriv, "--reuid", "1500", "--regid", "1500", "--clear-groups", unshare, "--user", "--map-root-user")
	if got, how := disguised(t, "/usr/local/sbin/sshd"); got != processes.Pretends || how != `calls itself sshd and runs "/usr/local/sbin/sshd"` {
		t.Errorf("%d, %q", got, how)
	}
}
