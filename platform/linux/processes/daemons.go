// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import "sentinel/internal/processes"

// daemons are those that distributions install. Programs that run under other names are collections
// of small ones, systemd with its many and MariaDB, which was MySQL; emulators and loaders run any file.
var daemons = &processes.Daemons{
	Core: []string{
		"systemd", "systemd-journal", "systemd-logind", "systemd-resolve", "systemd-timesyn", "systemd-network", "systemd-udevd", "init", "sshd", "cron", "crond",
		"atd", "anacron", "rsyslogd", "syslogd", "syslog-ng", "auditd", "chronyd", "ntpd", "polkitd", "udisksd", "agetty", "irqbalance", "acpid", "smartd",
		"NetworkManager", "wpa_supplicant", "dhclient", "avahi-daemon", "cupsd", "rpcbind",
	},
	Servers: []string{
		"dbus-daemon", "named", "dnsmasq", "unbound", "nginx", "apache2", "httpd", "mysqld", "mariadbd", "postgres", "redis-server", "memcached", "dockerd", "containerd", "snmpd",
	},
	Carriers:     []string{"busybox", "toybox", "systemd", "udevadm", "dbus", "mariadb", "dhcp", "httpd", "apache2"},
	Emulators:    []string{"qemu-", "valgrind", "memcheck"},
	Loaders:      []string{"ld-linux", "ld-musl", "ld.so", "ld-"},
	Interpreters: []string{"bash", "dash", "sh", "ash", "ksh", "zsh", "perl", "python", "ruby", "node", "lua", "php"},
}
