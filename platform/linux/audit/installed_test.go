// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// nobodyElse is a machine of which all processes are seen, and none is a service.
var nobodyElse = map[string]string{
	"proc/1/stat": "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1 1\n", "proc/1/comm": "systemd\n", "proc/1/cmdline": "/sbin/init\x00",
	"proc/stat": "btime 1700000000\n", "run/systemd/system/": "",
}

// Where a service is installed and merely stopped, it is to be started and not another one installed.
func TestWhatIsInstalledIsStartedNotInstalled(t *testing.T) {
	for name, c := range map[string]struct {
		id, fix string
		files   []string
	}{
		"none":             {"time.service", "Install one: ", nil},
		"timesyncd":        {"time.service", "Start the one that is installed: sudo systemctl enable --now systemd-timesyncd.service", []string{"usr/lib/systemd/system/systemd-timesyncd.service", ""}},
		"chrony as well":   {"time.service", "sudo systemctl enable --now chrony.service", []string{"usr/lib/systemd/system/systemd-timesyncd.service", "", "lib/systemd/system/chrony.service", ""}},
		"not by systemd":   {"time.service", "Install one: ", []string{"run/systemd/system/", "-", "usr/lib/systemd/system/systemd-timesyncd.service", ""}},
		"chrony of SysV":   {"time.service", "sudo service chrony start", []string{"run/systemd/system/", "-", "etc/init.d/chrony", ""}},
		"chrony of Gentoo": {"time.service", "sudo rc-update add chronyd && sudo rc-service chronyd start", []string{"run/systemd/system/", "-", "etc/init.d/chronyd", "", "sbin/openrc-run", ""}},
		"auditd":           {"logging.audit", "sudo systemctl enable --now auditd.service; then add rules", []string{"lib/systemd/system/auditd.service", ""}},
		"no auditd":        {"logging.audit", "Install it: ", nil},
		"a stopped log":    {"logging.service", "sudo systemctl enable --now rsyslog.service", []string{"usr/lib/systemd/system/rsyslog.service", ""}},
	} {
		files := with(nobodyElse, c.files...)
		if files["run/systemd/system/"] == "-" {
			delete(files, "run/systemd/system/")
		}
		if got := ask(t, c.id, files); !strings.Contains(got.Fix, c.fix) {
			t.Errorf("%s: %+v, want the fix %q", name, got, c.fix)
		}
	}
}

func TestAMaskedServiceIsUnmaskedFirst(t *testing.T) {
	m := &machine{Parts: Parts{Root: testenv.Plant(t, map[string]string{"usr/lib/systemd/system/chrony.service": "", "etc/systemd/system/": "", "run/systemd/system/": ""})}}
	if err := os.Symlink("/dev/null", filepath.Join(m.Root, "etc/systemd/system/chrony.service")); err != nil {
		t.Fatal(err)
	}
	if got := m.startOr("", "chrony"); got != "Start the one that is installed: sudo systemctl unmask chrony.service && sudo systemctl enable --now chrony.service" {
		t.Error(got)
	}
}

// A container of LXC or systemd-nspawn is looked after like a machine.
func TestOnlyContainersWithoutAnInitAreUpdatedByAnImage(t *testing.T) {
	apt := map[string]string{
		"run/systemd/container": "lxc\n", "var/lib/dpkg/status": "x\n", "usr/bin/apt-get": "", "proc/1/comm": "node\n",
		"etc/apt/": "", "var/lib/apt/lists/": "", "etc/apt/apt.conf.d/": "",
	}
	for name, c := range map[string]struct {
		files map[string]string
		id    string
		want  audit.Status
	}{
		"an application":     {apt, "updates.automatic", ""},
		"systemd":            {with(apt, "run/systemd/system/", ""), "updates.automatic", audit.Warn},
		"an init of Alpine":  {with(apt, "proc/1/comm", "init\n"), "updates.automatic", audit.Warn},
		"age of the lists":   {with(apt, "run/systemd/system/", ""), "updates.list_age", audit.Fail},
		"age in an image":    {apt, "updates.list_age", ""},
		"no package manager": {map[string]string{"run/systemd/container": "docker\n", "run/systemd/system/": ""}, "updates.automatic", ""},
	} {
		if got := ask(t, c.id, c.files); got.Status != c.want {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}
