// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

// A session ends with what leads a terminal within it where a recorder is in the place of the shell, and loses its
// own terminal with the monitor of sudo.
func TestRealSessionsCarryTerminalsWithinThem(t *testing.T) {
	for program, name := range map[string]string{"sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2", "script": "bsdutils", "sudo": "sudo"} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	const stays = `exec sh -c "echo in \$\$; exec sleep 600"`
	t.Run("a recorder", func(t *testing.T) {
		carries(t, s.runs(t, "exec script -qc '"+stays+"' /dev/null"), true)
	})
	t.Run("a recorder that a shell has started", func(t *testing.T) {
		carries(t, s.runs(t, "script -qc '"+stays+"' /dev/null; sleep 600"), false)
	})
	t.Run("sudo", func(t *testing.T) {
		s.lends(t)
		command := s.runs(t, `sudo -n sh -c "echo in \$\$; exec sleep 600"; sleep 600`)
		p, err := New("/").proc.Process(command)
		if err != nil {
			t.Fatal(err)
		}
		carries(t, command, false)
		carries(t, p.ParentPID, true)
	})
}

// runs has ann log in, with a command that ends up in a program; its PID is returned.
func (s *site) runs(t *testing.T, command string) (pid int) {
	t.Helper()
	words := s.sshWords(ann, here, "2201", command)
	_, _, out := s.start("peer", nil, append([]string{words[0], "-tt"}, words[1:]...)...)
	line, err := out.ReadString('\n')
	if _, bad := fmt.Sscanf(line, "in %d", &pid); err != nil || bad != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return pid
}

// lends lets ann become root, at a terminal that sudo serves.
func (s *site) lends(t *testing.T) {
	t.Helper()
	rules := filepath.Join(s.dir, "sudoers")
	err := os.WriteFile(rules, []byte("Defaults use_pty\nann ALL=(ALL) NOPASSWD: ALL\n"), 0o440)
	if out, bad := exec.Command("mount", "--bind", rules, "/etc/sudoers").CombinedOutput(); err != nil || bad != nil {
		t.Fatal(errors.Join(err, bad), string(out))
	}
}

// carries checks whether a process carries ann's session, seen by itself.
func carries(t *testing.T, pid int, want bool) {
	t.Helper()
	m := model(t, pid)
	c := m.Processes[pid]
	if (c.Sessions != nil) != want || want && c.Whose() != sessions.Own || len(m.Hidden()) > 0 {
		t.Errorf("%d: %v, want it to carry the session: %v; hidden: %v", pid, c, want, m.Hidden())
	}
}
