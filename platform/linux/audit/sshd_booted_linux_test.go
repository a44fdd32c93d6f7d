// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/sshdconf"
)

// dropIn writes a file that sshd includes, and is gone with the case.
func dropIn(t *testing.T, content string) {
	t.Helper()
	path := "/etc/ssh/sshd_config.d/50-test.conf"
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
}

func live() Parts { return Parts{Root: "/", Runner: sysexec.Host{}} }

// What is read from the files, with the defaults for the rest, is what sshd
// itself says is in force; and the verdicts are the same either way.
func TestFilesSayOfSSHDWhatItSaysItself(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	if keys, err := filepath.Glob("/etc/ssh/ssh_host_*_key"); err != nil || len(keys) == 0 {
		t.Fatalf("no host keys: %v", err)
	}
	for _, config := range []string{
		"",
		"PermitRootLogin yes\nPasswordAuthentication=no\n  LogLevel \"VERBOSE\" # more\nMaxAuthTries\t3\n",
		"LoginGraceTime 1m30s\nClientAliveInterval 5m\nPermitUserEnvironment LANG,LC_*\nIgnoreRhosts shosts-only\nHostbasedAuthentication yes\nStrictModes no\n",
		"X11Forwarding no\nX11Forwarding yes\nPermitEmptyPasswords yes\nMatch User mira\n\tX11Forwarding yes\nMatch all\n\tMaxAuthTries 2\n",
		"Include /etc/ssh/none/*.conf\nCiphers aes256-cbc,aes256-ctr\nMACs hmac-sha2-256\nKexAlgorithms diffie-hellman-group14-sha1\n",
		"Ciphers +3des-cbc\nMACs -umac-64*\nKexAlgorithms ^diffie-hellman-group1-sha1\n",
	} {
		dropIn(t, config)
		m := &machine{Parts: live()}
		both := m.sshServers(t.Context()).list[0]
		if both.err != nil || both.Printed == nil || both.Files.Hole != nil {
			t.Fatalf("%q: asked: %v, %v, hole %v", config, both.Printed != nil, both.err, both.Files.Hole)
		}
		alone := sshdconf.Server{Files: both.Files}
		for keyword, standard := range sshDefaults() {
			printed, is := both.Printed[keyword]
			if !is {
				if keyword != "protocol" {
					t.Errorf("sshd does not say %s", keyword)
				}
				continue
			}
			read, _ := alone.Setting(keyword, standard)
			if got, want := normal(keyword, read.Value, standard), normal(keyword, printed.Value, standard); got != want {
				t.Errorf("%q: %s: the files say %q, sshd %q", config, keyword, got, want)
			}
		}
		sameVerdicts(t, config)
	}
}

// normal is a value in one form: sshd prints seconds, resolved lists, and the
// older of two names.
func normal(keyword, value, standard string) string {
	value = strings.ToLower(value)
	switch keyword {
	case "ciphers", "macs", "kexalgorithms":
		list := algorithms(value, standard)
		if value[0] == '^' {
			list = append(algorithms(value[1:], ""), strings.Split(standard, ",")...)
		}
		return strings.Join(list, ",")
	case "logingracetime", "clientaliveinterval":
		n, ok := parseTime(value)
		if !ok {
			return "bad " + value
		}
		return strconv.Itoa(n)
	}
	if value == "prohibit-password" {
		return "without-password"
	}
	return value
}

func sameVerdicts(t *testing.T, config string) {
	t.Helper()
	asked, read := New(live()).Checks(), New(Parts{Root: "/", EUID: 0}).Checks()
	for i, c := range asked {
		if !strings.HasPrefix(c.ID, "ssh.") {
			continue
		}
		if a, b := c.Run(t.Context()), read[i].Run(t.Context()); a.Status != b.Status || a.Status == "" {
			t.Errorf("%q: %s: %+v when asked, %+v when read", config, c.ID, a, b)
		}
	}
}

// A Match block overrides what stands outside of it, and "all" does so for
// everyone: that is why a block that is worse counts.
func TestMatchBlocksOverrideForSSHDToo(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	os.MkdirAll("/run/sshd", 0o755)
	dropIn(t, "PermitEmptyPasswords no\nX11Forwarding no\nMatch User mira\nX11Forwarding yes\nMatch all\nPermitEmptyPasswords yes\n")
	for user, x11 := range map[string]string{"mira": "yes", "root": "no"} {
		args := []string{"-T", "-C", "host=h,addr=192.0.2.1,user=" + user}
		r, err := (sysexec.Host{}).Run(t.Context(), sysexec.Command{Path: "/usr/sbin/sshd", Args: args})
		if err != nil || r.Exit != 0 {
			t.Fatalf("%v: %d %s", err, r.Exit, r.Stderr)
		}
		for _, want := range []string{"\nx11forwarding " + x11 + "\n", "\npermitemptypasswords yes\n"} {
			if !strings.Contains(string(r.Stdout), want) {
				t.Errorf("%s: no %q", user, want)
			}
		}
	}
	for id, want := range map[string]audit.Status{"ssh.x11_forwarding": audit.Warn, "ssh.empty_passwords": audit.Fail} {
		if f := one(t, id, live()); f.Status != want {
			t.Errorf("%s: %+v, want %s", id, f, want)
		}
	}
}

// A configuration that sshd refuses is read all the same, and what stays unknown
// does not pass.
func TestSSHDThatRefusesItsConfiguration(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	os.MkdirAll("/run/sshd", 0o755)
	dropIn(t, "PermitEmptyPasswords yes\nBanner \"open\n")
	r, err := (sysexec.Host{}).Run(t.Context(), sysexec.Command{Path: "/usr/sbin/sshd", Args: []string{"-T"}})
	if err == nil && r.Exit == 0 {
		t.Fatal("sshd takes an open quote: the test needs something else that it refuses")
	}
	if f := one(t, "ssh.empty_passwords", live()); f.Status != audit.Fail {
		t.Errorf("%+v", f)
	}
	dropIn(t, "Banner \"open\n")
	if f := one(t, "ssh.root_login", live()); f.Status != "" || !f.Applies {
		t.Errorf("%+v", f)
	}
}
