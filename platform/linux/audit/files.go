// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

func fileChecks() []check {
	return []check{
		{About: audit.About{
			ID: "files.shadow", Name: "Permissions of the password hashes", Severity: audit.High, Weight: 9, Unusual: true,
			Reference:   "CIS 7.1.5, Lynis FILE-7524",
			Description: "Whoever can read the hashes can guess passwords at leisure; whoever can write them sets their own.",
			Formula:     "PASS when /etc/shadow, /etc/gshadow and their backups belong to root and the group root or shadow, and nobody else can read or write them. FAIL otherwise.",
		}, Run: permissions{
			files:   []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-"},
			maxMode: 0o640, group: "shadow", fix: "sudo chown root:shadow FILE; sudo chmod 0640 FILE",
		}.run},
		{About: audit.About{
			ID: "files.passwd", Name: "Permissions of the account files", Severity: audit.High, Weight: 8, Unusual: true,
			Reference:   "CIS 7.1.1, Lynis FILE-7524",
			Description: "Whoever can write /etc/passwd or /etc/group is root.",
			Formula:     "PASS when /etc/passwd, /etc/group and their backups belong to root and only root can write them. FAIL otherwise.",
		}, Run: permissions{
			files:   []string{"/etc/passwd", "/etc/passwd-", "/etc/group", "/etc/group-", "/etc/subuid", "/etc/subgid", "/etc/shells", "/etc/nsswitch.conf"},
			maxMode: 0o644, fix: "sudo chown root:root FILE; sudo chmod 0644 FILE",
		}.run},
		{About: audit.About{
			ID: "files.ssh_host_keys", Name: "Permissions of the SSH host keys", Severity: audit.High, Weight: 7, Unusual: true,
			Reference:   "CIS 5.1.2",
			Description: "Whoever can read the private key of this host can pretend to be it.",
			Formula:     "PASS when each /etc/ssh/ssh_host_*_key belongs to root and nobody else can read it, but for the group ssh_keys of Red Hat. FAIL otherwise. Does not apply without such keys.",
		}, Run: permissions{
			directory: "/etc/ssh", match: "ssh_host_*_key", maxMode: 0o640, group: "ssh_keys", groupOnly: true,
			fix: "sudo chown root:root FILE; sudo chmod 0600 FILE; then make new keys if somebody may have read it",
		}.run},
		{About: audit.About{
			ID: "files.cron", Name: "Permissions of scheduled tasks", Severity: audit.High, Weight: 7, Unusual: true,
			Reference:   "CIS 2.4.1, Lynis SCHD-7704",
			Description: "Whoever can write a task that root runs is root.",
			Formula:     "PASS when /etc/crontab and everything in /etc/cron.* and /etc/periodic belongs to root and only root can write it, with what leads to it, and each crontab of a user belongs to that user or root. FAIL otherwise. Does not apply without cron. Skipped when the crontabs of users cannot be seen, or belong to users of a directory service.",
		}, Run: cronPermissions},
		{About: audit.About{
			ID: "files.units", Name: "Permissions of service definitions", Severity: audit.High, Weight: 7, Unusual: true,
			Reference:   "Lynis BOOT-5184",
			Description: "Whoever can write the definition of a service decides what root runs at boot.",
			Formula:     "PASS when everything in /etc/systemd/system, /usr/lib/systemd/system and the other folders of systemd's units, in their folders with drop-ins and dependencies (such as ssh.service.d and multi-user.target.wants), in /etc/init.d and /etc/rc.local belongs to root and only root can write it, as well as the folders and links that lead to it. FAIL otherwise.",
		}, Run: unitPermissions},
		{About: audit.About{
			ID: "files.boot_loader", Name: "Permissions of the boot loader", Severity: audit.High, Weight: 5, Unusual: true,
			Reference:   "CIS 1.4.2, Lynis BOOT-5121",
			Description: "Whoever can write the configuration of the boot loader or a kernel decides what is started.",
			Formula:     "PASS when the configuration of the boot loader, the kernels and the initial file systems in /boot belong to root and only root can write them. FAIL otherwise. Does not apply without them.",
		}, Run: bootPermissions},
		{About: audit.About{
			ID: "files.boot_password", Name: "Password of the boot loader", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 1.4.1, Lynis BOOT-5122",
			Description: "Whoever is at the console can start the machine as root without a password.",
			Formula:     "PASS when GRUB asks for a password (a superuser is set), WARN when it does not. Does not apply without GRUB. Skipped when its configuration cannot be read.",
		}, Run: bootPassword},
		{About: audit.About{
			ID: "files.shared_folders", Name: "Sticky bit of shared folders", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "Lynis FILE-6362",
			Description: "Without the sticky bit everyone can replace the temporary files of everyone, root included.",
			Formula:     "PASS when those of /tmp, /var/tmp and /dev/shm that everyone can write belong to root and have the sticky bit. FAIL otherwise.",
		}, Run: stickyBits},
		{About: audit.About{
			ID: "files.secrets", Name: "Permissions of keys and passwords", Severity: audit.High, Weight: 6,
			Reference:   "Lynis DBS-1882",
			Description: "Keys and passwords of services, once read, open what they protect from anywhere.",
			Formula:     "PASS when nobody but the owner and the group can read private keys (/etc/ssl/private, WireGuard, Kerberos) and the files with passwords of Redis, PostgreSQL, MySQL, SNMP and PPP; an access control list may name services (numbers below 1000), as the group may be theirs. FAIL otherwise. Does not apply without them.",
		}, Run: secretPermissions},
		{About: audit.About{
			ID: "files.homes", Name: "Permissions of home folders", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "CIS 7.2.9, CIS 7.2.10, Lynis HOME-9304",
			Description: "Whoever can write to the home of a user, or to the list of keys in it, can log in as that user.",
			Formula:     "PASS when the home folder of each account with a shell, its .ssh and its authorized_keys belong to that account or root and nobody else can write them. FAIL otherwise. Skipped when they cannot be seen.",
		}, Run: homePermissions, Limit: looksCheckLimit},
	}
}

// permissions are a rule for files: each belongs to root and has no permissions
// beyond maxMode. Those of the group are for root's group and for group alone.
type permissions struct {
	files            []string
	directory, match string // or the names in a directory
	maxMode          fs.FileMode
	group            string // may have the permissions of the group, besides root's
	groupOnly        bool   // root's group may not have them
	fix              string
}

func (p permissions) run(_ context.Context, m *machine) audit.Finding {
	files := p.files
	if p.directory != "" {
		names, err := m.names(p.directory, maxNames)
		if err != nil && !hostfile.Missing(err) {
			return audit.Unread(p.directory, err)
		}
		for _, name := range names {
			if ok, err := path.Match(p.match, name); ok && err == nil {
				files = append(files, p.directory+"/"+name)
			}
		}
	}
	v := fileVerdict{okValue: "root alone can change them"}
	for _, file := range files {
		v.check(m, file, func(f hostfile.Meta) bool { return p.allows(m, f) })
	}
	v.fix = "Restore the permissions of each file that is named: " + p.fix
	return v.finding()
}

// allows says whether a file follows the rule.
func (p permissions) allows(m *machine, f hostfile.Meta) bool {
	perm := f.Mode.Perm() | f.Others()
	if f.UID != m.Owner || perm&^p.maxMode != 0 {
		return false
	}
	if p.group == "" || perm&0o070 == 0 || f.GID == 0 && !p.groupOnly {
		return true
	}
	return m.isGroup(f.GID, p.group)
}

// isGroup says whether a group id has a name.
func (m *machine) isGroup(gid int, name string) bool {
	who, err := m.users()
	if err != nil {
		return false
	}
	for _, g := range who.groups {
		if g.Name == name && g.GID == gid {
			return true
		}
	}
	return false
}

// onlyRootWrites says whether only root can change a file. A unit that is a link to
// /dev/null is masked.
func (m *machine) onlyRootWrites(f hostfile.Meta) bool {
	return f.Mode&fs.ModeCharDevice != 0 || f.UID == m.Owner && (f.Mode.Perm()&0o022 == 0 || f.Others()&0o002 == 0 && f.GID == m.Owner)
}

// bootPermissions looks at what is started. /boot/efi is FAT, which has no owners:
// the options of its mount decide.
func bootPermissions(_ context.Context, m *machine) audit.Finding {
	v := fileVerdict{okValue: "root alone can change them", fix: "Give each one that is named back to root: sudo chown root:root FILE; sudo chmod go-w FILE. A FAT file system needs umask=0077 in /etc/fstab."}
	for _, file := range []string{"/boot/grub", "/boot/grub/grub.cfg", "/boot/grub/user.cfg", "/boot/grub2", "/boot/grub2/grub.cfg", "/boot/grub2/user.cfg", "/boot/loader/loader.conf", "/boot/efi", "/boot/efi/EFI", "/efi", "/etc/default/grub", "/etc/lilo.conf"} {
		v.check(m, file, m.onlyRootWrites)
	}
	v.checkDir(m, "/boot", func(name string, f hostfile.Meta) bool {
		started := strings.HasPrefix(name, "vmlinuz") || strings.HasPrefix(name, "initr") || strings.HasPrefix(name, "config-") || name == ""
		return !started || m.onlyRootWrites(f)
	})
	if v.seen < 2 && len(v.wrong) == 0 && v.unread == nil {
		return audit.NotApplicable("nothing is booted from here")
	}
	return v.finding()
}

func bootPassword(_ context.Context, m *machine) audit.Finding {
	const fix = "Make a hash with grub-mkpasswd-pbkdf2, put it with a superuser into /etc/grub.d/40_custom, then run: sudo update-grub. Machines that nobody can reach at a console can do without (exempt it)."
	for _, file := range []string{"/boot/grub/grub.cfg", "/boot/grub2/grub.cfg"} {
		raw, err := m.readUpTo(file, 4<<20)
		if hostfile.Missing(err) {
			continue
		}
		if err != nil {
			return audit.Unread(file, err)
		}
		user, err := m.optionalText(path.Dir(file) + "/user.cfg")
		if err != nil {
			return audit.Unread(path.Dir(file)+"/user.cfg", err)
		}
		if asksPassword(string(raw), user) {
			return audit.Passed("GRUB asks for a password")
		}
		return audit.Warned("GRUB asks for no password", fix, audit.At(file, 0, "no superuser with a password"))
	}
	return audit.NotApplicable("GRUB is not here")
}

// asksPassword says whether a grub.cfg sets a superuser and a password for it. Fedora and Red Hat ask where
// GRUB2_PASSWORD is set, which user.cfg does (01_users of their grub2-tools): a variable alone is no password.
func asksPassword(config, userConfig string) bool {
	user, password, asksForUser := false, false, false
	for line := range strings.Lines(config) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		user = user || words[0] == "set" && strings.HasPrefix(words[1], "superusers=") && strings.Trim(words[1], `"'`) != "superusers="
		if (words[0] == "password_pbkdf2" || words[0] == "password") && len(words) > 2 {
			literal := !strings.Contains(words[2], "$")
			password, asksForUser = password || literal, asksForUser || strings.Trim(words[2], `"`) == "${GRUB2_PASSWORD}"
		}
	}
	return user && (password || asksForUser && setsGRUBPassword(userConfig))
}

// setsGRUBPassword says whether a user.cfg has the hash that grub2-setpassword(8) writes.
func setsGRUBPassword(userConfig string) bool {
	hash := ""
	for line := range strings.Lines(userConfig) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "GRUB2_PASSWORD="); ok {
			hash = strings.Trim(value, `"'`)
		}
	}
	return strings.HasPrefix(hash, "grub.pbkdf2.")
}

func stickyBits(_ context.Context, m *machine) audit.Finding {
	v := fileVerdict{okValue: "all with the sticky bit", fix: "Set the owner and the bit again: sudo chown root:root FOLDER; sudo chmod 1777 FOLDER"}
	for _, directory := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		v.check(m, directory, func(f hostfile.Meta) bool {
			return f.UID == m.Owner && (f.Mode.Perm()&0o022 == 0 || f.Mode&fs.ModeSticky != 0)
		})
	}
	return v.finding()
}

// maxHomes bounds how many homes are looked at.
const maxHomes = 2000

func homePermissions(ctx context.Context, m *machine) audit.Finding {
	who, err := m.users()
	if err != nil {
		return audit.Unread("accounts", err)
	}
	v := fileVerdict{okValue: "each in the hands of its user", fix: "Give each one that is named to its user and take the rights of others: sudo chown USER FILE; sudo chmod go-w FILE"}
	l, end := m.looks(ctx)
	defer end()
	for i, u := range who.loginUsers() {
		if i == maxHomes {
			v.noteUnread("/home", hostfile.ErrTooLarge)
			break
		}
		if u.Home == "/" || slices.Contains([]string{"/nonexistent", "/dev/null"}, u.Home) {
			continue
		}
		good := func(f hostfile.Meta) bool {
			return (f.UID == u.UID || f.UID == m.Owner) && m.onlyUserWrites(who, u.GID, f)
		}
		v.owner = m.owner(u.UID)
		v.check(m, path.Clean(u.Home), good)
		part, err := asUser(l, u, u.Home, func() fileVerdict { // the user may have put links there
			part := fileVerdict{owner: v.owner}
			for _, file := range []string{"/.ssh", "/.ssh/authorized_keys"} {
				part.checkNamed(m, path.Clean(u.Home)+file, good)
			}
			return part
		})
		v.join(part)
		if err != nil {
			v.noteUnread(u.Home, err)
		}
	}
	v.owner = ""
	for _, file := range []string{"/root", "/root/.ssh", "/root/.ssh/authorized_keys"} {
		v.check(m, file, m.onlyRootWrites)
	}
	return v.finding()
}

// onlyUserWrites says whether nobody but the owner can write. The group may, where
// it is the user's own and nobody else is in it, as many distributions have it.
func (m *machine) onlyUserWrites(who localUsers, gid int, f hostfile.Meta) bool {
	if f.Others()&0o002 != 0 {
		return false
	}
	if f.Mode.Perm()&0o020 == 0 {
		return true
	}
	users := 0
	for _, u := range who.users {
		if u.GID == f.GID {
			users++
		}
	}
	return f.GID == gid && users == 1 && len(who.members[gid]) == 0
}
