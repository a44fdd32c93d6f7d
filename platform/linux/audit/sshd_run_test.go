// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"os"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// ask runs one check on a tree of files, as root.
func ask(t *testing.T, id string, files map[string]string) audit.Finding {
	t.Helper()
	return one(t, id, Parts{Root: testenv.Plant(t, files), Owner: os.Geteuid()})
}

func one(t *testing.T, id string, p Parts) audit.Finding {
	t.Helper()
	for _, c := range New(p).Checks() {
		if c.ID == id {
			return c.Run(t.Context())
		}
	}
	t.Fatalf("there is no check %s", id)
	return audit.Finding{}
}

func TestSSHMatchBlocksCount(t *testing.T) {
	for _, c := range []struct {
		name, id, config string
		want             audit.Status
	}{
		{"worse for some", "ssh.root_login", "PermitRootLogin no\nMatch Address 192.0.2.0/24\nPermitRootLogin yes\n", audit.Warn},
		{"worse for everyone", "ssh.root_login", "PermitRootLogin no\nMatch all\nPermitRootLogin yes\n", audit.Fail},
		{"better for some", "ssh.root_login", "PermitRootLogin yes\nMatch User x\nPermitRootLogin no\n", audit.Fail},
		{"the first of a block counts", "ssh.root_login", "PermitRootLogin no\nMatch User x\nPermitRootLogin no\nPermitRootLogin yes\n", audit.Pass},
		{"another block, the same condition in another order", "ssh.x11_forwarding", "Match User a\nX11Forwarding no\nMatch User b\nX11Forwarding yes\n", audit.Warn},
		{"keys alone", "ssh.root_login", "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n", audit.Warn},
		{"keys alone, but for some", "ssh.password_auth", "PasswordAuthentication no\nKbdInteractiveAuthentication no\nMatch User x\nPasswordAuthentication yes\n", audit.Warn},
		{"names of variables", "ssh.user_environment", "PermitUserEnvironment LANG,LC_*\n", audit.Warn},
		{"an old way to write it", "ssh.root_login", "PermitRootLogin=without-password\n", audit.Pass},
		{"a CBC mode", "ssh.ciphers", "Ciphers aes256-ctr,aes256-cbc\n", audit.Warn},
		{"a weak one taken from the default", "ssh.macs", "MACs -umac-64*,hmac-sha1*\n", audit.Pass},
		{"a weak one added", "ssh.macs", "MACs +hmac-sha1-96\n", audit.Fail},
		{"a weak one put in front", "ssh.kex", "KexAlgorithms ^diffie-hellman-group14-sha1\n", audit.Warn},
		{"debugging", "ssh.log_level", "LogLevel DEBUG2\n", audit.Warn},
		{"hosts that are trusted, without rhosts", "ssh.host_based", "HostbasedAuthentication yes\n", audit.Warn},
		{"hours", "ssh.login_grace", "LoginGraceTime 1h\n", audit.Warn},
		{"a minute and a half", "ssh.login_grace", "LoginGraceTime 1m30s\n", audit.Pass},
		{"no time", "ssh.login_grace", "LoginGraceTime soon\n", audit.Warn},
		{"no count", "ssh.idle", "ClientAliveInterval 60\nClientAliveCountMax 0\n", audit.Warn},
		{"a syntax error later on", "ssh.strict_modes", "StrictModes no\n\"\n", audit.Fail},
		{"a syntax error before", "ssh.root_login", "\"\nPermitRootLogin yes\n", ""},
		{"a syntax error may hide a Match", "ssh.root_login", "PermitRootLogin no\n\"\n", ""},
	} {
		f := ask(t, c.id, map[string]string{"usr/sbin/sshd": "", "etc/ssh/sshd_config": c.config})
		if f.Status != c.want || c.want == "" && !f.Applies {
			t.Errorf("%s: %+v, want %q", c.name, f, c.want)
		}
	}
}

// A sshd that answers -T, or does not.
type answers struct {
	out  string
	exit int
	err  error
}

func (a answers) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path != "/usr/sbin/sshd" || len(c.Args) != 1 || c.Args[0] != "-T" || c.Timeout == 0 {
		return sysexec.Result{}, errors.New("not what was to be run")
	}
	return sysexec.Result{Stdout: []byte(a.out), Exit: a.exit}, a.err
}

func TestWhatSSHDSaysWinsOverItsFiles(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"usr/sbin/sshd": "", "etc/ssh/sshd_config": "X11Forwarding no\n"})
	for _, c := range []struct {
		name     string
		runner   sysexec.Runner
		euid     int
		value    string
		evidence string
	}{
		{"asked", answers{out: "x11forwarding yes\nmaxauthtries 9\n"}, 0, "yes", "/etc/ssh/sshd_config:1: x11forwarding yes"},
		{"refused", answers{exit: 255}, 0, "no", "/etc/ssh/sshd_config:1: x11forwarding no"},
		{"too slow", answers{err: context.DeadlineExceeded}, 0, "no", "/etc/ssh/sshd_config:1: x11forwarding no"},
		{"garbage", answers{out: "\"\n"}, 0, "no", "/etc/ssh/sshd_config:1: x11forwarding no"},
		{"not root", answers{out: "x11forwarding yes\n"}, 1000, "no", "/etc/ssh/sshd_config:1: x11forwarding no"},
	} {
		m := &machine{Parts: Parts{Root: root, Runner: c.runner, EUID: c.euid}}
		s, err := m.sshd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, known := s.Setting("x11forwarding", "no")
		if got.Value != c.value || !known || got.String() != c.evidence {
			t.Errorf("%s: %q, %v", c.name, got, known)
		}
	}
}
