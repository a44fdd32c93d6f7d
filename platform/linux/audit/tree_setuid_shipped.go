// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"path"
	"slices"
	"strings"

	"sentinel/platform/linux/audit/filetree"
)

// shipsSo says whether packages are known to ship a program with these of the set-user-ID and set-group-ID bits and
// capabilities: the package data of Debian and Arch hold no modes, and none hold capabilities.
func shipsSo(s foundFile) bool {
	name := strings.TrimSuffix(path.Base(s.path), ".distrib") // dpkg-divert(1)
	bits := s.Mode & (filetree.SetUID | filetree.SetGID)
	return shippedBits(s.path, name)&bits == bits && (s.caps == 0 || slices.Contains(shippedWithCapabilities, name))
}

// shippedBits are the bits with which packages of Debian, Ubuntu or Arch ship a program. Games may have a file of
// scores (Debian policy, 11.11).
func shippedBits(file, name string) uint32 {
	var bits uint32
	if slices.Contains(shippedSetUID, name) || slices.Contains(shippedSetUID, path.Base(path.Dir(file))+"/"+name) {
		bits |= filetree.SetUID
	}
	if slices.Contains(shippedSetGID, name) || isBelow(file, "/usr/games") {
		bits |= filetree.SetGID
	}
	return bits
}

// shippedSetUID come with the set-user-ID bit; where the name says little, with their folder.
var shippedSetUID = []string{
	"chage", "chfn", "chsh", "expiry", "gpasswd", "newgidmap", "newgrp", "newuidmap", "passwd", "sg", "su", // shadow, util-linux
	"calife", "doas", "ksu", "op", "pkexec", "polkit-agent-helper-1", "sudo", "sudo-rs", "super", // to be somebody else
	"authbind/helper", "kcheckpass", "krb5_child", "ldap_child", "p11_child", "pam-tmpdir-helper", "pam_timestamp_check", "physlock", "proxy_child", "selinux_child",
	"slock", "unix2_chkpwd", "unix_chkpwd", "vlock-main", "xlock", "xscreensaver-auth", // to check passwords
	"cryptmount", "fusermount", "fusermount3", "lowntfs-3g", "mount", "mount.cifs", "mount.davfs", "mount.ecryptfs_private", "mount.nfs", "mount.smb3", "ntfs-3g", "pmount", "pumount",
	"umount", "umount.cifs", "umount.nfs", // to mount
	"arping", "clockdiff", "fping", "fping6", "mtr", "mtr-packet", "ping", "ping4", "ping6", "pppd", "rcp", "rlogin", "rsh", "tcptraceroute", "traceroute6.iputils", // network
	"lxc-user-nic", "qemu-bridge-helper", "uml_net",
	"at", "crontab", "fcronsighup", "fcrontab", // jobs
	"dma-mbox-create", "exim", "exim4", "lockspool", "mail.local", "nullmailer-queue", "procmail", "qmail-queue", "sensible-mda", // mail
	"bwrap", "chrome-sandbox", "msedge-sandbox", "opera_sandbox", "vivaldi-sandbox", "dchroot", "firejail", "schroot", "snap-confine", "starter-suid", "ubuntu-core-launcher", // containers and sandboxes
	"VBoxHeadless", "VBoxNetAdpCtl", "VBoxNetDHCP", "VBoxNetNAT", "VBoxSDL", "VBoxVolInfo", "VirtualBoxVM", "spice-client-glib-usb-acl-helper", "vmware-user-suid-wrapper",
	"Xorg.wrap", "enlightenment_ckpasswd", "enlightenment_sys", "enlightenment_system", "fileshareset", "kpac_dhcp_helper", "start_kdeinit", "v4l-conf", // desktop
	"calcsize", "cdda2wav", "cdrecord", "killpgrp", "readcd", "rundump", "runtar", "wodim", // discs and tapes
	"nvidia-modprobe", "cockpit-session", "dbus-daemon-launch-helper", "mandb", "ssh-keysign", "stapsu", "staprun", "suexec", "suexec-custom", "suexec-pristine",
	"cu", "uucico", "uucp", "uuname", "uustat", "uux", "uuxqt", // UUCP
}

// shippedSetGID come with the set-group-ID bit, for the files of their group.
var shippedSetGID = []string{
	"at", "bsd-write", "camel-lock-helper-1.2", "chage", "crontab", "crontab_setgid", "dma", "dotlock", "dotlock.mailutils", "dotlockfile", "expiry", "fcrontab",
	"gnome-pty-helper", "kdesud", "locate", "lockfile", "lockmail", "lockmail.maildrop", "mail-lock", "mail-touchlock", "mail-unlock", "mlocate", "mlock", "msmtp", "mutt_dotlock",
	"pam_extrausers_chkpwd", "plocate", "postdrop", "postqueue", "postlog", "procmail", "screen", "sendmail", "slocate", "smtpctl", "ssh-agent", "ssmtp", "tmux",
	"unix_chkpwd", "utempter", "wall", "write", "write.ul", "xterm", "urxvt", "rxvt", "xtrlock", "cgexec", "cgclassify",
}

// shippedWithCapabilities come with capabilities that lead to root.
var shippedWithCapabilities = []string{
	"newgidmap", "newuidmap", "snap-confine", "suexec", "systemd-detect-virt",
	"krb5_child", "ldap_child", "selinux_child", "sssd_pam", // SSSD since 2.10
}
