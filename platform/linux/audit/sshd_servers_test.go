// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/firewall"
	"sentinel/internal/network"
	"sentinel/internal/testenv"
)

// sshdHost is a host on which sshd runs once for each command line, at the ports from 2201 on, as process 101 and so on.
func sshdHost(t *testing.T, files map[string]string, commandLines ...string) Parts {
	t.Helper()
	files = with(files, "usr/sbin/sshd", "", "opt/ssh/sbin/sshd", "")
	var sockets testSockets
	for i, line := range commandLines {
		files[fmt.Sprintf("proc/%d/cmdline", 101+i)] = line
		sockets = append(sockets, testListener{network.TCP, fmt.Sprintf("0.0.0.0:%d", 2201+i), "sshd"})
	}
	root := testenv.Plant(t, files)
	for i := range commandLines {
		if err := os.Symlink("/usr/sbin/sshd", filepath.Join(root, "proc", fmt.Sprint(101+i), "exe")); err != nil {
			t.Fatal(err)
		}
	}
	return Parts{Root: root, Owner: os.Geteuid(), EUID: 1, Sockets: sockets, Firewall: packetFilter{firewall.Facts{}}}
}

// What runs with other options than the service is judged with them, or said not to be.
func TestEachSSHDThatRunsIsJudged(t *testing.T) {
	const service, end = "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", " [listener] 0 of 10-100 startups"
	files := map[string]string{
		"etc/ssh/sshd_config": "PermitRootLogin no\n", "etc/ssh/alt": "Port 2222\nPermitRootLogin yes\n",
		"usr/lib/systemd/system/ssh.service": "[Service]\nExecStart=/usr/sbin/sshd -D\n",
	}
	for _, c := range []struct {
		runs    string
		status  audit.Status
		words   string // in the value, the reason or the evidence
		exposed string
	}{
		{service, audit.Pass, "permitrootlogin no", "Nothing but SSH"},
		{"sshd: /usr/sbin/sshd -f /etc/ssh/sshd_config -p 2201" + end, audit.Pass, "", "Nothing but SSH"},
		{"sshd: /usr/sbin/sshd -f /etc/ssh/sshd_config -p 2201 -o PermitRootLogin=yes" + end, audit.Fail, "process 101: permitrootlogin yes", "Nothing but SSH"},
		{"sshd: /usr/sbin/sshd -f /etc/ssh/alt" + end, audit.Fail, `of process 101 ("/usr/sbin/sshd -f /etc/ssh/alt")`, "Nothing but SSH"},
		{"/usr/sbin/sshd\x00-o\x00PermitRootLogin yes\x00", audit.Fail, "process 101: permitrootlogin yes", "Nothing but SSH"},
		{"sshd: /usr/sbin/sshd -f alt" + end, "", `process 101 ("/usr/sbin/sshd -f alt"): sshd has an option that cannot be judged`, "1 port beside SSH: 2201/tcp"},
		{"sshd: /usr/sbin/sshd -o PermitRootLogin yes" + end, "", "cannot be judged", "1 port beside SSH: 2201/tcp"},
		{"sshd: /usr/sbin/sshd -f /etc/ss", "", "cannot be judged", "1 port beside SSH: 2201/tcp"},
		{"sshd: /usr/sbin/sshd -f /etc/ssh/none" + end, "", "not provided by this system", "1 port beside SSH: 2201/tcp"},
		{"sshd: /opt/ssh/sbin/sshd" + end, "", "not the program that is installed", "1 port beside SSH: 2201/tcp"},
		{"sshd: root@pts/0", audit.Pass, "", "1 port beside SSH: 2201/tcp"}, // forwards that port for its client
	} {
		p := sshdHost(t, files, c.runs)
		f := one(t, "ssh.root_login", p)
		told := strings.Join(append(f.Evidence, f.Value, f.Reason), "\n")
		if f.Status != c.status || !strings.Contains(told, c.words) {
			t.Errorf("%q: %+v, want %q with %s", c.runs, f, c.status, c.words)
		}
		if f := one(t, "services.exposed", p); f.Value != c.exposed {
			t.Errorf("%q: %+v, want %s", c.runs, f, c.exposed)
		}
	}
}

// What systemd starts for each connection has a unit of its own.
func TestOptionsOfTheTemplateCount(t *testing.T) {
	files := map[string]string{
		"usr/sbin/sshd": "", "etc/ssh/sshd_config": "PermitRootLogin no\n",
		"usr/lib/systemd/system/ssh.service":  "[Service]\nExecStart=/usr/sbin/sshd -D\n",
		"usr/lib/systemd/system/ssh@.service": "[Service]\nExecStart=-/usr/sbin/sshd -i\n",
	}
	if f := ask(t, "ssh.root_login", files); f.Status != audit.Pass {
		t.Errorf("the same options: %+v", f)
	}
	files["etc/systemd/system/ssh@.service.d/x.conf"] = "[Service]\nExecStart=\nExecStart=-/usr/sbin/sshd -i -o PermitRootLogin=yes\n"
	if f := ask(t, "ssh.root_login", files); f.Status != audit.Fail || !slices.Contains(f.Evidence, "ssh@.service: permitrootlogin yes") {
		t.Errorf("%+v", f)
	}
}

func TestNoMoreServersOfSSHAreJudgedThanTheirBound(t *testing.T) {
	files := map[string]string{"etc/ssh/sshd_config": "PermitRootLogin no\n"}
	var runs []string
	for i := range maxSSHServers {
		runs = append(runs, fmt.Sprintf("sshd: /usr/sbin/sshd -o Port=%d [listener] 0 of 10-100 startups", i))
	}
	if f := one(t, "ssh.root_login", sshdHost(t, files, runs[1:]...)); f.Status != audit.Pass {
		t.Errorf("as many: %+v", f)
	}
	f := one(t, "ssh.root_login", sshdHost(t, files, runs...))
	if f.Status != "" || f.Reason != `process 105 ("/usr/sbin/sshd -o Port=4"): more than 5 servers have options of their own` {
		t.Errorf("one more: %+v", f)
	}
}
