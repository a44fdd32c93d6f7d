// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// holdsUFWLock starts a process of a user that locks the file of ufw, until it is killed by release.
func holdsUFWLock(t *testing.T, uid uint32, mode, kind string) (pid int, release func()) {
	t.Helper()
	c := exec.Command(testenv.Program(t, "python3", "python3"), "-c",
		"import fcntl, time; f = open('/run/ufw.lock', '"+mode+"'); fcntl.lockf(f, fcntl."+kind+"); print('held', flush=True); time.sleep(3600)")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	pid = startHolder(t, c)
	return pid, func() {
		c.Process.Kill()
		c.Wait()
	}
}

// onTrial makes a change of ufw, and returns what another run takes back.
func onTrial(t *testing.T, m *Manager, change func(firewall.Loaded, func(firewall.Change) error) error) firewall.Pending {
	t.Helper()
	l, err := m.Loaded(firewall.UFW)
	var noted firewall.Change
	if err == nil {
		err = change(l, func(c firewall.Change) error {
			noted = c
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Resume(noted)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhoLocksTheFileOfUFWHoldsNothingUp(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	m := NewManager(sysexec.Host{})
	inPolicy := func(want string) {
		t.Helper()
		if got, _, _ := strings.Cut(command(t, "iptables -S INPUT"), "\n"); got != "-P INPUT "+want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	others := func() {
		t.Helper()
		os.Remove("/run/ufw.lock")
		command(t, "ufw status") // which makes the file
		_, release := holdsUFWLock(t, testenv.Nobody, "r", "LOCK_SH")
		t.Cleanup(release)
	}

	others()
	b := &ufw{m: m}
	if err := b.Enable(t.Context(), []firewall.Port{ssh}, func(firewall.Change) error { return nil }); err != nil {
		t.Fatalf("switched on: %v", err)
	}
	inPolicy("DROP")

	let := onTrial(t, m, func(l firewall.Loaded, note func(firewall.Change) error) error {
		return l.Allow(t.Context(), []firewall.Port{web}, note)
	})
	others()
	if err := let.Undo(t.Context()); err != nil {
		t.Errorf("let in, taken back: %v", err)
	}
	if out := command(t, "iptables -S ufw-user-input"); strings.Contains(out, "8080") || !strings.Contains(out, "2222") {
		t.Errorf("rules:\n%s", out)
	}

	off := func(l firewall.Loaded, note func(firewall.Change) error) error { return l.Disable(t.Context(), note) }
	on := onTrial(t, m, off)
	inPolicy("ACCEPT")
	others()
	if err := on.Undo(t.Context()); err != nil {
		t.Errorf("switched off, taken back: %v", err)
	}
	inPolicy("DROP")

	others()
	b = &ufw{m: m, change: firewall.Change{Manager: firewall.UFW, Openings: openings([]firewall.Port{ssh})}}
	if err := b.Undo(t.Context()); err != nil || ufwEnabled("/") {
		t.Errorf("switched on, taken back: %v, enabled %v", err, ufwEnabled("/"))
	}
	inPolicy("ACCEPT")
}

// A ufw that asks whether to go on has its lock until somebody answers.
func TestUFWIsSwitchedOnAgainBehindARunOfRoots(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	m := NewManager(sysexec.Host{})
	command(t, "ufw --force enable")
	on := onTrial(t, m, func(l firewall.Loaded, note func(firewall.Change) error) error { return l.Disable(t.Context(), note) })
	pid, release := holdsUFWLock(t, 0, "w", "LOCK_EX")
	err := on.Undo(t.Context())
	release()
	if want := fmt.Sprintf("process %d of root's holds its lock", pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if out := command(t, "ufw status"); !strings.HasPrefix(out, "Status: active\n") || !ufwEnabled("/") {
		t.Errorf("enabled %v, %s", ufwEnabled("/"), out)
	}
	if err := on.Undo(t.Context()); err != nil {
		t.Errorf("tried again: %v", err)
	}
}
