// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"path"
	"slices"
	"strings"

	"sentinel/internal/sshserver"
	"sentinel/internal/vpn"
)

// A criticalRule names programs that a machine or its owner's session depends
// on. Anyone may call a program anything, so a name counts only for a process of root or of
// one of the accounts: a user's own "sshd" can be ended. The programs of a desktop run as its
// user; their names count when the program is a file of the system.
type criticalRule struct {
	names    []string
	accounts []string
	desktop  bool
	apple    bool // its programs count where Apple puts them, whoever runs them
	why      string
}

// criticalRules are in the order in which they are asked; the parts of systemd
// have a rule of their own.
var criticalRules = []criticalRule{
	{
		names: sshserver.Names(),
		why:   "people reach this machine through it",
	},
	{
		names:    vpn.Daemons(),
		accounts: []string{"openvpn", "cloudflared", "nebula", "zerotier-one", "tinc", "ocserv", "netbird", "nobody"},
		why:      "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		names:    []string{"xrdp", "xrdp-sesman", "xrdp-chansrv", "login", "agetty", "getty", "mingetty"},
		accounts: []string{"xrdp"},
		why:      "people log in through it, and their sessions end with it",
	},
	{
		names:    []string{"dbus-daemon", "dbus-broker", "dbus-broker-launch"},
		accounts: []string{"messagebus", "dbus"},
		why:      "the services of this machine talk to each other through it",
	},
	{
		names:    []string{"NetworkManager", "wpa_supplicant", "dhcpcd", "dhclient", "iwd", "connmand"},
		accounts: []string{"dhcpcd"},
		why:      "the network of this machine depends on it",
	},
	{
		names:    []string{"gdm", "gdm3", "gdm-session-worker", "sddm", "sddm-helper", "lightdm", "lxdm", "xdm", "greetd", "elogind", "elogind-daemon"},
		accounts: []string{"gdm", "sddm", "lightdm", "greeter"},
		why:      "people log in through it, and their sessions end with it",
	},
	{
		names: []string{
			"Xorg", "X", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "mutter", "muffin", "cinnamon", "cosmic-comp",
			"sway", "weston", "Hyprland", "labwc", "wayfire", "river", "niri", "cage",
		},
		desktop: true,
		why:     "a desktop session ends with it",
	},
	{
		names: []string{
			"containerd", "containerd-shim", "containerd-shim-runc-v1", "containerd-shim-runc-v2", "dockerd", "docker-proxy", "conmon",
			"podman", "crio", "runc", "crun", "kubelet", "k3s", "k3s-server", "lxcfs", "lxd", "incusd",
		},
		why: "containers depend on it",
	},
	{
		names:    []string{"auditd", "firewalld", "polkitd", "rsyslogd", "syslog-ng"},
		accounts: []string{"polkitd", "syslog"},
		why:      "it guards this machine, or keeps the record of what happens on it",
	},
	{
		names: []string{"multipathd", "iscsid", "dmeventd"},
		why:   "the storage of this machine depends on it",
	},
	{
		names: []string{"runsvdir", "s6-svscan", "supervise-daemon", "openrc-init"},
		why:   "it runs the services of this machine",
	},
	{
		names:   []string{"systemd"},
		desktop: true,
		why:     "it runs the services of a user, whose session ends with it",
	},
}

// critical says why the machine depends on the process; empty when it does not.
// What runs in a container below this system is the container's.
func (p *Termination) critical(ctx context.Context) string {
	f := p.facts
	if f.Nested {
		return ""
	}
	if f.partOfSystemd() {
		return "it is a part of systemd"
	}
	if why := p.underRule(ctx); why != "" {
		return why
	}
	if p.servesSession(ctx) {
		return "it serves the SSH session of a person"
	}
	return ""
}

// underRule says which rule of the system the process is under. Programs of Apple
// run as root, as accounts of their own and as people, and count where Apple puts them.
func (p *Termination) underRule(ctx context.Context) string {
	rules := criticalRules
	if p.facts.Mac {
		rules = macRules
	}
	for _, rule := range rules {
		if !p.facts.is(rule.names...) {
			continue
		}
		if !rule.apple && p.facts.ownedBy(rule.accounts) || (rule.desktop || rule.apple) && p.systemFile(ctx) {
			return rule.why
		}
	}
	return ""
}

// is says whether the process has one of the names: as the kernel has it, as it
// is shown, or that of its program. The kernel keeps the first bytes of a long one.
func (f Facts) is(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == f.Name || name == fullName(f.Name, f.Arguments) || name == f.program() ||
			f.program() == "" && len(name) > maxKernelName && name[:maxKernelName] == f.Name
	})
}

// program is the name of the file that runs; empty when it is not known.
func (f Facts) program() string {
	if f.Executable == "" {
		return ""
	}
	return path.Base(f.Executable)
}

func (f Facts) ownedBy(accounts []string) bool {
	return f.UserID == 0 || slices.Contains(accounts, f.User)
}

// systemdPrefix begins the names of systemd's programs, units and accounts.
const systemdPrefix = "systemd-"

// partOfSystemd tells its daemons, which live in a directory of their own or run in
// units of that name, from its tools such as systemd-run, and from what its units run.
func (f Facts) partOfSystemd() bool {
	named := strings.HasPrefix(f.Name, systemdPrefix) || strings.HasPrefix(f.program(), systemdPrefix) || f.program() == "udevadm"
	owned := f.UserID == 0 || strings.HasPrefix(f.User, systemdPrefix)
	placed := strings.HasSuffix(path.Dir(f.Executable), "/lib/systemd") ||
		!f.Unit.User && strings.HasPrefix(f.Unit.Name, systemdPrefix)
	return named && owned && placed
}
