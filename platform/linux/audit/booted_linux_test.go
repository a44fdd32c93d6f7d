// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/firewall"
)

// debianSays are verdicts on a fresh Debian that do not depend on the kernel
// below it.
var debianSays = map[string]audit.Status{
	"ssh.root_login": audit.Pass, "ssh.password_auth": audit.Warn, "ssh.empty_passwords": audit.Pass, "ssh.x11_forwarding": audit.Warn, "ssh.macs": audit.Warn,
	"ssh.ciphers": audit.Pass, "ssh.kex": audit.Pass, "ssh.config_permissions": audit.Pass, "ssh.strict_modes": audit.Pass, "ssh.idle": audit.Warn,
	"accounts.uid_zero": audit.Pass, "accounts.empty_passwords": audit.Pass, "accounts.password_hashes": audit.Pass, "accounts.hash_method": audit.Pass,
	"accounts.duplicates": audit.Pass, "accounts.system_shells": audit.Pass, "accounts.password_aging": audit.Warn, "accounts.umask": audit.Warn,
	"sudo.nopasswd": audit.Pass, "sudo.permissions": audit.Pass, "sudo.use_pty": audit.Pass, "firewall.active": audit.Fail,
}

func shell(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		r, err := (sysexec.Host{}).Run(t.Context(), sysexec.Command{Path: "/bin/sh", Args: []string{"-c", c}, Timeout: time.Minute})
		if err != nil || r.Exit != 0 {
			t.Fatalf("%s: %v, status %d: %s%s", c, err, r.Exit, r.Stdout, r.Stderr)
		}
	}
}

func whole(t *testing.T) audit.Report {
	t.Helper()
	parts := Parts{Root: "/", Runner: sysexec.Host{}, Firewall: firewall.NewSource("/", sysexec.Host{})}
	r, err := audit.Run(t.Context(), New(parts), audit.Options{Whole: true, State: audit.StatePath})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A fresh Debian has the known verdicts. What is then broken with the usual tools is
// found and reported as new, and as fixed once it is repaired.
func TestARealDebianIsJudgedAndItsChangesAreSeen(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	shell(t, "mkdir -p /run/sshd")
	r := whole(t)
	found := map[string]audit.Status{}
	for _, c := range r.Checks {
		if _, ours := debianSays[c.ID]; ours {
			found[c.ID] = c.Status
		}
	}
	if diff := cmp.Diff(debianSays, found); diff != "" {
		t.Errorf("a fresh Debian: %s", diff)
	}
	if r.Changed != nil {
		t.Errorf("changes before the first run: %+v", r.Changed)
	}

	const another = `sed -i 's/"at":"20/"at":"19/' ` + audit.StatePath // conversation: the last run was long ago
	shell(t, another,
		"useradd -o -u 0 -g 0 -M toor", "useradd -m guest && passwd -d guest", "useradd -m old && echo old:secret | chpasswd -c MD5",
		"useradd -r -s /bin/bash daemon2", "echo 'mira ALL=(ALL) NOPASSWD: ALL' | EDITOR='tee' visudo -f /etc/sudoers.d/mira", "chmod 666 /etc/sudoers.d/mira",
		"printf 'PermitRootLogin yes\\nPermitEmptyPasswords yes\\nCiphers +3des-cbc\\n' > /etc/ssh/sshd_config.d/bad.conf",
		"nft add table inet f && nft add chain inet f input '{ type filter hook input priority 0; policy drop; }'")
	r = whole(t)
	want := audit.Changed{
		New: []string{"ssh.root_login", "ssh.empty_passwords", "ssh.ciphers", "accounts.uid_zero", "accounts.empty_passwords", "accounts.password_hashes",
			"accounts.system_shells", "sudo.nopasswd", "sudo.permissions"},
		Fixed: []string{"firewall.active"},
	}
	if diff := cmp.Diff(want.New, ours(r.Changed.New)) + cmp.Diff(want.Fixed, ours(r.Changed.Fixed)); diff != "" || r.Overall != audit.OverallFail {
		t.Errorf("broken: %s, %s", r.Overall, diff)
	}

	shell(t, another, "sed -i '/^toor:/d' /etc/passwd /etc/shadow", "userdel -r guest; userdel -r old; userdel daemon2", "rm /etc/sudoers.d/mira /etc/ssh/sshd_config.d/bad.conf", "nft delete table inet f")
	r = whole(t)
	if diff := cmp.Diff(want.New, ours(r.Changed.Fixed)) + cmp.Diff(want.Fixed, ours(r.Changed.New)); diff != "" {
		t.Errorf("repaired: %s", diff)
	}
	if info, err := os.Stat(audit.StatePath); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state: %v, %v", info, err)
	}
	asNobody(t)
}

// asNobody is last: there is no way back. What it takes root to see is named,
// and nothing of it passes.
func asNobody(t *testing.T) {
	t.Helper()
	testenv.Become(t, testenv.Nobody)
	parts := Parts{Root: "/", Runner: sysexec.Host{}, Firewall: firewall.NewSource("/", sysexec.Host{}), EUID: testenv.Nobody}
	r, err := audit.Run(t.Context(), New(parts), audit.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	hidden := map[string]bool{}
	for _, s := range r.Skipped {
		hidden[s.ID] = strings.Contains(s.Reason, "without root")
	}
	for _, id := range []string{"firewall.active", "accounts.empty_passwords", "accounts.password_hashes", "sudo.nopasswd", "sudo.use_pty"} {
		if !hidden[id] {
			t.Errorf("%s is not hidden from nobody", id)
		}
	}
	if r.Coverage == 1 || r.Changed != nil {
		t.Errorf("coverage %v, changed %+v", r.Coverage, r.Changed)
	}
}

// ours keeps the IDs that the test has its hands in; packages leave files about.
func ours(ids []string) []string {
	var list []string
	for _, id := range ids {
		if _, known := debianSays[id]; known && !strings.HasPrefix(id, "accounts.duplicates") {
			list = append(list, id)
		}
	}
	return list
}
