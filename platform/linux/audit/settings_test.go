// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
)

// A verdictCase is files and what a check says of them.
type verdictCase struct {
	name, id string
	files    map[string]string
	want     audit.Status // "" for none
	words    string       // in the value or the reason
}

func judge(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		if f := ask(t, c.id, c.files); f.Status != c.want || !strings.Contains(f.Value+f.Reason, c.words) {
			t.Errorf("%s: %+v, want %q with %q", c.name, f, c.want, c.words)
		}
	}
}

// sys is files below /proc/sys, from "key=value" lines.
func sys(settings ...string) map[string]string {
	files := map[string]string{"proc/sys/kernel/": ""}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		files["proc/sys/"+key] = value + "\n"
	}
	return files
}

func with(files map[string]string, more ...string) map[string]string {
	all := maps.Clone(files)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

func TestSettingsAreThoseOfTheRunningKernel(t *testing.T) {
	const locked = "sys/kernel/security/lockdown"
	judge(t, []verdictCase{
		{"half random", "kernel.aslr", sys("kernel/randomize_va_space=1"), audit.Fail, "= 1"},
		{"not a number", "kernel.aslr", sys("kernel/randomize_va_space=two"), "", "not a number"},
		{"no such setting", "kernel.aslr", sys(), "", "no such setting"},
		{"no proc", "kernel.aslr", map[string]string{"proc/": ""}, "", "not mounted"},
		{"one of two", "kernel.protected_links", sys("fs/protected_symlinks=1", "fs/protected_hardlinks=0"), audit.Fail, "hardlinks = 0"},
		{"only symlinks in the kernel", "kernel.protected_links", sys("fs/protected_symlinks=1"), audit.Pass, ""},
		{"all keys", "kernel.sysrq", sys("kernel/sysrq=1"), audit.Warn, ""},
		{"dumps", "kernel.sysrq", sys("kernel/sysrq=8"), audit.Warn, ""},
		{"off", "kernel.sysrq", sys("kernel/sysrq=0"), audit.Pass, ""},
		{"dumpable to a pipe", "kernel.suid_dumpable", sys("fs/suid_dumpable=2", "kernel/core_pattern=|/bin/false"), audit.Pass, ""},
		{"dumpable to the folder", "kernel.suid_dumpable", sys("fs/suid_dumpable=2", "kernel/core_pattern=core"), audit.Warn, ""},
		{"a program without a path", "kernel.core_pattern", sys("kernel/core_pattern=|dump %p"), audit.Fail, "whole path"},
		{"a program that is not here", "kernel.core_pattern", sys("kernel/core_pattern=|/none/dump %p"), audit.Pass, ""},
		{"a fixed place", "kernel.core_pattern", sys("kernel/core_pattern=/var/crash/core.%p"), audit.Pass, ""},
		{"no name", "kernel.core_pattern", sys("kernel/core_pattern="), audit.Pass, ""},
		{"kexec under lockdown", "kernel.kexec", with(sys("kernel/kexec_load_disabled=0"), locked, "none [integrity] confidentiality"), audit.Pass, "Lockdown"},
		{"modules under lockdown", "kernel.modules", with(sys("kernel/modules_disabled=0"), locked, "none integrity [confidentiality]"), audit.Pass, "Lockdown"},
		{"signed modules", "kernel.modules", with(sys("kernel/modules_disabled=0"), "sys/module/module/parameters/sig_enforce", "Y"), audit.Pass, "signed"},
		{"no modules at all", "kernel.modules", sys(), "", "no such setting"},
		{"namespaces by AppArmor", "kernel.user_namespaces", sys("user/max_user_namespaces=1000", "kernel/apparmor_restrict_unprivileged_userns=1"), audit.Pass, "apparmor"},
		{"namespaces for all", "kernel.user_namespaces", sys("user/max_user_namespaces=1000", "kernel/apparmor_restrict_unprivileged_userns=0"), audit.Warn, ""},
	})
}

// conf is the settings of an interface.
func conf(version, name string, all, eth0 int, more ...string) map[string]string {
	base := "net/" + version + "/conf/"
	return sys(append([]string{fmt.Sprintf("%sall/%s=%d", base, name, all), fmt.Sprintf("%slo/%s=9", base, name), fmt.Sprintf("%seth0/%s=%d", base, name, eth0)}, more...)...)
}

func TestSettingsOfInterfacesAreJoinedAsTheKernelDoes(t *testing.T) {
	const (
		forwards = "net/ipv4/conf/eth0/forwarding=1"
		keeps    = "net/ipv4/conf/eth0/forwarding=0"
	)
	judge(t, []verdictCase{
		{"all is enough", "network.rp_filter", conf("ipv4", "rp_filter", 2, 0), audit.Pass, "1 interface"},
		{"the interface is enough", "network.rp_filter", conf("ipv4", "rp_filter", 0, 1), audit.Pass, ""},
		{"neither", "network.rp_filter", conf("ipv4", "rp_filter", 0, 0), audit.Warn, "eth0"},
		{"no interface", "network.rp_filter", sys("net/ipv4/conf/all/rp_filter=0", "net/ipv4/conf/lo/rp_filter=0"), "", "loopback"},
		{"redirects by all, not forwarding", "network.accept_redirects", conf("ipv4", "accept_redirects", 1, 0, keeps), audit.Warn, ""},
		{"redirects by all, forwarding", "network.accept_redirects", conf("ipv4", "accept_redirects", 1, 0, forwards), audit.Pass, ""},
		{"redirects by both, forwarding", "network.accept_redirects", conf("ipv4", "accept_redirects", 1, 1, forwards), audit.Warn, ""},
		{"redirects by the interface, another one forwards", "network.accept_redirects", conf("ipv4", "accept_redirects", 0, 1, "net/ipv4/ip_forward=1", keeps), audit.Warn, "eth0"},
		{"sent by one that forwards alone", "network.send_redirects", conf("ipv4", "send_redirects", 0, 1, "net/ipv4/ip_forward=0", forwards), audit.Warn, "eth0"},
		{"not sent by one that does not", "network.send_redirects", conf("ipv4", "send_redirects", 1, 1, "net/ipv4/ip_forward=1", keeps), audit.Pass, ""},
		{"IPv6 by all alone", "network.accept_redirects", conf("ipv6", "accept_redirects", 1, 0), audit.Pass, ""},
		{"IPv6 by the interface", "network.accept_redirects", conf("ipv6", "accept_redirects", 0, 1), audit.Warn, "ipv6"},
		{"sent by a router", "network.send_redirects", conf("ipv4", "send_redirects", 0, 1, forwards), audit.Warn, ""},
		{"sent by nobody", "network.send_redirects", conf("ipv4", "send_redirects", 0, 0, forwards), audit.Pass, ""},
		{"source routes need both", "network.source_route", conf("ipv4", "accept_source_route", 0, 1), audit.Pass, ""},
		{"source routes by both", "network.source_route", conf("ipv4", "accept_source_route", 1, 1), audit.Fail, ""},
		{"Mobile IPv6", "network.source_route", conf("ipv6", "accept_source_route", 0, 0), audit.Pass, ""},
		{"IPv6 source routes", "network.source_route", conf("ipv6", "accept_source_route", 1, 1), audit.Fail, ""},
	})
}

func TestBootAndDisksTellWhatTheyAre(t *testing.T) {
	const vulnerable = "sys/devices/system/cpu/vulnerabilities/"
	const root = "proc/self/mountinfo"
	swap := func(line string) string { return "Filename\t\t\t\tType\t\tSize\n" + line + "\n" }
	judge(t, []verdictCase{
		{"a crash is no change", "boot.taint", sys("kernel/tainted=640"), audit.Pass, "640"},
		{"proprietary", "boot.taint", sys("kernel/tainted=1"), audit.Warn, "proprietary"},
		{"forced", "boot.taint", sys("kernel/tainted=3"), audit.Fail, "forced"},
		{"no flaw known", "boot.cpu_mitigations", map[string]string{vulnerable: ""}, "", "knows of none"},
		{"an empty file", "boot.cpu_mitigations", map[string]string{vulnerable + "a": "", vulnerable + "b": "Not affected"}, audit.Pass, ""},
		{"swap in a container", "disk.swap", map[string]string{"proc/swaps": swap("/dev/sda5 partition 1 0 -2")}, "", "cannot be seen"},
		{"swap in a file in the clear", "disk.swap", map[string]string{"proc/swaps": swap("/swap\\040file file 1 0 -2"), root: "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "sys/dev/block/8:1/size": "1"}, audit.Warn, "1 area"},
		{"swap with an odd number", "disk.swap", map[string]string{"proc/swaps": swap("/dev/sda5 partition 1 0 -2"), "sys/class/block/sda5/dev": "x"}, "", "form"},
		{"zram", "disk.swap", map[string]string{"proc/swaps": swap("/dev/zram0 partition 1 0 -2")}, audit.Pass, ""},
		{"no mounts", "disk.encryption", map[string]string{"proc/": ""}, "", "not provided"},
		{"zfs", "disk.encryption", map[string]string{root: "22 1 0:40 / / rw - zfs rpool/ROOT rw\n"}, "", "own tools"},
		{"SELinux permissive", "mac.enforcing", map[string]string{"sys/fs/selinux/enforce": "0"}, audit.Warn, "permissive"},
		{"SELinux enforcing", "mac.enforcing", map[string]string{"sys/fs/selinux/enforce": "1"}, audit.Pass, "SELinux"},
		{"SELinux stays", "mac.enforcing", map[string]string{"sys/fs/selinux/enforce": "1", "etc/selinux/config": "# SELINUX=disabled\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"}, audit.Pass, ""},
		{"SELinux goes", "mac.enforcing", map[string]string{"sys/fs/selinux/enforce": "1", "etc/selinux/config": "SELINUX=Permissive\n"}, audit.Warn, "next boot"},
		{"SELinux, and nothing said", "mac.enforcing", map[string]string{"sys/fs/selinux/enforce": "1", "etc/selinux/config": "\n"}, audit.Pass, "enforcing"},
		{"a port of a bridge", "network.promiscuous", map[string]string{"sys/class/net/eth0/flags": "0x1103", "sys/class/net/eth0/master": ""}, audit.Pass, ""},
		{"odd flags", "network.promiscuous", map[string]string{"sys/class/net/eth0/flags": "many"}, "", "/sys/class/net"},
		{"a file among the interfaces", "network.promiscuous", map[string]string{"sys/class/net/bonding_masters": "bond0"}, audit.Pass, ""},
		{"AppArmor without profiles", "mac.enforcing", map[string]string{"sys/kernel/": "", "sys/module/apparmor/parameters/enabled": "Y", "sys/kernel/security/apparmor/profiles": "x (complain)\n"}, audit.Warn, "nothing"},
		{"nothing seen", "mac.enforcing", map[string]string{"sys/": ""}, "", "sysfs"},
	})
}

func TestAccountsAreJudgedByTheirFiles(t *testing.T) {
	const good = "root:x:0:0::/root:/bin/sh\n"
	account := func(line string) map[string]string {
		return map[string]string{"etc/passwd": good + line + "\n", "etc/shadow": "root:*:1::::::\n", "etc/group": "root:x:0:\n"}
	}
	pam := func(line string) map[string]string {
		return map[string]string{"etc/pam.d/common-password": line + "\n", "etc/login.defs": "ENCRYPT_METHOD DES\n"}
	}
	judge(t, []verdictCase{
		{"a bad line may hide root", "accounts.uid_zero", account("toor:x:00"), "", "line 2"},
		{"no passwd", "accounts.uid_zero", map[string]string{"etc/": ""}, "", "not provided"},
		{"a shell of the name elsewhere", "accounts.system_shells", account("db:x:50:50::/:/tmp/false"), audit.Warn, "1 system"},
		{"an empty shell", "accounts.system_shells", account("db:x:50:50::/:"), audit.Warn, "1 system"},
		{"nobody", "accounts.system_shells", account("nobody:x:65534:65534::/:/bin/sh"), audit.Warn, "1 system"},
		{"a person", "accounts.system_shells", account("mira:x:1000:1000::/:/bin/sh"), audit.Pass, ""},
		{"another first person", "accounts.system_shells", with(account("mira:x:500:500::/:/bin/sh"), "etc/login.defs", "UID_MIN 500\n"), audit.Pass, ""},
		{"an odd shell of none", "accounts.system_shells", account("db:x:50:50::/:nologin"), audit.Pass, ""},
		{"a hash for everyone to read", "accounts.password_hashes", account("mira:$6$a$b:1000:1000::/:/bin/sh"), audit.Fail, "1 password"},
		{"no shadow", "accounts.password_hashes", map[string]string{"etc/passwd": good}, "", "/etc/shadow"},
		{"an odd hash", "accounts.password_hashes", with(account("mira:x:1000:1000::/:/bin/sh"), "etc/shadow", "mira:$argon2id$x:1::::::\n"), audit.Warn, "unknown"},
		{"an empty password shows without shadow", "accounts.empty_passwords", map[string]string{"etc/passwd": good + "mira::1000:1000::/:/bin/sh\n"}, audit.Fail, "1 account"},
		{"a group twice", "accounts.duplicates", with(account("mira:x:1000:1000::/:/bin/sh"), "etc/group", "a:x:1:\na:x:2:\n"), audit.Fail, "1 line"},
		{"PAM decides", "accounts.hash_method", pam("password [success=1 default=ignore] pam_unix.so obscure yescrypt"), audit.Pass, "yescrypt"},
		{"PAM decides badly", "accounts.hash_method", pam("password required pam_unix.so md5"), audit.Fail, "md5"},
		{"PAM does not say", "accounts.hash_method", pam("password required pam_unix.so obscure"), audit.Fail, "DES"},
		{"PAM says it of something else", "accounts.hash_method", pam("auth required pam_unix.so sha512\n# password required pam_unix.so sha512"), audit.Fail, "DES"},
		{"nobody says", "accounts.hash_method", map[string]string{"etc/login.defs": "# nothing\n"}, audit.Fail, "DES"},
		{"no umask", "accounts.umask", map[string]string{"etc/login.defs": "# nothing\n"}, audit.Warn, "022"},
		{"the group may write", "accounts.umask", map[string]string{"etc/login.defs": "UMASK 007\n"}, audit.Fail, "007"},
		{"no number", "accounts.umask", map[string]string{"etc/login.defs": "UMASK u=rwx\n"}, audit.Fail, "u=rwx"},
		{"defaults of the packages", "accounts.umask", map[string]string{"usr/etc/login.defs": "UMASK 022\n"}, audit.Warn, "022"},
		{"a drop-in over the defaults", "accounts.umask", map[string]string{"usr/etc/login.defs": "UMASK 022\n", "etc/login.defs.d/50-ours.defs": "UMASK 027\n"}, audit.Pass, "027"},
		{"a drop-in that hides another", "accounts.umask", map[string]string{"usr/etc/login.defs": "UMASK 022\n", "usr/etc/login.defs.d/a.defs": "UMASK 000\n", "etc/login.defs.d/a.defs": "UMASK 027\n"}, audit.Pass, "027"},
		{"drop-ins that nothing reads", "accounts.umask", map[string]string{"etc/login.defs": "UMASK 022\n", "etc/login.defs.d/50-ours.defs": "UMASK 027\n"}, audit.Warn, "022"},
		{"no aging", "accounts.password_aging", map[string]string{"etc/login.defs": "PASS_MAX_DAYS -1\n"}, audit.Warn, "-1"},
	})
}

func TestSudoRulesAreJudgedByWhatTheyGive(t *testing.T) {
	rule := func(text string) map[string]string { return map[string]string{"etc/sudoers": text + "\n"} }
	judge(t, []verdictCase{
		{"root", "sudo.nopasswd", rule("root ALL=(ALL) NOPASSWD: ALL"), audit.Pass, ""},
		{"a user", "sudo.nopasswd", rule("mira ALL=(ALL) NOPASSWD: ALL"), audit.Fail, "All commands"},
		{"as another", "sudo.nopasswd", rule("mira ALL=(postgres) NOPASSWD: ALL"), audit.Warn, "1 command"},
		{"an alias for all", "sudo.nopasswd", rule("Cmnd_Alias A = ALL\nmira ALL=NOPASSWD: A"), audit.Fail, ""},
		{"no password anywhere", "sudo.nopasswd", rule("Defaults !authenticate"), audit.Fail, ""},
		{"no password for one", "sudo.nopasswd", rule("Defaults:mira !authenticate"), audit.Warn, ""},
		{"root and another", "sudo.nopasswd", rule("root ,mira ALL=(ALL) NOPASSWD: ALL"), audit.Fail, ""},
		{"root and another, spaced", "sudo.nopasswd", rule("root , mira ALL = (root) NOPASSWD: ALL"), audit.Fail, ""},
		{"a blank after the mark", "sudo.nopasswd", rule("Defaults ! authenticate"), audit.Fail, ""},
		{"three marks", "sudo.nopasswd", rule("Defaults !!!authenticate"), audit.Fail, ""},
		{"two marks", "sudo.nopasswd", rule("Defaults !!authenticate"), audit.Pass, ""},
		{"twice negated", "sudo.nopasswd", rule("mira ALL=(ALL) NOPASSWD: !!ALL"), audit.Fail, ""},
		{"a blank in the scope", "sudo.nopasswd", rule("Defaults: mira !authenticate"), audit.Warn, ""},
		{"a list as the scope", "sudo.nopasswd", rule("Defaults:mira, daemon !authenticate"), audit.Warn, ""},
		{"tags of a second part", "sudo.nopasswd", rule("mira nohost=/bin/ls : ALL=(ALL) NOPASSWD: /usr/local/bin/sentinel --request x, ALL"), audit.Fail, ""},
		{"a group that needs none", "sudo.nopasswd", rule("Defaults exempt_group=mira"), audit.Warn, ""},
		{"sentinel", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /usr/local/bin/sentinel --request block_ip_address"), audit.Pass, ""},
		{"sentinel of a package", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /usr/bin/sentinel --request block_ip_address"), audit.Pass, ""},
		{"sentinel below /opt", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /opt/sentinel/bin/sentinel --request block_ip_address"), audit.Pass, ""},
		{"sentinel with a prefix of the owner's", "sudo.nopasswd", with(rule("%sentinel ALL=(root) NOPASSWD: /srv/tools/bin/sentinel --request block_ip_address"), "srv/tools/bin/sentinel", "x"), audit.Pass, ""},
		{"a prefix where there is none", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /srv/tools/bin/sentinel --request block_ip_address"), audit.Warn, ""},
		{"sentinel with a wildcard", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /usr/local/bin/sentinel *"), audit.Warn, ""},
		{"sentinel of somebody", "sudo.nopasswd", rule("%sentinel ALL=(root) NOPASSWD: /home/mira/sentinel --request block_ip_address"), audit.Warn, ""},
		{"a syntax error", "sudo.nopasswd", rule("nonsense"), "", "would refuse"},
		{"a syntax error and a fault", "sudo.nopasswd", rule("nonsense\nmira ALL=NOPASSWD: ALL"), audit.Fail, ""},
		{"rules of a directory", "sudo.nopasswd", map[string]string{"etc/sudoers": "root ALL=(ALL) ALL\n", "etc/nsswitch.conf": "sudoers: ldap files\n"}, "", "directory service"},
		{"rules of files alone", "sudo.nopasswd", map[string]string{"etc/sudoers": "root ALL=(ALL) ALL\n", "etc/nsswitch.conf": "passwd: files ldap\nsudoers: files\n"}, audit.Pass, ""},
		{"sudo-rs", "sudo.nopasswd", map[string]string{"etc/sudoers-rs": "mira ALL=NOPASSWD: ALL\n", "etc/sudoers": "mira ALL=ALL\n"}, audit.Fail, ""},
		{"no sudo", "sudo.nopasswd", map[string]string{"etc/": ""}, "", "no rules"},
		{"a terminal", "sudo.use_pty", rule("Defaults env_reset, use_pty"), audit.Pass, ""},
		{"everything and no password for one", "sudo.nopasswd", rule("Defaults:mira !authenticate\nmira ALL=(ALL:ALL) ALL"), audit.Fail, "All commands"},
		{"a comment with a backslash", "sudo.nopasswd", rule("root ALL=(ALL:ALL) ALL # keep \\\nmira ALL=(ALL:ALL) NOPASSWD: ALL"), audit.Fail, "All commands"},
		{"a terminal for all but one", "sudo.use_pty", rule("Defaults use_pty\nDefaults:mira !use_pty"), audit.Warn, "Some commands"},
		{"a terminal for one", "sudo.use_pty", rule("Defaults:mira use_pty"), audit.Warn, ""},
	})
}

func FuzzSetting(f *testing.F) {
	f.Add("2")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseSetting(text)
		if again, e := parseSetting(strconv.Itoa(v)); err == nil && (e != nil || again != v || strings.Trim(text, "+-0123456789") != "") {
			t.Errorf("%q read as %d", text, v)
		}
	})
}

func FuzzSELinuxConfig(f *testing.F) {
	f.Add("SELINUX=enforcing\n")
	f.Fuzz(func(t *testing.T, config string) {
		if mode, line := selinuxAtBoot(config); line > strings.Count(config, "\n")+1 || line == 0 && mode != "" {
			t.Errorf("%q in line %d", mode, line)
		}
	})
}

func FuzzTime(f *testing.F) {
	f.Add("1h30m")
	f.Add("120")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := parseTime(text); ok && n < 0 {
			t.Errorf("%q read as %d", text, n)
		}
	})
}

func FuzzSwaps(f *testing.F) {
	f.Add([]byte("Filename Type Size\n/dev/sda5 partition 1 0 -2\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		areas, _ := audittest.Seen(parseSwaps(raw))
		for _, a := range areas {
			if !strings.HasPrefix(a.name, "/") {
				t.Errorf("%+v", a)
			}
		}
		if len(areas) > maxSwaps {
			t.Errorf("%d areas", len(areas))
		}
	})
}

func FuzzPAM(f *testing.F) {
	f.Add("password required pam_unix.so sha512\n")
	f.Fuzz(func(t *testing.T, stack string) {
		method, line := pamMethod(stack)
		if (method == "") != (line == 0) || line > strings.Count(stack, "\n")+1 {
			t.Errorf("%q in line %d", method, line)
		}
	})
}
