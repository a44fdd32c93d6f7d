// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/unix/sshdconf"
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

// What the service starts sshd with counts more than its file (sshd(8)).
func TestOptionsOfTheServiceCount(t *testing.T) {
	const unit, dropIn = "usr/lib/systemd/system/ssh.service", "etc/systemd/system/sshd.service.d/own.conf"
	debian := map[string]string{"usr/sbin/sshd": "", "etc/ssh/sshd_config": "PermitRootLogin no\nX11Forwarding no\n", unit: "[Service]\nEnvironmentFile=-/etc/default/ssh\nEnvironmentFile=-/etc/sysconfig/sshd\nExecStart=/usr/sbin/sshd -D $SSHD_OPTS $OPTIONS\n"}
	without := with(debian)
	delete(without, unit)
	for name, c := range map[string]struct {
		files    map[string]string
		want     audit.Status
		evidence string
	}{
		"none":                  {debian, audit.Pass, ""},
		"of Debian":             {with(debian, "etc/default/ssh", "SSHD_OPTS=\"-4 -oPermitRootLogin=yes\"\n"), audit.Fail, "ssh.service: permitrootlogin yes"},
		"of Fedora":             {with(debian, "etc/sysconfig/sshd", "OPTIONS='-o PermitRootLogin=yes'\n"), audit.Fail, "ssh.service: permitrootlogin yes"},
		"of a drop-in":          {with(debian, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/sshd -D -o \"PermitRootLogin yes\"\n"), audit.Fail, "ssh.service: permitrootlogin yes"},
		"the first counts":      {with(debian, "etc/default/ssh", "SSHD_OPTS=-oPermitRootLogin=no -oPermitRootLogin=yes\n"), audit.Pass, ""},
		"another file":          {with(debian, "etc/default/ssh", "SSHD_OPTS=-f /etc/ssh/own\n", "etc/ssh/own", "\nPermitRootLogin yes\n"), audit.Fail, "/etc/ssh/own:2: permitrootlogin yes"},
		"what is no setting":    {with(debian, "etc/default/ssh", "SSHD_OPTS=-o -T\n"), "", ""},
		"behind other letters":  {with(debian, dropIn, "[Service]\nExecStart=\nExecStart=/usr/sbin/sshd -Deo PermitRootLogin=yes\n"), audit.Fail, "ssh.service: permitrootlogin yes"},
		"by its other name":     {with(without, "usr/lib/systemd/system/sshd.service", "[Service]\nExecStart=/usr/sbin/sshd -D -oPermitRootLogin=yes\n"), audit.Fail, "sshd.service: permitrootlogin yes"},
		"a script, not systemd": {with(without, "etc/default/ssh", "SSHD_OPTS=-oPermitRootLogin=yes\n"), audit.Fail, "/etc/default/ssh: permitrootlogin yes"},
	} {
		f := ask(t, "ssh.root_login", c.files)
		if f.Status != c.want || c.want == "" && !f.Applies || c.evidence != "" && (len(f.Evidence) == 0 || f.Evidence[0] != c.evidence) {
			t.Errorf("%s: %+v, want %q %s", name, f, c.want, c.evidence)
		}
	}
}

func TestSSHDIsAskedWithTheOptionsOfItsService(t *testing.T) {
	o, err := optionsOf("ssh.service", [][]string{{"-D", "-oX11Forwarding=yes", "-o", "Ciphers a,b", "-f", "/etc/ssh/own"}})
	if got := strings.Join(o.arguments(), " "); err != nil || got != "-T -f /etc/ssh/own -o x11forwarding=yes -o ciphers=a,b" {
		t.Errorf("%q, %v", got, err)
	}
}

// sshd itself has the options count so.
func TestSSHDTakesOptionsBeforeItsFile(t *testing.T) {
	program := testenv.Program(t, "sshd", "openssh-server")
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"`, "sh") {
		return
	}
	root := testenv.Plant(t, map[string]string{"config": "PermitRootLogin no\nX11Forwarding no\n"})
	key := filepath.Join(root, "key")
	if out, err := exec.CommandContext(t.Context(), testenv.Program(t, "ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	o, err := optionsOf("x", [][]string{{"-f", filepath.Join(root, "config"), "-oPermitRootLogin yes", "-o", "PermitRootLogin=no", "-oHostKey=" + key}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: program, Args: o.arguments(), Timeout: sshdTimeout})
	printed := sshdconf.Printed(r, err)
	if printed["permitrootlogin"].Value != "yes" || printed["x11forwarding"].Value != "no" {
		t.Errorf("%v, %+v: %s", err, printed["permitrootlogin"], r.Stderr)
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
		s := m.sshServers(t.Context()).list[0]
		if s.err != nil {
			t.Fatal(s.err)
		}
		got, known := s.Setting("x11forwarding", "no")
		if got.Value != c.value || !known || got.String() != c.evidence {
			t.Errorf("%s: %q, %v", c.name, got, known)
		}
	}
}
