// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// Whose number a directory service gave nobody here knows, so that it is no finding.
func TestCrontabsOfUsersOfADirectoryService(t *testing.T) {
	const ldap = "passwd: files sss\n"
	for _, c := range []struct {
		name, passwd, nss string
		mode              os.FileMode
		want              audit.Status
	}{
		{"of a directory service", "", ldap, 0o600, ""},
		{"without one", "", "passwd: files\n", 0o600, audit.Fail},
		{"that others can write", "", ldap, 0o622, audit.Fail},
		{"by the name of a local user", "jdoe:x:%d:1::/:/bin/sh\n", ldap, 0o600, audit.Fail},
		{"by the number of a local user", "other:x:%[2]d:1::/:/bin/sh\n", ldap, 0o600, audit.Fail},
		{"of a local user", "jdoe:x:%[2]d:1::/:/bin/sh\n", ldap, 0o600, audit.Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			passwd := c.passwd
			if strings.Contains(passwd, "%") {
				passwd = fmt.Sprintf(passwd+"%.0[1]d%.0[2]d", os.Geteuid()+1, os.Geteuid())
			}
			for _, folder := range []string{"var/spool/cron/crontabs", "etc/crontabs"} {
				root := testenv.Plant(t, map[string]string{"etc/passwd": "r:x:4242:1::/:/bin/false\n" + passwd, "etc/group": "", "etc/nsswitch.conf": c.nss, folder + "/jdoe": ""})
				if err := os.Chmod(root+"/"+folder+"/jdoe", c.mode); err != nil {
					t.Fatal(err)
				}
				if f := one(t, "files.cron", Parts{Root: root, Owner: 4242}); f.Status != c.want {
					t.Errorf("%s: %+v, want %q", folder, f, c.want)
				}
			}
		})
	}
}

// A group has more members than it names.
func TestWhoMayUseTheSocketOfContainers(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give a file away")
	for _, c := range []struct {
		name, passwd, nss string
		want              audit.Status
		words             string
	}{
		{"nobody", "", "", audit.Pass, "root alone"},
		{"primary group", "mallory:x:1001:%d::/home/m:/bin/sh\n", "", audit.Warn, "mallory may use /run/docker.sock"},
		{"no login", "docker:x:900:%d::/:/usr/sbin/nologin\n", "", audit.Pass, "root alone"},
		{"a directory service", "", "group: files ldap\n", "", "directory service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const group = 4242
			passwd := c.passwd
			if passwd != "" {
				passwd = fmt.Sprintf(passwd, group)
			}
			root := testenv.Plant(t, map[string]string{
				"etc/passwd": "root:x:0:0::/:/bin/sh\n" + passwd, "etc/group": fmt.Sprintf("docker:x:%d:\n", group), "etc/nsswitch.conf": c.nss, "run/docker.sock": "",
			})
			if err := os.Chmod(root+"/run/docker.sock", 0o660); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(root+"/run/docker.sock", -1, group); err != nil {
				t.Fatal(err)
			}
			f := one(t, "containers.socket", Parts{Root: root, Owner: os.Geteuid()})
			if f.Status != c.want || !strings.Contains(f.Value+f.Reason+strings.Join(f.Evidence, "; "), c.words) {
				t.Errorf("%+v, want %q with %q", f, c.want, c.words)
			}
		})
	}
}

// Whoever cannot get through a folder reads nothing below it.
func TestSecretsBelowClosedFolders(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"closed", "files.secrets", "folder 0700 etc/wireguard\n-- etc/wireguard/wg0.conf --\n", audit.Pass, "1 file"},
		{"for its group", "files.secrets", "folder 0710 etc/wireguard\n-- etc/wireguard/wg0.conf --\n", audit.Pass, "1 file"},
		{"open", "files.secrets", "folder 0711 etc/wireguard\nmode 0644 etc/wireguard/wg0.conf\n-- etc/wireguard/wg0.conf --\n", audit.Fail, "wg0.conf"},
		{"a link out of it", "files.secrets", "folder 0700 etc/wireguard\nlink etc/wireguard/wg0.conf -> ../../srv/wg0.conf\nmode 0644 srv/wg0.conf\n-- srv/wg0.conf --\n", audit.Fail, "wg0.conf"},
		{"a closed home", "files.secrets", "folder 0700 root\nmode 0644 root/.my.cnf\n-- root/.my.cnf --\n", audit.Pass, "1 file"},
	})
}

func TestARuleThatSwitchesTheAuditOff(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"off", "logging.audit_rules", "-- etc/audit/rules.d/audit.rules --\n-D\n-w /etc/passwd -p wa\n-a task,never\n", audit.Warn, "audit.rules:3"},
		{"on", "logging.audit_rules", "-- etc/audit/rules.d/audit.rules --\n-D\n-w /etc/passwd -p wa\n", audit.Pass, "1 rule"},
	})
}

func TestCommunitiesInFilesBesideTheFirst(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"included", "services.snmp", "-- etc/snmp/snmpd.conf --\nincludeDir /etc/snmp/snmpd.conf.d\n-- etc/snmp/snmpd.conf.d/a.conf --\n\nrocommunity \"public\"\n", audit.Fail, "a.conf:2"},
		{"a file elsewhere", "services.snmp", "-- etc/snmp/snmpd.conf --\nincludeFile /srv/snmp/more\n-- srv/snmp/more --\ncom2sec ro default public # x\n", audit.Fail, "/srv/snmp/more:1"},
		{"a file beside it", "services.snmp", "-- etc/snmp/snmpd.conf --\nIncludeFile more\n-- etc/snmp/more --\nrocommunity public\n", audit.Fail, "/etc/snmp/more:1"},
		{"a folder elsewhere", "services.snmp", "-- etc/snmp/snmpd.conf --\nincludeDir /srv/snmp\n-- srv/snmp/a.conf --\nauthcommunity read public\n-- srv/snmp/b --\nrocommunity public\n", audit.Fail, "/srv/snmp/a.conf:1"},
		{"another folder of snmpd", "services.snmp", "-- usr/share/snmp/snmpd.conf --\nrocommunity public\n", audit.Fail, "/usr/share/snmp/snmpd.conf:1"},
		{"for its line alone", "services.snmp", "-- etc/snmp/snmpd.conf --\n[snmp]\n[snmpd] rocommunity public\n", audit.Fail, "/etc/snmp/snmpd.conf:2: [snmpd] rocommunity public"},
		{"in a file of clients", "services.snmp", "-- etc/snmp/snmpd.conf --\n-- etc/snmp/snmp.conf --\n[SNMPD]\nrwcommunity private\n", audit.Fail, "/etc/snmp/snmp.conf:2: rwcommunity private"},
		{"in an include of clients", "services.snmp", "-- etc/snmp/snmpd.conf --\n-- etc/snmp/snmp.local.conf --\nincludeFile x\n[snmpd]\nincludeFile x\n-- etc/snmp/x --\nrocommunity public\n", audit.Fail, "/etc/snmp/x:1"},
		{"of clients", "services.snmp", "-- etc/snmp/snmpd.conf --\n[snmp] rocommunity public\n[snmp]\nrocommunity public\n-- etc/snmp/snmp.conf --\nrocommunity public\n", audit.Pass, ""},
		{"of what is not known", "services.snmp", "-- etc/snmp/snmpd.conf --\n[other]\nrocommunity public\n", audit.Fail, "/etc/snmp/snmpd.conf:2"},
		{"clients alone", "services.snmp", "-- etc/snmp/snmp.conf --\ndefCommunity public\n", "", ""},
		{"itself", "services.snmp", "-- etc/snmp/snmpd.conf --\nincludeFile snmpd.conf\n", audit.Pass, ""},
		{"none", "services.snmp", "-- etc/snmp/snmpd.conf --\nrocommunity x\n", audit.Pass, ""},
	})
}
