// SPDX-License-Identifier: Apache-2.0

package services

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestPlanOfAServiceThatRuns(t *testing.T) {
	f := machine(running("nginx.service"))
	r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "nginx.service (active, running, main PID 812) would be restarted."; r.Summary() != want || r.Name() != "nginx.service" || f.calls["restart"] || f.calls["close"] {
		t.Errorf("%q %v", r.Summary(), f.calls)
	}
	r.Close()
	if !f.calls["close"] || f.read != 1 {
		t.Errorf("%v, %d units read", f.calls, f.read)
	}
}

func TestPlanByAnAlias(t *testing.T) {
	u := with(running("ssh.service"), func(u *Unit) { u.Name = "web.service"; u.Names = []string{"web.service", "nginx.service"} })
	r, err := PlanRestart(t.Context(), machine(u), Options{Name: "nginx"})
	if err != nil || !strings.Contains(r.Summary(), "web.service, which is the real name of nginx.service, (active") {
		t.Errorf("%v, %v", r, err)
	}
}

// Which services may be restarted follows from what they are now.
func TestServicesThatAreMeantToBeOff(t *testing.T) {
	for _, c := range []struct {
		active, file, job string
		wantedBy          []string
		code              fault.Code
	}{
		{"active", "disabled", "", nil, ""},
		{"reloading", "static", "", nil, ""},
		{"activating", "transient", "", nil, ""},
		{"failed", "static", "", nil, ""},
		{"inactive", "enabled", "", nil, ""},
		{"inactive", "enabled-runtime", "", nil, ""},
		{"inactive", "generated", "", []string{"multi-user.target"}, ""},
		{"inactive", "generated", "", []string{"rescue.target"}, fault.ServiceInactive},
		{"inactive", "generated", "", nil, fault.ServiceInactive},
		{"inactive", "disabled", "", []string{"multi-user.target"}, fault.ServiceInactive},
		{"inactive", "static", "", []string{"multi-user.target"}, fault.ServiceInactive},
		{"inactive", "indirect", "", nil, fault.ServiceInactive},
		{"inactive", "linked", "", nil, fault.ServiceInactive},
		{"inactive", "alias", "", nil, fault.ServiceInactive},
		{"inactive", "transient", "", nil, fault.ServiceInactive},
		{"inactive", "", "", nil, fault.ServiceInactive},
		{"maintenance", "disabled", "", nil, fault.ServiceInactive},
		{"deactivating", "disabled", "", nil, fault.ServiceInactive},
		{"deactivating", "disabled", "stop", nil, fault.ServiceInactive},
		{"deactivating", "disabled", "restart", nil, ""},
		{"deactivating", "enabled", "", nil, ""},
	} {
		u := with(running("nginx.service"), func(u *Unit) { u.Active, u.FileState, u.Job, u.WantedBy = c.active, c.file, c.job, c.wantedBy })
		if _, err := PlanRestart(t.Context(), machine(u), Options{Name: "nginx", Force: true}); code(err) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
	u := with(running("nginx.service"), func(u *Unit) { u.Active, u.FileState, u.TriggeredBy = "inactive", "indirect", []string{"nginx.socket"} })
	if _, err := PlanRestart(t.Context(), machine(u), Options{Name: "nginx"}); !contains(fix(err), "nginx.socket", "systemctl start nginx.service") {
		t.Errorf("%v", fix(err))
	}
}

func TestPlansThatFail(t *testing.T) {
	nginx := running("nginx.service")
	for name, c := range map[string]struct {
		source *fake
		code   fault.Code
		says   string
	}{
		"no systemd":     {&fake{openErr: fault.New(fault.Unsupported, "No.")}, fault.Unsupported, "No."},
		"not there":      {machine(running("nginx2.service")), fault.ServiceNotFound, "There is no service nginx.service."},
		"masked":         {machine(with(nginx, func(u *Unit) { u.Load = "masked" })), fault.ServiceMasked, "masked"},
		"bad setting":    {machine(with(nginx, func(u *Unit) { u.Load = "bad-setting" })), fault.RestartFailed, "bad-setting"},
		"cannot start":   {machine(with(nginx, func(u *Unit) { u.NoStart = true })), fault.RestartFailed, "cannot be used"},
		"does not hear":  {&fake{unitErr: func() error { return errors.New("gone") }}, fault.Unavailable, "gone"},
		"another kind":   {machine(with(nginx, func(u *Unit) { u.Name = "reboot.target" })), fault.ProtectedService, "another name of reboot.target"},
		"only by others": {machine(with(nginx, func(u *Unit) { u.NotManual, u.NoStart = true, true })), fault.ProtectedService, "by hand"},
	} {
		if name == "not there" {
			c.source.units = map[string]Unit{"nginx2.service": nginx}
		}
		_, err := PlanRestart(t.Context(), c.source, Options{Name: "nginx", Force: true})
		if code(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if c.source.calls["restart"] || c.source.openErr == nil && !c.source.calls["close"] {
			t.Errorf("%s: %v", name, c.source.calls)
		}
		if name == "not there" && !strings.Contains(fix(err), "Did you mean nginx2.service?") {
			t.Errorf("fix %q", fix(err))
		}
	}
}

func TestProtectedServices(t *testing.T) {
	for name, lifts := range map[string]bool{
		"ssh": true, "sshd": true, "ssh@1": true, "dbus": true, "dbus-broker": true, "systemd-logind": true, "NetworkManager": true, "systemd-networkd": true,
		"networking": true, "wpa_supplicant": true, "wpa_supplicant@wlan0": true, "gdm": true, "gdm3": true, "sddm": true, "lightdm": true, "display-manager": true,
		"ifup@eth0": true, "systemd-resolved": false, "systemd-timesyncd": false,
		"firewalld": true, "ufw": true, "nftables": true, "iptables": true, "ip6tables": true, "netfilter-persistent": true, "shorewall": true, "shorewall6": true, "ferm": true, "ipset": true,
		"openvpn": true, "openvpn-client@office": true, "wg-quick@wg0": true, "tailscaled": true, "strongswan": true, "strongswan-starter": true, "ipsec": true,
		"systemd-journald": false, "systemd-udevd": false, "systemd-poweroff": false, "systemd-x": false, "user@1000": false, "user-runtime-dir@0": false, "session-1": false,
		"rescue": false, "emergency": false, "debug-shell": false, "reboot": false, "poweroff": false, "halt": false, "kexec-load": false, "dracut-shutdown": false,
		"plymouth-quit": false, "initrd-switch-root": false, "soft-reboot": false, "hibernate": false,
	} {
		for _, asked := range []string{name, "nginx"} { // by its name and by another
			u := running(name + suffix)
			f := machine(u)
			f.units["nginx.service"], f.units[u.Name] = u, u
			_, err := PlanRestart(t.Context(), f, Options{Name: asked})
			if code(err) != fault.ProtectedService || strings.Contains(fix(err), "--force") != lifts {
				t.Errorf("%s as %s: %v, %s", name, asked, err, fix(err))
			}
			_, err = PlanRestart(t.Context(), f, Options{Name: asked, Force: true})
			if (err == nil) != lifts || !lifts && code(err) != fault.ProtectedService {
				t.Errorf("%s as %s, forced: %v", name, asked, err)
			}
			if asked == name && !lifts && f.calls["open"] {
				t.Errorf("%s: systemd was asked", name)
			}
		}
		u := with(running("nginx.service"), func(u *Unit) { u.Names = append(u.Names, name+suffix) })
		if _, err := PlanRestart(t.Context(), machine(u), Options{Name: "nginx"}); code(err) != fault.ProtectedService {
			t.Errorf("nginx with the alias %s: %v", name, err)
		}
	}
	for _, free := range []string{"nginx", "sshguard", "dbusx", "rebooter.x", "userd", "debugger", "haltx", "nftablesx", "wg-quicker", "ufwd"} {
		if r := ruleOf(Systemd, free+suffix); r != nil && free != "rebooter.x" {
			t.Errorf("%s is protected by %s", free, r.pattern)
		}
	}
}

func TestServicesOfTheConfigurationAreProtected(t *testing.T) {
	for pattern, want := range map[string]fault.Code{
		"nginx": fault.ProtectedService, "nginx.service": fault.ProtectedService, "ngin*": fault.ProtectedService, "*": fault.ProtectedService,
		"": "", "web": "", "[": "", "nginx.socket": "",
	} {
		_, err := PlanRestart(t.Context(), machine(running("nginx.service")), Options{Name: "nginx", Protected: []string{pattern}})
		if code(err) != want {
			t.Errorf("%q: %v", pattern, err)
		}
		if _, err := PlanRestart(t.Context(), machine(running("nginx.service")), Options{Name: "nginx", Protected: []string{pattern}, Force: true}); err != nil {
			t.Errorf("%q, forced: %v", pattern, err)
		}
	}
}

// What a restart does to others counts as much as the name of the service.
func TestReachOfARestart(t *testing.T) {
	off := func(u Unit) Unit { return with(u, func(u *Unit) { u.Active = "inactive" }) }
	target := func(name string) Unit { return Unit{Name: name, Load: "loaded", Active: "active"} }
	for name, c := range map[string]struct {
		change func(*Unit)
		others []Unit
		code   fault.Code
		forced fault.Code
	}{
		"needs what runs":       {func(u *Unit) { u.Starts = append(u.Starts, "db.service") }, []Unit{running("db.service")}, "", ""},
		"powers off":            {func(u *Unit) { u.Starts = append(u.Starts, "poweroff.target") }, nil, fault.ProtectedService, fault.ProtectedService},
		"suspends":              {func(u *Unit) { u.Starts = append(u.Starts, "systemd-suspend.service") }, nil, fault.ProtectedService, fault.ProtectedService},
		"waits for network":     {func(u *Unit) { u.Starts = append(u.Starts, "systemd-networkd-wait-online.service") }, nil, "", ""},
		"powers off by a unit":  {func(u *Unit) { u.Starts = []string{"a.target"} }, []Unit{off(with(target("a.target"), func(u *Unit) { u.Starts = []string{"runlevel6.target"} }))}, fault.ProtectedService, fault.ProtectedService},
		"is part of what is on": {func(u *Unit) { u.Starts = []string{"a.target"} }, []Unit{with(target("a.target"), func(u *Unit) { u.Starts = []string{"reboot.target"} })}, "", ""},
		"a circle":              {func(u *Unit) { u.Starts = []string{"a.target"} }, []Unit{off(with(target("a.target"), func(u *Unit) { u.Starts = []string{"nginx.service", "a.target"} }))}, "", ""},
		"runs a command by a unit": {func(u *Unit) { u.Starts = []string{"a.service"} },
			[]Unit{off(with(running("a.service"), func(u *Unit) { u.Commands = [][]string{{"/sbin/reboot"}} }))}, fault.ProtectedService, fault.ProtectedService},
		"stops the system":      {func(u *Unit) { u.Stops = []string{"basic.target"} }, []Unit{target("basic.target")}, fault.ProtectedService, fault.ProtectedService},
		"stops a target":        {func(u *Unit) { u.Stops = []string{"multi-user.target"} }, []Unit{target("multi-user.target")}, fault.ProtectedService, fault.ProtectedService},
		"stops a mount":         {func(u *Unit) { u.Stops = []string{"home.mount"} }, []Unit{target("home.mount")}, fault.ProtectedService, fault.ProtectedService},
		"stops a target off":    {func(u *Unit) { u.Stops = []string{"x.target"} }, []Unit{off(target("x.target"))}, "", ""},
		"stops its rival":       {func(u *Unit) { u.Stops = []string{"apache2.service"} }, []Unit{running("apache2.service")}, "", ""},
		"stops ssh":             {func(u *Unit) { u.Stops = []string{"ssh.service"} }, []Unit{running("ssh.service")}, fault.ProtectedService, ""},
		"stops ssh that is off": {func(u *Unit) { u.Stops = []string{"ssh.service"} }, []Unit{off(running("ssh.service"))}, "", ""},
		"stops ssh by an alias": {func(u *Unit) { u.Stops = []string{"remote.service"} },
			[]Unit{with(running("remote.service"), func(u *Unit) { u.Names = []string{"remote.service", "sshd.service"} })}, fault.ProtectedService, ""},
		"stops journald":       {func(u *Unit) { u.Stops = []string{"systemd-journald.service"} }, []Unit{running("systemd-journald.service")}, fault.ProtectedService, fault.ProtectedService},
		"stops what ssh needs": {func(u *Unit) { u.Stops = []string{"a.service"} }, []Unit{with(running("a.service"), func(u *Unit) { u.Carries = []string{"ssh.service"} }), running("ssh.service")}, fault.ProtectedService, ""},
		"carries ssh":          {func(u *Unit) { u.Carries = []string{"ssh.service"} }, []Unit{running("ssh.service")}, fault.ProtectedService, ""},
		"carries the start":    {func(u *Unit) { u.Carries = []string{"sysinit.target"} }, []Unit{target("sysinit.target")}, fault.ProtectedService, fault.ProtectedService},
		"carries a target":     {func(u *Unit) { u.Carries = []string{"multi-user.target"} }, []Unit{target("multi-user.target")}, "", ""},
		"carries another":      {func(u *Unit) { u.Carries = []string{"php.service"} }, []Unit{running("php.service")}, "", ""},
		"reboots when it ends": {func(u *Unit) { u.Actions = []string{"none", "reboot-force"} }, nil, fault.ProtectedService, fault.ProtectedService},
		"runs poweroff":        {func(u *Unit) { u.Commands = [][]string{{"/bin/true"}, {"/usr/sbin/poweroff", "-f"}} }, nil, fault.ProtectedService, fault.ProtectedService},
		"runs systemctl":       {func(u *Unit) { u.Commands = [][]string{{"/bin/systemctl", "--no-block", "suspend"}} }, nil, fault.ProtectedService, fault.ProtectedService},
		"isolates":             {func(u *Unit) { u.Commands = [][]string{{"/bin/systemctl", "isolate", "x.target"}} }, nil, fault.ProtectedService, fault.ProtectedService},
		"starts a target":      {func(u *Unit) { u.Commands = [][]string{{"/bin/systemctl", "start", "reboot.target"}} }, nil, fault.ProtectedService, fault.ProtectedService},
		"restarts another":     {func(u *Unit) { u.Commands = [][]string{{"/bin/systemctl", "restart", "php"}, {}, {"/bin/kexecx"}} }, nil, "", ""},
		"hosts the call":       {func(u *Unit) { u.Group = "/user.slice/a.scope" }, nil, fault.ProtectedService, fault.ProtectedService},
		"hosts it, spares it":  {func(u *Unit) { u.Group, u.SparesOthers = "/user.slice/a.scope", true }, nil, fault.ProtectedService, ""},
		"is the call":          {func(u *Unit) { u.MainPID, u.SparesOthers = 900, true }, nil, fault.ProtectedService, fault.ProtectedService},
		"is its ancestor":      {func(u *Unit) { u.MainPID = 890 }, nil, fault.ProtectedService, ""},
		"is above the call":    {func(u *Unit) { u.Group = "/user.slice" }, nil, fault.ProtectedService, fault.ProtectedService},
		"is only like it":      {func(u *Unit) { u.Group = "/user.slice/a" }, nil, "", ""},
		"has no group":         {func(u *Unit) { u.Group = "" }, nil, "", ""},
	} {
		u := with(running("nginx.service"), c.change)
		if _, err := PlanRestart(t.Context(), machine(u, c.others...), Options{Name: "nginx"}); code(err) != c.code || err != nil && strings.Contains(fix(err), "--force") != (c.forced == "") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := PlanRestart(t.Context(), machine(u, c.others...), Options{Name: "nginx", Force: true}); code(err) != c.forced {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
}

func TestReachIsBounded(t *testing.T) {
	for _, list := range []func(*Unit) *[]string{
		func(u *Unit) *[]string { return &u.Starts }, func(u *Unit) *[]string { return &u.Stops }, func(u *Unit) *[]string { return &u.Carries },
	} {
		u := running("nginx.service")
		for i := range 1000 {
			*list(&u) = append(*list(&u), "x"+strconv.Itoa(i)+".service")
		}
		f := machine(u)
		if _, err := PlanRestart(t.Context(), f, Options{Name: "nginx", Force: true}); code(err) != fault.ProtectedService || f.read > 2*maxReach {
			t.Errorf("%v, %d units read", err, f.read)
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
		if got := endsSystem(strings.Split(command, "|")); got != want {
			t.Errorf("%s: %v", command, got)
		}
	}
}
