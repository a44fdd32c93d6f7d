// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"slices"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestProtectedServices(t *testing.T) {
	for name, want := range map[string]bool{
		"ssh": true, "sshd": true, "ssh@1": true, "dbus": true, "dbus-broker": true, "systemd-logind": true, "NetworkManager": true, "systemd-networkd": true,
		"networking": true, "wpa_supplicant": true, "wpa_supplicant@wlan0": true, "gdm": true, "gdm3": true, "sddm": true, "lightdm": true, "display-manager": true,
		"ifup@eth0": true, "keepalived": true, "frr": true, "bird": true, "bird6": true, "hostapd@wlan0": true, "openvswitch-switch": true, "ovs-vswitchd": true, "ppp@dsl": true, "pacemaker": true, "systemd-resolved": false, "systemd-timesyncd": false,
		"firewalld": true, "ufw": true, "nftables": true, "iptables": true, "ip6tables": true, "netfilter-persistent": true, "shorewall": true, "shorewall6": true, "ferm": true, "ipset": true,
		"blk-availability": true, "iscsi": true, "open-iscsi": true, "iscsid": true, "libvirt-guests": true, "pve-guests": true, "xendomains": true, "lxc": true, "lxd-containers": true, "drbd": true, "rbdmap": true, "nbd-client": true, "sanlock": true,
		"netctl@eth0": true, "cockpit": true, "openbsd-inetd": true, "teleport": true, "csf": true, "firehol": true,
		"openvpn": true, "openvpn-client@office": true, "wg-quick@wg0": true, "tailscaled": true, "strongswan": true, "strongswan-starter": true, "ipsec": true,
		"systemd-journald": false, "systemd-udevd": false, "systemd-poweroff": false, "systemd-x": false, "user@1000": false, "user-runtime-dir@0": false, "session-1": false,
		"rescue": false, "emergency": false, "debug-shell": false, "reboot": false, "poweroff": false, "halt": false, "kexec-load": false, "dracut-shutdown": false,
		"plymouth-quit": false, "initrd-switch-root": false, "soft-reboot": false, "hibernate": false,
	} {
		if why, lifts := systemdKind.Protection(name + suffix); why == "" || lifts != want {
			t.Errorf("%s: %q, force lifts it: %v", name, why, lifts)
		}
	}
	for _, free := range []string{"nginx", "sshguard", "dbusx", "userd", "debugger", "haltx", "lxc-net", "drbd-reactor", "nftablesx", "wg-quicker", "ufwd", "birdnet", "dnsmasq", "unbound", "sssd", "pppd-dns"} {
		if why, lifts := systemdKind.Protection(free + suffix); why != "" || !lifts {
			t.Errorf("%s is protected: %s", free, why)
		}
	}
}

func TestCommandsThatEndTheSystem(t *testing.T) {
	for command, want := range map[string]bool{
		"": false, "/bin/true": false, "/sbin/poweroff": true, "/usr/sbin/shutdown|-r|now": true, "/sbin/init|6": true, "/sbin/init": false, "/sbin/telinit|1": true,
		"/bin/systemctl|--no-block|suspend": true, "/bin/systemctl|--no-block|start|poweroff.target": true, "/bin/systemctl|isolate|x.target": true,
		"/bin/systemctl|restart|php": false, "/bin/systemctl": false, "/bin/loginctl|reboot": true, "/usr/bin/mysqladmin|shutdown": false,
		"/bin/sh|-c|sleep 5; poweroff": true, "/bin/sh|-c|exec /sbin/reboot -f": true, "/bin/bash|-ec|test -e /x && systemctl reboot": true,
		"/bin/sh|-c|X=1 'reboot'": true, "/bin/sh|-c|if x; then halt; fi": true, "/bin/sh|-c|echo $(reboot)": true, "/usr/bin/env|A=b|systemctl|poweroff": true,
		"/bin/sh|-c|mysqladmin shutdown": false, "/bin/sh|-c|echo reboot": false, "/bin/sh|-c|": false, "/bin/sh": false, "/usr/bin/env": false,
		"/bin/sh|/usr/local/bin/reboot": true, "/bin/sh|-c|sh -c reboot": true, "/usr/bin/kexecx": false,
	} {
		if got := systemdKind.EndsSystem(strings.Split(command, "|")); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}

func TestDormantServices(t *testing.T) {
	for _, c := range []struct {
		file     string
		wantedBy []string
		code     fault.Code
	}{
		{"enabled", nil, ""},
		{"enabled-runtime", nil, ""},
		{"generated", []string{"multi-user.target"}, ""},
		{"generated", []string{"rescue.target"}, fault.ServiceInactive},
		{"generated", nil, fault.ServiceInactive},
		{"disabled", []string{"multi-user.target"}, fault.ServiceInactive},
		{"static", []string{"multi-user.target"}, fault.ServiceInactive},
		{"indirect", nil, fault.ServiceInactive},
		{"linked", nil, fault.ServiceInactive},
		{"alias", nil, fault.ServiceInactive},
		{"transient", nil, fault.ServiceInactive},
		{"", nil, fault.ServiceInactive},
	} {
		u := common(properties{"Id": "nginx.service", "LoadState": "loaded", "ActiveState": "inactive", "UnitFileState": c.file, "WantedBy": c.wantedBy})
		if code(u.Dormant) != c.code {
			t.Errorf("%+v: %v", c, u.Dormant)
		}
	}
	u := common(properties{"Id": "nginx.service", "LoadState": "loaded", "UnitFileState": "indirect", "TriggeredBy": []string{"nginx.socket"}})
	if fix := fault.From(u.Dormant).Fix; !strings.Contains(fix, "nginx.socket") || !strings.Contains(fix, "systemctl start nginx.service") {
		t.Error(fix)
	}
}

func TestUnusableServices(t *testing.T) {
	for name, c := range map[string]struct {
		properties properties
		code       fault.Code
		says       string
	}{
		"usable":         {properties{"LoadState": "loaded", "CanStart": true}, "", ""},
		"masked":         {properties{"LoadState": "masked"}, fault.ServiceMasked, "nginx.service is masked"},
		"bad setting":    {properties{"LoadState": "bad-setting"}, fault.RestartFailed, "bad-setting"},
		"cannot start":   {properties{"LoadState": "loaded", "CanStart": false}, fault.RestartFailed, "cannot be used"},
		"only by others": {properties{"LoadState": "loaded", "CanStart": false, "RefuseManualStop": true}, fault.ProtectedService, "by hand"},
	} {
		c.properties["Id"] = "nginx.service"
		if u := common(c.properties); code(u.Unusable) != c.code || u.Unusable != nil && !strings.Contains(u.Unusable.Error(), c.says) {
			t.Errorf("%s: %v", name, u.Unusable)
		}
	}
}

func TestSignalsAreThoseOfLinux(t *testing.T) {
	for n, want := range map[int]string{9: "SIGKILL", 10: "SIGUSR1", 30: "", 99: ""} {
		if got := systemdKind.Signals[n]; got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestWhatIsRequiredToBeOnIsNotStarted(t *testing.T) {
	u := common(properties{"Id": "a.service", "Requires": []string{"b.service"}, "Requisite": []string{"c.service"}})
	if !slices.Equal(u.Starts, []string{"b.service"}) || !slices.Equal(u.Needs, []string{"b.service", "c.service"}) {
		t.Errorf("starts %q, needs %q", u.Starts, u.Needs)
	}
}
