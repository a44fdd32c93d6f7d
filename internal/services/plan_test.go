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
	off := fault.New(fault.ServiceInactive, "It is off.")
	for _, c := range []struct {
		active, job string
		dormant     error
		code        fault.Code
	}{
		{"active", "", off, ""},
		{"reloading", "", off, ""},
		{"activating", "", off, ""},
		{"failed", "", off, ""},
		{"inactive", "", nil, ""},
		{"inactive", "", off, fault.ServiceInactive},
		{"maintenance", "", off, fault.ServiceInactive},
		{"deactivating", "", off, fault.ServiceInactive},
		{"deactivating", "stop", off, fault.ServiceInactive},
		{"deactivating", "restart", off, ""},
		{"deactivating", "", nil, ""},
	} {
		u := with(running("nginx.service"), func(u *Unit) { u.Active, u.Job, u.Dormant = c.active, c.job, c.dormant })
		if _, err := PlanRestart(t.Context(), machine(u), Options{Name: "nginx", Force: true}); code(err) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestPlansThatFail(t *testing.T) {
	nginx := running("nginx.service")
	for name, c := range map[string]struct {
		source *fake
		code   fault.Code
		says   string
	}{
		"no systemd":    {&fake{openErr: fault.New(fault.Unsupported, "No.")}, fault.Unsupported, "No."},
		"not there":     {machine(running("nginx2.service")), fault.ServiceNotFound, "There is no service nginx.service."},
		"unusable":      {machine(with(nginx, func(u *Unit) { u.Unusable = fault.New(fault.ServiceMasked, "It is masked.") })), fault.ServiceMasked, "masked"},
		"does not hear": {&fake{unitErr: func() error { return errors.New("gone") }}, fault.Unavailable, "gone"},
		"another kind":  {machine(with(nginx, func(u *Unit) { u.Name, u.Service = "reboot.target", false })), fault.ProtectedService, "another name of reboot.target"},
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
		"ssh": true, "sshd": true, "dbus": true, "dbus-broker": true, "systemd-journald": false, "systemd-x": false, "reboot": false, "dracut-shutdown": false,
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
	for _, free := range []string{"nginx", "sshguard"} {
		if why, lifts := kind.Protection(free + suffix); why != "" || !lifts {
			t.Errorf("%s is protected: %s", free, why)
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
	target := func(name string) Unit { return Unit{Name: name, Active: "active"} }
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
		"stops a socket":        {func(u *Unit) { u.Stops = []string{"a.socket"} }, []Unit{with(target("a.socket"), func(u *Unit) { u.Trigger = true })}, "", ""},
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
