// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
)

// finding is what one check says of a Mac.
func finding(t *testing.T, p Parts, id string) audit.Finding {
	t.Helper()
	for _, c := range New(p).Checks() {
		if c.ID == id {
			return c.Run(t.Context())
		}
	}
	t.Fatalf("there is no check %s", id)
	return audit.Finding{}
}

// PAM asks for the password in the keyboard-interactive dialogue, which is on unless it is switched off.
func TestPasswordsHaveTwoWaysIn(t *testing.T) {
	for _, c := range []struct {
		config, status, evidence string
	}{
		{"PasswordAuthentication no\n", "WARN", "default of sshd: kbdinteractiveauthentication yes"},
		{"KbdInteractiveAuthentication no\n", "WARN", "default of sshd: passwordauthentication yes"},
		{"PasswordAuthentication no\nKbdInteractiveAuthentication yes\n", "WARN", "sshd_config:2: kbdinteractiveauthentication yes"},
		{"PasswordAuthentication no\nKbdInteractiveAuthentication no\n", "PASS", ""},
		{"PasswordAuthentication no\nKbdInteractiveAuthentication no\nMatch User ana\nKbdInteractiveAuthentication yes\n", "WARN", "(Match User ana)"},
	} {
		p := parts(t, "intel-12")
		p.EUID = 501 // who cannot ask sshd
		if err := os.WriteFile(filepath.Join(p.Root, "private/etc/ssh/sshd_config"), []byte(c.config), 0o644); err != nil {
			t.Fatal(err)
		}
		f := finding(t, p, "ssh.password_auth")
		if string(f.Status) != c.status || !strings.Contains(strings.Join(f.Evidence, "; "), c.evidence) {
			t.Errorf("%q: %+v", c.config, f)
		}
	}
}
