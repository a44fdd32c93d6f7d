// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/sessions"
)

func checkEnd(t *testing.T, f *fake, change func(*End)) (Others, error) {
	t.Helper()
	e := End{Name: "nginx.service", PID: 812, Refusal: func(why string, lifts bool) *fault.Error {
		e := fault.New(fault.ProtectedProcess, why+".")
		if lifts {
			return e.WithFix("--force")
		}
		return e.WithFix("nothing")
	}}
	change(&e)
	return CheckEnd(t.Context(), f, e)
}

func unchanged(*End) {}

// The end of a process is refused for what a restart of its service is refused for, as far as it happens then.
func TestEndsThatTakeOthersAlong(t *testing.T) {
	ssh, off := running("ssh.service"), func(u Unit) Unit { return with(u, func(u *Unit) { u.Active = "inactive" }) }
	requires := func(u *Unit) { u.Carries = []string{"ssh.service"} }
	for name, c := range map[string]struct {
		change func(*Unit)
		why    string
		final  bool
	}{
		"nothing":                          {func(*Unit) {}, "", false},
		"another process":                  {func(u *Unit) { u.MainPID, u.Actions = 1, []string{"reboot"} }, "", false},
		"reboots":                          {func(u *Unit) { u.Actions = []string{"reboot"} }, "when nginx.service ends or fails, systemd may reboot the system", true},
		"a command that ends it":           {func(u *Unit) { u.MainPID, u.ControlPID, u.Actions = 5, 812, []string{"reboot"} }, "may reboot", true},
		"no main process":                  {func(u *Unit) { u.MainPID, u.Actions = 0, []string{"reboot"} }, "may reboot", true},
		"left over from what has ended":    {func(u *Unit) { u.MainPID, u.Active, u.Actions = 0, "inactive", []string{"reboot"} }, "", false},
		"left over from what failed":       {func(u *Unit) { u.MainPID, u.Active, u.Actions = 0, "failed", []string{"reboot"} }, "", false},
		"runs reboot when it ends":         {func(u *Unit) { u.LastCommands = [][]string{{"reboot"}} }, "nginx.service runs reboot", true},
		"ran reboot":                       {func(u *Unit) { u.Commands = [][]string{{"reboot"}} }, "", false},
		"runs reboot again":                {func(u *Unit) { u.Commands, u.MayRestart = [][]string{{"reboot"}}, true }, "nginx.service runs reboot", true},
		"starts reboot on failure":         {func(u *Unit) { u.OnFailure = []string{"reboot.target"} }, "the end of nginx.service may start reboot.target", true},
		"starts reboot on success":         {func(u *Unit) { u.OnSuccess = []string{"reboot.target"} }, "may start reboot.target", true},
		"started reboot":                   {func(u *Unit) { u.Starts = []string{"reboot.target"} }, "", false},
		"starts reboot again":              {func(u *Unit) { u.Starts, u.MayRestart = []string{"reboot.target"}, true }, "may start reboot.target", true},
		"ssh is bound to it":               {func(u *Unit) { u.BoundTo = []string{"ssh.service"} }, "the end of nginx.service stops ssh.service as well", false},
		"ssh requires it":                  {requires, "", false},
		"ssh requires what comes back":     {func(u *Unit) { requires(u); u.MayRestart = true }, "the end of nginx.service restarts ssh.service as well", false},
		"what is bound to it carries ssh":  {func(u *Unit) { u.BoundTo = []string{"a.service"} }, "stops ssh.service as well", false},
		"what is bound to it reboots":      {func(u *Unit) { u.BoundTo = []string{"b.service"} }, "when b.service ends or fails", true},
		"ssh is on for it alone":           {func(u *Unit) { u.Holds = []string{"unneeded.service"} }, "the end of nginx.service stops unneeded.service as well", false},
		"and may be after its return":      {func(u *Unit) { u.Holds, u.MayRestart = []string{"unneeded.service"}, true }, "stops unneeded.service as well", false},
		"and it surely comes back":         {func(u *Unit) { u.Holds, u.MayRestart, u.BackAfterKill = []string{"unneeded.service"}, true, true }, "", false},
		"ssh is on by itself":              {func(u *Unit) { u.Holds = []string{"ssh.service"} }, "", false},
		"conflicts with ssh":               {func(u *Unit) { u.Stops = []string{"ssh.service"} }, "", false},
		"conflicts with it and comes back": {func(u *Unit) { u.Stops, u.MayRestart = []string{"ssh.service"}, true }, "stops ssh.service as well", false},
		"runs the call":                    {func(u *Unit) { u.Group = "/user.slice/a.scope" }, "nginx.service ends with it, and this very call runs in it", false},
		"is protected by its name":         {func(u *Unit) { u.Names = []string{"dbus.service"} }, "nginx.service is protected: the session may depend on it", false},
		"is a part of the system":          {func(u *Unit) { u.Names = []string{"systemd-x.service"} }, "it is a part of the service manager", false},
	} {
		u := with(running("nginx.service"), c.change)
		unneeded := with(running("unneeded.service"), func(u *Unit) {
			u.Names, u.HeldBy = []string{"ssh.service"}, []string{"nginx.service", "off.service"}
		})
		others := []Unit{unneeded, ssh, off(running("alarm.service")), with(running("a.service"), requires), with(running("b.service"), func(u *Unit) { u.Actions = []string{"reboot"} })}
		for _, force := range []bool{false, true} {
			_, err := checkEnd(t, machine(u, others...), func(e *End) { e.Force = force })
			if refused := c.why != "" && (!force || c.final); (err != nil) != refused {
				t.Errorf("%s, force %v: %v", name, force, err)
			}
			if err != nil && (code(err) != fault.ProtectedProcess || !strings.Contains(err.Error(), c.why) || (fix(err) == "nothing") != c.final) {
				t.Errorf("%s: %v, %s", name, err, fix(err))
			}
		}
	}
}

func TestTheServiceOfAProcessMayCarryMore(t *testing.T) {
	ann := sessions.Claim{Sessions: []*sessions.Session{{User: "ann"}}}
	own := sessions.Claim{Sessions: []*sessions.Session{{User: "ann", Whose: sessions.Own}}}
	shown := sessions.Claim{Sessions: own.Sessions, Shown: own.Sessions}
	f := machine(running("nginx.service"))
	for _, c := range []struct {
		claim   sessions.Claim
		carries bool
		refused bool
	}{{ann, false, true}, {ann, true, false}, {own, true, true}, {shown, false, true}, {shown, true, false}} {
		_, err := checkEnd(t, f, func(e *End) {
			e.Carries, e.Sessions = c.carries, modelOf(map[string]sessions.Claim{"nginx.service": c.claim}, nil)
		})
		if (err != nil) != c.refused || err != nil && (fault.From(err).Protects == nil || !strings.Contains(err.Error(), "nginx.service ends with it, and "+c.claim.Carrying())) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for pattern, carries := range map[string]bool{"nginx": false, "ngin*": true} {
		if _, err := checkEnd(t, f, func(e *End) { e.Protected, e.Carries = []string{pattern}, carries }); code(err) != fault.ProtectedProcess {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	dbus := machine(with(running("nginx.service"), func(u *Unit) { u.Names = []string{"dbus.service"} }))
	if _, err := checkEnd(t, dbus, func(e *End) { e.Carries = true }); err != nil {
		t.Errorf("a session of others that is to end: %v", err)
	}
}

func TestAManagerThatDoesNotAnswerIsNoPermission(t *testing.T) {
	bad := errors.New("gone")
	for name, f := range map[string]*fake{
		"the connection": {openErr: fault.New(fault.Unavailable, "gone.")},
		"a unit":         {unitErr: func() error { return bad }},
	} {
		if _, err := checkEnd(t, f, unchanged); code(err) != fault.Unavailable || !strings.Contains(err.Error(), "What depends on nginx.service cannot be read") || !strings.Contains(fix(err), "--force") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := checkEnd(t, f, func(e *End) { e.Force = true }); err != nil {
			t.Errorf("%s, forced: %v", name, err)
		}
	}
	for name, f := range map[string]*fake{
		"another manager": {openErr: fault.New(fault.Unsupported, "OpenRC.")},
		"an old name":     {},
		"a removed unit":  {unitErr: func() error { return ErrNoUnit }},
	} {
		if others, err := checkEnd(t, f, unchanged); err != nil || others.AlsoTotal != 0 {
			t.Errorf("%s: %v, %+v", name, err, others)
		}
	}
	f := &fake{unitErr: func() error { return context.Canceled }}
	if _, err := checkEnd(t, f, func(e *End) { e.Force = true }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestWhatGoesWithAnEnd(t *testing.T) {
	u := with(running("nginx.service"), func(u *Unit) {
		u.BoundTo, u.Carries, u.Starts, u.OnFailure = []string{"a.service"}, []string{"a.service", "b.service"}, []string{"c.service"}, []string{"alarm.service"}
	})
	off := func(u *Unit) { u.Active = "inactive" }
	f := machine(u, running("a.service"), running("b.service"), with(running("c.service"), off), with(running("alarm.service"), off))
	others, err := checkEnd(t, f, unchanged)
	if want := " Its end also stops a.service; may start alarm.service."; err != nil || others.Sentence("Its end") != want || others.AlsoTotal != 2 {
		t.Errorf("%v, %q", err, others.Sentence("Its end"))
	}
	u.MayRestart = true
	f.units["nginx.service"] = u
	others, err = checkEnd(t, f, unchanged)
	if want := " Its end also restarts b.service; stops a.service; may start c.service."; err != nil || others.Sentence("Its end") != want || !slices.Equal(others.AlsoStops, []string{"a.service"}) {
		t.Errorf("%v, %q", err, others.Sentence("Its end"))
	}
}

// What nothing else needs stops, and what only that has needed.
func TestWhatStopsWithAnEndBecauseNothingNeedsIt(t *testing.T) {
	holds := func(name string, held ...string) Unit {
		return with(running(name), func(u *Unit) { u.Holds = held })
	}
	held := func(u Unit, by ...string) Unit { return with(u, func(u *Unit) { u.HeldBy = by }) }
	f := machine(
		with(holds("nginx.service", "a.service", "shared.service", "both.service", "off.service", "gone.service"), func(u *Unit) { u.BoundTo = []string{"bound.service"} }),
		held(holds("a.service", "below.service"), "nginx.service"), held(running("below.service"), "a.service"),
		held(running("shared.service"), "nginx.service", "stays.service"), running("stays.service"),
		held(running("both.service"), "nginx.service", "bound.service"), holds("bound.service", "both.service"),
		held(with(running("off.service"), func(u *Unit) { u.Active = "inactive" }), "nginx.service"))
	others, err := checkEnd(t, f, unchanged)
	if want := []string{"a.service", "below.service", "both.service", "bound.service"}; err != nil || !slices.Equal(others.AlsoStops, want) || others.AlsoTotal != len(want) {
		t.Errorf("%v, %+v, want %q", err, others, want)
	}
	for i := range 1000 {
		nginx := f.units["nginx.service"]
		nginx.Holds = append(nginx.Holds, "x"+strconv.Itoa(i)+".service")
		f.units["nginx.service"] = nginx
	}
	f.read = 0
	if _, err := checkEnd(t, f, unchanged); code(err) != fault.ProtectedProcess || f.read > 2*maxRelated {
		t.Errorf("%v, %d units read", err, f.read)
	}
	f.silent = "a.service"
	if _, err := checkEnd(t, f, unchanged); code(err) != fault.Unavailable {
		t.Errorf("silent: %v", err)
	}
}
