// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// A treeCase is a check of a tree of files, as [machines] describes them, and what it says and names.
type treeCase struct {
	name, id, files string
	want            audit.Status
	words           string // in the value, the reason or the evidence
}

func judgeTrees(t *testing.T, cases []treeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := testenv.Plant(t, map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n"})
			if err := os.Chmod(root+"/etc", 0o755); err != nil {
				t.Fatal(err)
			}
			unpack(t, root, txtar.Parse([]byte(c.files)))
			f := one(t, c.id, Parts{Root: root, Owner: os.Geteuid()})
			if f.Status != c.want || !strings.Contains(f.Value+f.Reason+strings.Join(f.Evidence, "; "), c.words) {
				t.Errorf("%+v, want %q with %q", f, c.want, c.words)
			}
		})
	}
}

// A drop-in is as good as the unit, and so is whatever leads to one.
func TestUnitsAreLookedAtWithTheirFolders(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"a drop-in", "files.units", "mode 0666 etc/systemd/system/ssh.service.d/o.conf\n-- etc/systemd/system/ssh.service.d/o.conf --\n", audit.Fail, "ssh.service.d/o.conf: -rw-rw-rw-"},
		{"a drop-in of a type", "files.units", "mode 0666 usr/lib/systemd/system/service.d/o.conf\n-- usr/lib/systemd/system/service.d/o.conf --\n", audit.Fail, "service.d/o.conf: -rw-rw-rw-"},
		{"a folder of drop-ins", "files.units", "folder 0777 etc/systemd/system/ssh.service.d\n", audit.Fail, "ssh.service.d: drwxrwxrwx"},
		{"systemctl set-property", "files.units", "mode 0666 etc/systemd/system.control/a.slice.d/50.conf\n-- etc/systemd/system.control/a.slice.d/50.conf --\n", audit.Fail, "50.conf: -rw-rw-rw-"},
		{"what is wanted", "files.units", "mode 0666 etc/systemd/system/a.target.wants/b.service\n-- etc/systemd/system/a.target.wants/b.service --\n", audit.Fail, "wants/b.service: -rw-rw-rw-"},
		{"what is upheld", "files.units", "folder 0777 etc/systemd/system/a.target.upholds\n", audit.Fail, "upholds: drwxrwxrwx"},
		{"a link into a folder of others", "files.units", "link etc/systemd/system/a.service -> ../../../home/u/a.service\nfolder 0777 home/u\n-- home/u/a.service --\n", audit.Fail, "/home/u: drwxrwxrwx"},
		{"a link that another can fill", "files.units", "link etc/systemd/system/a.service -> /home/u/a.service\nfolder 0777 home/u\n", audit.Fail, "/home/u: drwxrwxrwx"},
		{"a unit not in /usr", "files.units", "mode 0666 lib/systemd/system/a.service\n-- lib/systemd/system/a.service --\n", audit.Fail, "a.service: -rw-rw-rw-"},
		{"links of root's", "files.units", "link lib -> usr/lib\nlink etc/systemd/system/a.target.wants/b.service -> /lib/systemd/system/b.service\nlink etc/systemd/system/c.service -> /dev/null\n-- usr/lib/systemd/system/b.service --\n", audit.Pass, "6 files and folders"},
		{"no unit's folder", "files.units", "mode 0666 usr/lib/systemd/system/other/x\n-- usr/lib/systemd/system/other/x --\n", audit.Pass, "2 files and folders"},
	})
}

// Whoever decides what a link or an Include leads to decides what sshd and cron do.
func TestSSHDAndCronAreLookedAtWithWhatLeadsToTheirFiles(t *testing.T) {
	const sshd = "-- usr/sbin/sshd --\n"
	judgeTrees(t, []treeCase{
		{"an included file", "ssh.config_permissions", "folder 0777 srv/team\nmode 0666 srv/team/sshd.conf\n-- srv/team/sshd.conf --\nX11Forwarding no\n-- etc/ssh/sshd_config --\nInclude /srv/team/sshd.conf\n" + sshd, audit.Fail, "/srv/team/sshd.conf: -rw-rw-rw-"},
		{"the folder of one", "ssh.config_permissions", "folder 0777 srv/team\n-- srv/team/sshd.conf --\nX11Forwarding no\n-- etc/ssh/sshd_config --\nInclude /srv/team/sshd.conf\n" + sshd, audit.Fail, "/srv/team: drwxrwxrwx"},
		{"a folder that is empty", "ssh.config_permissions", "folder 0777 srv/team\n-- etc/ssh/sshd_config --\nInclude /srv/team/*.conf\n" + sshd, audit.Fail, "/srv/team: drwxrwxrwx"},
		{"a link into it", "ssh.config_permissions", "folder 0777 srv/team\nlink etc/ssh/sshd_config -> /srv/team/sshd.conf\n-- srv/team/sshd.conf --\nX11Forwarding no\n" + sshd, audit.Fail, "/srv/team: drwxrwxrwx"},
		{"root's alone", "ssh.config_permissions", "link etc/ssh/sshd_config.d/a.conf -> ../../../srv/team/sshd.conf\n-- srv/team/sshd.conf --\nX11Forwarding no\n-- etc/ssh/sshd_config --\nInclude sshd_config.d/*.conf\n" + sshd, audit.Pass, "4 files and folders"},
		{"what cannot be read whole", "ssh.config_permissions", "-- etc/ssh/sshd_config --\nInclude /srv/*/sshd.conf\n" + sshd, "", "wildcard"},
		{"a job by a link", "files.cron", "folder 0777 srv/team\nlink etc/cron.d/job -> /srv/team/job\n-- srv/team/job --\n", audit.Fail, "/srv/team: drwxrwxrwx"},
		{"the table by a link", "files.cron", "folder 0777 srv/team\nlink etc/crontab -> /srv/team/job\n-- srv/team/job --\n", audit.Fail, "/srv/team: drwxrwxrwx"},
		{"a job by a link of root's", "files.cron", "link etc/cron.daily/job -> /srv/team/job\n-- srv/team/job --\n", audit.Pass, "2 files and folders"},
	})
}

const packagedTool = "-- var/lib/dpkg/status --\nPackage: tool\n-- var/lib/dpkg/info/tool.list --\n/usr/bin/tool\n/usr/share/tool/run\n/var/lib/tool\n-- usr/bin/tool --\n-- usr/share/tool/run --\n"

// What programs load is looked at as the programs are, and where links of them lead.
func TestProgramsAreLookedAtWithTheirLibraries(t *testing.T) {
	const mounted = "-- proc/self/mountinfo --\n1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
	file := func(name string) string { return "mode 0757 " + name + "\n-- " + name + " --\n" + mounted }
	judgeTrees(t, []treeCase{
		{"a library", "tree.programs", file("usr/lib/x86_64-linux-gnu/libz.so.1"), audit.Fail, "/usr/lib/x86_64-linux-gnu/libz.so.1: mode 0757"},
		{"a module of PAM", "tree.programs", file("usr/lib64/security/pam_unix.so"), audit.Fail, "pam_unix.so"},
		{"not in /usr", "tree.programs", file("lib/x86_64-linux-gnu/libz.so.1"), audit.Fail, "libz.so.1"},
		{"a program of a program", "tree.programs", file("usr/libexec/sudo/sesh"), audit.Fail, "sesh"},
		{"a local library", "tree.programs", "folder 0777 usr/local/lib/a\n" + mounted, audit.Fail, "/usr/local/lib/a: mode 0777"},
		{"the group staff", "tree.programs", "folder 2775 usr/local/lib/a\nlink usr/local/bin/a -> ../lib/a\n" + mounted, audit.Pass, ""},
		{"a folder above", "tree.programs", "folder 0777 usr\n" + mounted, audit.Fail, "/usr: mode 0777"},
		{"no program", "tree.programs", file("usr/share/doc/a"), audit.Pass, ""},
		{"a link to a user", "tree.programs", "link usr/bin/zzz -> /home/u/zzz\nfolder 0777 home/u\n" + mounted, audit.Fail, "/usr/bin/zzz leads to /home/u: drwxrwxrwx"},
		{"a link over a link", "tree.programs", "link usr/lib/x86_64-linux-gnu/liba.so -> ../../../etc/alternatives/a\nlink etc/alternatives/a -> /srv/a\nfolder 0777 srv\n" + mounted, audit.Fail, "liba.so leads to /srv: drwxrwxrwx"},
		{"a link to root's", "tree.programs", "link usr/bin/a -> /etc/alternatives/a\nlink etc/alternatives/a -> /opt/a\n-- opt/a --\n" + mounted, audit.Pass, ""},
		{"a circle", "tree.programs", "link usr/bin/a -> b\nlink usr/bin/b -> a\n" + mounted, "", "2 links and folders could not be followed"},
	})
}

func TestAProgramBehindALinkIsOfAPackageOrNot(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"of a user", "tree.unpackaged", "link usr/bin/zzz -> /home/u/zzz\nfolder 0777 home/u\n" + packagedTool, audit.Warn, "/usr/bin/zzz leads to /home/u"},
		{"in a folder of a package", "tree.unpackaged", "link usr/bin/zzz -> /var/lib/tool/zzz\nfolder 0777 var/lib/tool\n" + packagedTool, audit.Warn, "/usr/bin/zzz leads to /var/lib/tool"},
		{"of root", "tree.unpackaged", "link usr/bin/zzz -> ../../opt/zzz\nmode 0755 opt/zzz\n-- opt/zzz --\n" + packagedTool, audit.Warn, "/usr/bin/zzz leads to /opt/zzz"},
		{"no program", "tree.unpackaged", "mode 0755 usr/bin/tool\nlink usr/bin/zzz -> ../../opt/zzz\n-- opt/zzz --\n" + packagedTool, audit.Pass, "1 program, all of packages"},
		{"of a package", "tree.unpackaged", "mode 0755 usr/share/tool/run\nlink usr/bin/zzz -> /etc/alternatives/zzz\nlink etc/alternatives/zzz -> /usr/share/tool/run\n" + packagedTool, audit.Pass, "1 program, all of packages"},
		{"another name", "tree.unpackaged", "mode 0755 usr/bin/tool\nlink usr/bin/zzz -> tool\nlink usr/bin/gone -> /opt/gone\n" + packagedTool, audit.Pass, "1 program, all of packages"},
	})
}

// The kernel runs what somebody puts there as root.
func TestTheProgramForDumpsIsRootsToPutThere(t *testing.T) {
	pattern := func(text, files string) string { return files + "-- proc/sys/kernel/core_pattern --\n" + text + "\n" }
	judgeTrees(t, []treeCase{
		{"in a folder of a user", "kernel.core_pattern", pattern("|/home/u/dump %p", "folder 0777 home/u\n"), audit.Fail, "/home/u: drwxrwxrwx"},
		{"in a folder that is missing too", "kernel.core_pattern", pattern("|/home/u/bin/dump %p", "folder 0777 home/u\n"), audit.Fail, "/home/u: drwxrwxrwx"},
		{"in /tmp", "kernel.core_pattern", pattern("|/tmp/dump %p", "folder 1777 tmp\n"), audit.Fail, "/tmp: dtrwxrwxrwx"},
		{"behind a tab", "kernel.core_pattern", pattern("|/home/u/dump\t%p", "folder 0777 home\n-- home/u/dump --\n"), audit.Fail, "/home: drwxrwxrwx"},
		{"behind a link", "kernel.core_pattern", pattern("|/usr/bin/dump %p", "link usr/bin/dump -> /home/u/dump\nfolder 0777 home/u\n"), audit.Fail, "/home/u: drwxrwxrwx"},
		{"named by what crashes", "kernel.core_pattern", pattern("|/home/%u/dump", ""), audit.Fail, "whole path"},
		{"in a folder of root's", "kernel.core_pattern", pattern("|/usr/share/apport/apport %p", "folder 0755 usr\n"), audit.Pass, "not here"},
		{"root's in /tmp", "kernel.core_pattern", pattern("|/tmp/dump %p", "folder 1777 tmp\n-- tmp/dump --\n"), audit.Pass, "to a program"},
	})
}
