// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"testing"

	"sentinel/internal/processes"
	"sentinel/internal/processes/processestest"
)

func TestCriticalProcesses(t *testing.T) {
	processestest.CheckNames(t, critical)
	processestest.Check(t, critical, nil, []processestest.Case{
		{What: "sshd of root", Facts: processes.Facts{Name: "sshd", Executable: "/usr/sbin/sshd"}, SystemFile: true, Critical: true},
		{What: "sshd by its program", Facts: processes.Facts{Name: "listener", Executable: "/usr/sbin/sshd"}, SystemFile: true, Critical: true},
		{What: "a VPN that gave up root", Facts: processes.Facts{Name: "openvpn", UserID: 65534, User: "nobody", Executable: "/usr/sbin/openvpn"}, SystemFile: true, Critical: true},
		{What: "a VPN of root", Facts: processes.Facts{Name: "tailscaled", Executable: "/usr/sbin/tailscaled"}, SystemFile: true, Critical: true},
		{What: "a user's own VPN", Facts: processes.Facts{Name: "openvpn", UserID: 1000, User: "bob", Executable: "/usr/sbin/openvpn"}, SystemFile: true},
		{What: "logins in a browser", Facts: processes.Facts{Name: "cockpit-ws", UserID: 120, User: "cockpit-ws", Executable: "/usr/lib/cockpit/cockpit-ws"}, SystemFile: true, Critical: true},
		{What: "what fences this machine", Facts: processes.Facts{Name: "sanlock", Executable: "/usr/sbin/sanlock"}, SystemFile: true, Critical: true},
		{What: "a console", Facts: processes.Facts{Name: "agetty", Executable: "/sbin/agetty"}, SystemFile: true, Critical: true},
		{What: "a login at it", Facts: processes.Facts{Name: "login", Executable: "/bin/login"}, SystemFile: true, Critical: true},
		{What: "remote desktops", Facts: processes.Facts{Name: "xrdp", UserID: 118, User: "xrdp", Executable: "/usr/sbin/xrdp"}, SystemFile: true, Critical: true},
		{What: "their sessions", Facts: processes.Facts{Name: "xrdp-sesman", Executable: "/usr/sbin/xrdp-sesman"}, SystemFile: true, Critical: true},
		{What: "polkit", Facts: processes.Facts{Name: "polkitd", UserID: 990, User: "polkitd", Executable: "/usr/lib/polkit-1/polkitd"}, SystemFile: true, Critical: true},
		{What: "the log", Facts: processes.Facts{Name: "rsyslogd", Executable: "/usr/sbin/rsyslogd"}, SystemFile: true, Critical: true},
		{What: "the log of an account", Facts: processes.Facts{Name: "rsyslogd", UserID: 107, User: "syslog", Executable: "/usr/sbin/rsyslogd"}, SystemFile: true, Critical: true},
		{What: "a guard that is a script of root's", Facts: processes.Facts{Name: "fail2ban-server", Executable: "/usr/bin/python3.13"}, SystemFile: true, Critical: true},
		{What: "a sensor", Facts: processes.Facts{Name: "osqueryd", Executable: "/opt/osquery/bin/osqueryd"}, SystemFile: true, Critical: true},
		{What: "what a user calls a sensor", Facts: processes.Facts{Name: "falco", UserID: 1000, User: "bob", Executable: "/home/bob/falco"}},
		{What: "a user's own sshd", Facts: processes.Facts{Name: "sshd", UserID: 1000, Executable: "/home/bob/sshd"}},
		{What: "an sshd in a container", Facts: processes.Facts{Name: "sshd", Executable: "/usr/sbin/sshd", Nested: true}, SystemFile: true},
		{What: "the bus", Facts: processes.Facts{Name: "dbus-daemon", UserID: 104, User: "messagebus", Executable: "/usr/bin/dbus-daemon"}, SystemFile: true, Critical: true},
		{What: "a session's bus", Facts: processes.Facts{Name: "dbus-daemon", UserID: 1000, User: "bob"}, SystemFile: true},
		{What: "a bus of another account", Facts: processes.Facts{Name: "dbus-daemon", UserID: 33, User: "www-data"}, SystemFile: true},
		{What: "a shim by its cut name", Facts: processes.Facts{Name: "containerd-shim"}, SystemFile: true, Critical: true},
		{What: "a name that was cut", Facts: processes.Facts{Name: "gdm-session-wor"}, SystemFile: true, Critical: true},
		{What: "a name that was cut and goes on otherwise", Facts: processes.Facts{Name: "gdm-session-wor", Executable: "/usr/bin/gdm-session-world"}, SystemFile: true},
		{What: "a compositor", Facts: processes.Facts{Name: "gnome-shell", UserID: 1000, Executable: "/usr/bin/gnome-shell"}, SystemFile: true, Critical: true},
		{What: "a compositor by its program", Facts: processes.Facts{Name: "KMS thread", UserID: 1000, Executable: "/usr/bin/gnome-shell"}, SystemFile: true, Critical: true},
		{What: "what shows a desktop", Facts: processes.Facts{Name: "Xvnc", UserID: 1000, Executable: "/usr/bin/Xvnc"}, SystemFile: true, Critical: true},
		{What: "what is only called so", Facts: processes.Facts{Name: "Xvnc", UserID: 1000, Executable: "/home/bob/Xvnc"}},
		{What: "a script that is called as one", Facts: processes.Facts{Name: "gnome-shell", Arguments: []string{"/bin/sh", "./gnome-shell"}, UserID: 1000, Executable: "/usr/bin/dash"}, SystemFile: true},
		{What: "one by its arguments", Facts: processes.Facts{Name: "sleep", Arguments: []string{"gnome-shell"}, UserID: 1000, Executable: "/usr/bin/sleep"}, SystemFile: true},
		{What: "what an account calls a VPN", Facts: processes.Facts{Name: "openvpn", UserID: 65534, User: "nobody", Executable: "/usr/bin/python3.13"}, SystemFile: true},
		{What: "a manager that is a script of root's", Facts: processes.Facts{Name: "firewalld", Executable: "/usr/bin/python3.13"}, SystemFile: true, Critical: true},
		{What: "what calls itself a compositor", Facts: processes.Facts{Name: "gnome-shell", UserID: 1000, Executable: "/home/bob/miner"}},
		{What: "a user's manager", Facts: processes.Facts{Name: "systemd", UserID: 1000, Executable: "/usr/lib/systemd/systemd", Unit: processes.Unit{Name: "user@1000.service"}}, SystemFile: true, Critical: true},
		{What: "journald", Facts: processes.Facts{Name: "systemd-journal", Executable: "/usr/lib/systemd/systemd-journald", Unit: processes.Unit{Name: "systemd-journald.service"}}, SystemFile: true, Critical: true},
		{What: "journald outside of its unit", Facts: processes.Facts{Name: "systemd-journal", Executable: "/lib/systemd/systemd-journald"}, SystemFile: true, Critical: true},
		{What: "resolved", Facts: processes.Facts{Name: "systemd-resolve", UserID: 101, User: "systemd-resolve", Executable: "/usr/lib/systemd/systemd-resolved"}, SystemFile: true, Critical: true},
		{What: "udevd", Facts: processes.Facts{Name: "systemd-udevd", Executable: "/usr/bin/udevadm", Unit: processes.Unit{Name: "systemd-udevd.service"}}, SystemFile: true, Critical: true},
		{What: "a worker of udevd", Facts: processes.Facts{Name: "(udev-worker)", Executable: "/usr/bin/udevadm", Unit: processes.Unit{Name: "systemd-udevd.service"}}, SystemFile: true, Critical: true},
		{What: "what udevd runs", Facts: processes.Facts{Name: "hang", Executable: "/bin/sh", Unit: processes.Unit{Name: "systemd-udevd.service"}}, SystemFile: true},
		{What: "a tool of systemd", Facts: processes.Facts{Name: "systemd-inhibit", Executable: "/usr/bin/systemd-inhibit", Unit: processes.Unit{Name: "session-3.scope"}}, SystemFile: true},
		{What: "a user's own logind", Facts: processes.Facts{Name: "systemd-logind", UserID: 1000, User: "bob", Executable: "/home/bob/lib/systemd/systemd-logind"}},
		{What: "a user's own unit", Facts: processes.Facts{Name: "systemd-x", UserID: 1000, User: "bob", Executable: "/tmp/systemd-x", Unit: processes.Unit{Name: "systemd-x.service", User: true}}},
		{What: "a tool in a unit of root's own", Facts: processes.Facts{Name: "systemd-run", Executable: "/usr/bin/systemd-run", Unit: processes.Unit{Name: "systemd-x.service", User: true}}, SystemFile: true},
		{What: "a routing daemon of root", Facts: processes.Facts{Name: "bird", Executable: "/usr/sbin/bird"}, SystemFile: true, Critical: true},
		{What: "one of its account", Facts: processes.Facts{Name: "zebra", UserID: 92, User: "frr", Executable: "/usr/lib/frr/zebra"}, SystemFile: true, Critical: true},
		{What: "what that account runs otherwise", Facts: processes.Facts{Name: "zebra", UserID: 92, User: "frr", Executable: "/usr/bin/python3.13"}, SystemFile: true},
		{What: "a user's own", Facts: processes.Facts{Name: "bird", UserID: 1000, User: "bob", Executable: "/usr/sbin/bird"}, SystemFile: true},
		{What: "a client of DHCP in BusyBox", Facts: processes.Facts{Name: "udhcpc", Executable: "/bin/busybox"}, SystemFile: true, Critical: true},
		{What: "what mounts homes", Facts: processes.Facts{Name: "automount", Executable: "/usr/sbin/automount"}, SystemFile: true, Critical: true},
		{What: "a name server that nothing asks", Facts: processes.Facts{Name: "dnsmasq", Executable: "/usr/sbin/dnsmasq"}, SystemFile: true},
		{What: "one that this machine asks", Facts: processes.Facts{Name: "x", Executable: "/opt/x", Duty: processes.Duty{NameServer: true}}, SystemFile: true, Critical: true},
		{What: "one in a container", Facts: processes.Facts{Name: "x", Executable: "/x", Nested: true, Duty: processes.Duty{NameServer: true}}, SystemFile: true, Critical: true},
		{What: "a router by what it speaks", Facts: processes.Facts{Name: "x", Executable: "/opt/x", Duty: processes.Duty{Routing: true}}, SystemFile: true, Critical: true},
		{What: "anything else of root", Facts: processes.Facts{Name: "nginx", Executable: "/usr/sbin/nginx"}, SystemFile: true},
		{What: "that name on Linux", Facts: processes.Facts{Name: "logd", Executable: "/usr/libexec/logd"}, SystemFile: true},
	})
}
