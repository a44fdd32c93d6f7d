// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"slices"
	"strings"
	"time"

	"sentinel/internal/services"
)

// Kind implements [services.Source].
func (Services) Kind() *services.Kind { return &systemdKind }

var systemdKind = services.Kind{
	Name:       "systemd",
	Vanished:   "has no unit file any more",
	CheckName:  unitName,
	BareName:   bareName,
	ShortForms: shortForms,
	Rules:      rules,
	CrashGrace: 10 * time.Second,
	Exits:      exits,
	Signals: map[int]string{ // signal(7)
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
		10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
	},
	Shutdown: services.Shutdown{
		Units:    shutdownUnits(),
		Programs: []string{"systemctl", "loginctl"},
		Verbs:    append([]string{"isolate", "default", "switch-root"}, shutdownTargets...),
	},
	Essential:     []string{"sysinit.target", "basic.target", "local-fs.target", "sockets.target", "paths.target", "timers.target", "slices.target", "swap.target", "cryptsetup.target"},
	AlwaysStarted: "sysinit.target",
	Starters:      []string{".target", suffix, ".socket", ".timer", ".path", ".mount", ".automount", ".swap"},
	Commands: services.Commands{
		Alive:       "systemctl is-system-running",
		Loaded:      "systemctl list-units --type=service",
		All:         "systemctl list-unit-files --type=service",
		Queue:       "systemctl list-jobs",
		Status:      "systemctl status",
		Verify:      "systemd-analyze verify",
		ResetFailed: "systemctl reset-failed",
	},
}

func bareName(name string) string { return strings.TrimSuffix(name, suffix) }

// shortForms leaves out templates, which are not services.
func shortForms(name string) []string {
	if bare := bareName(name); !strings.HasSuffix(bare, "@") {
		return []string{bare}
	}
	return nil
}

const (
	firewall    = "it decides who reaches this machine, and its start does not look after remote sessions"
	session     = "the session of whoever asks may depend on it"
	endsSystem  = "it ends the system, puts it to sleep or opens a shell of root on it"
	userSession = "it is the session of a person"
)

// rules that force overrides are for services whose restart can cut a session; the others are for
// services that end the system or belong to its manager. Parts of systemd with an overridable rule
// come back by themselves and stop nothing else.
var rules = slices.Concat(
	services.Liftable(session,
		"ssh", "sshd", "ssh@*", "sshd@*", "sshd-unix-*", "sshd-vsock@*", "dropbear*", "dbus", "dbus-broker", "dbus-daemon", "messagebus",
		"systemd-logind", "elogind", "NetworkManager", "systemd-networkd", "networking", "network", "wpa_supplicant*", "iwd", "dhcpcd*",
		"dhclient*", "ifup@*", "connman", "wicked*", "ifplugd*", "ModemManager", "hostapd*", "teamd*", "ppp", "ppp@*", "pppoe*", "openvswitch*", "ovs-*", "ovsdb-*", "ovn-*",
		"bird", "bird6", "frr", "frr@*", "quagga", "zebra", "bgpd", "ospfd", "ospf6d", "babeld", "olsrd*", "gobgpd", "exabgp*", "keepalived*", "ucarp*", "corosync", "pacemaker",
		"netctl*", "cockpit*", "xinetd", "inetd", "*-inetd", "teleport", "amazon-ssm-agent",
		"openvpn*", "wg-quick@*", "tailscaled", "strongswan*", "ipsec",
	),
	services.Liftable(firewall, "firewalld", "ufw", "nftables", "iptables", "ip6tables", "netfilter-persistent", "shorewall*", "ferm", "firehol", "csf", "ipset"),
	services.Liftable(session, "display-manager", "gdm", "gdm3", "sddm", "lightdm", "lxdm", "xdm", "wdm", "kdm", "nodm", "slim", "greetd", "ly"),
	services.Final("it is a part of the service manager", "systemd-*"),
	services.Final(userSession, "user@*", "user-runtime-dir@*", "session*"),
	services.Final(endsSystem,
		"rescue", "rescue-*", "rescue@*", "emergency", "emergency-*", "emergency@*", "debug", "debug-*", "debug@*", "poweroff*", "reboot*", "halt",
		"halt-*", "kexec*", "soft-reboot*", "shutdown*", "*-shutdown", "suspend*", "hibernate*", "hybrid-sleep*",
	),
	services.Liftable("its end takes volumes, disks or virtual machines away that are in use", "blk-availability", "iscsi", "open-iscsi", "iscsid", "drbd", "rbdmap", "nbd-client", "nbd@*", "vdo", "sbd", "sanlock", "dlm",
		"libvirt-guests", "pve-guests", "xendomains", "lxc", "lxd-containers"),
	services.Final("it belongs to the start of the system", "quotaon*", "initrd*"),
	services.Final("it belongs to the start and the end of the system", "plymouth*"),
)

// shutdownTargets are the targets that end the system, put it to sleep or leave
// little of it running (systemd.special(7)).
var shutdownTargets = []string{
	"poweroff", "reboot", "halt", "kexec", "soft-reboot", "exit", "shutdown", "umount", "final", "rescue", "emergency", "ctrl-alt-del",
	"suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "sleep", "factory-reset*", "storage-target-mode", "system-update*",
	"initrd*", "runlevel[016]", "sigpwr", "kbrequest",
}

// shutdownUnits lists the targets, and the services that do their work.
func shutdownUnits() []string {
	var units []string
	for _, name := range shutdownTargets {
		units = append(units, name+".target", "systemd-"+name+suffix)
	}
	for _, r := range rules {
		if r.Why == endsSystem {
			units = append(units, r.Pattern+suffix)
		}
	}
	return units
}
