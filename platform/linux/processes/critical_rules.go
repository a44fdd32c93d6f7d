// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/processes"
	"sentinel/internal/remotedesktop"
	"sentinel/internal/sshserver"
	"sentinel/internal/vpn"
)

// Critical implements [processes.TerminationSource].
func (t *Terminator) Critical() []processes.CriticalRule {
	return append(slices.Clone(critical), t.lookupRule())
}

// critical rules are tried in this order.
var critical = []processes.CriticalRule{
	{
		Matches: partOfSystemd,
		Why:     "it is a part of systemd",
	},
	{
		Names: sshserver.Names(),
		Login: true,
		Why:   "people reach this machine through it",
	},
	{
		Names:    vpn.Daemons(),
		Accounts: []string{"openvpn", "cloudflared", "nebula", "zerotier-one", "tinc", "ocserv", "netbird", "nobody"},
		Restart:  true,
		Why:      "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		Names: []string{
			"xrdp-sesman", "xrdp-chansrv", "login", "agetty", "getty", "mingetty", "inetd", "xinetd",
			"cockpit-tls", "cockpit-ws", "cockpit-session", "teleport", "amazon-ssm-agent", "ssm-session-worker",
		},
		Accounts: []string{"xrdp", "cockpit-ws", "cockpit-wsinstance", "cockpit-systemd-service"},
		Restart:  true,
		Why:      "people log in through it, and their sessions end with it",
	},
	{
		Names:    []string{"dbus-daemon", "dbus-broker", "dbus-broker-launch"},
		Accounts: []string{"messagebus", "dbus"},
		Why:      "the services of this machine talk to each other through it",
	},
	{
		Names: []string{
			"NetworkManager", "wpa_supplicant", "iwd", "connmand", "wickedd", "netifd", "ifplugd", "ModemManager", "hostapd", "teamd", "pppd",
			"dhcpcd", "dhclient", "udhcpc", "udhcpc6", "dhcp6c", "odhcp6c", "wickedd-dhcp4", "wickedd-dhcp6", "wickedd-auto4", "wickedd-nanny",
			"ovs-vswitchd", "ovsdb-server", "ovn-controller",
		},
		Accounts: []string{"dhcpcd", "openvswitch"},
		Restart:  true,
		Why:      "the network of this machine depends on it",
	},
	{
		// By their names also where no route is theirs: they announce addresses of this machine to others.
		Names: []string{
			"bird", "bird6", "gobgpd", "exabgp", "openr", "gated", "routed", "babeld", "olsrd", "batmand", "mrouted", "xorp_rtrmgr", "xorp_fea",
			"watchfrr", "mgmtd", "zebra", "staticd", "bgpd", "ospfd", "ospf6d", "ripd", "ripngd", "isisd", "fabricd", "eigrpd", "nhrpd", "ldpd", "bfdd", "pbrd", "pathd", "vrrpd",
			"keepalived", "ucarp", "corosync", "pacemakerd", "pacemaker-execd", "pacemaker-controld",
		},
		Accounts: []string{"bird", "frr", "quagga", "exabgp", "gobgp", "_bgpd", "_ospfd", "hacluster"},
		Restart:  true,
		Why:      processes.WhyRouting,
	},
	{
		Names:    []string{"vncsession", "gdm", "gdm3", "gdm-session-worker", "sddm", "sddm-helper", "lightdm", "lxdm", "xdm", "greetd", "elogind", "elogind-daemon"},
		Accounts: []string{"gdm", "sddm", "lightdm", "greeter"},
		Restart:  true,
		Why:      "people log in through it, and their sessions end with it",
	},
	{
		Names: []string{
			"Xorg", "X", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "mutter", "muffin", "cinnamon", "cosmic-comp",
			"sway", "weston", "Hyprland", "labwc", "wayfire", "river", "niri", "cage",
			"gnome-session-binary", "gnome-session-service", "plasma_session", "startplasma-wayland", "startplasma-x11", "ksmserver",
			"xfce4-session", "mate-session", "lxsession", "lxqt-session", "cinnamon-session", "cinnamon-session-binary", "cosmic-session",
		},
		SystemFile: true,
		Restart:    true,
		Why:        "a desktop session ends with it",
	},
	{
		Names:      remotedesktop.Servers(),
		SystemFile: true,
		Restart:    true,
		Why:        "it shows a desktop to people at other hosts",
	},
	{
		Names: []string{
			"containerd", "containerd-shim", "containerd-shim-runc-v1", "containerd-shim-runc-v2", "dockerd", "docker-proxy", "conmon",
			"podman", "crio", "runc", "crun", "kubelet", "k3s", "k3s-server", "lxcfs", "lxd", "incusd",
		},
		Why: "containers depend on it",
	},
	{
		Names: []string{
			"auditd", "firewalld", "polkitd", "rsyslogd", "syslog-ng", "fail2ban-server", "crowdsec", "sshguard", "usbguard-daemon",
			"osqueryd", "wazuh-agentd", "ossec-agentd", "falco", "falcon-sensor", "tetragon", "samhain",
		},
		Accounts: []string{"polkitd", "syslog"},
		Why:      "it guards this machine, or keeps the record of what happens on it",
	},
	{
		Names:   []string{"multipathd", "iscsid", "iscsiuio", "dmeventd", "mdmon", "nbd-client", "sanlock", "dlm_controld", "sbd"},
		Restart: true,
		Why:     "the storage of this machine depends on it",
	},
	{
		Names: []string{"automount", "rpc.gssd", "gssproxy"},
		Why:   "what is mounted from other hosts depends on it",
	},
	{
		Names:   []string{"runsvdir", "s6-svscan", "supervise-daemon", "openrc-init"},
		Restart: true,
		Why:     "it runs the services of this machine",
	},
	{
		Names:      []string{"systemd"},
		SystemFile: true,
		Why:        "it runs the services of a user, whose session ends with it",
	},
}

// systemdPrefix begins the names of systemd's programs, units and accounts.
const systemdPrefix = "systemd-"

// partOfSystemd distinguishes systemd's daemons, which are in a directory of their own or run in
// units named like them, from its tools, such as systemd-run, and from other programs that its
// units run.
func partOfSystemd(f processes.Facts) bool {
	named := strings.HasPrefix(f.Name, systemdPrefix) || strings.HasPrefix(f.Program(), systemdPrefix) || f.Program() == "udevadm"
	owned := f.UserID == 0 || strings.HasPrefix(f.User, systemdPrefix)
	placed := strings.HasSuffix(path.Dir(f.Executable), "/lib/systemd") ||
		!f.Unit.User && strings.HasPrefix(f.Unit.Name, systemdPrefix)
	return named && owned && placed
}
