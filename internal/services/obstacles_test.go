// SPDX-License-Identifier: Apache-2.0

package services

import (
	"errors"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestAServiceThatRunsIsNotStoppedWhereItsStartSurelyFails(t *testing.T) {
	gone, unmet := Obstacle{"its program /srv/x is missing", true}, Obstacle{"ConditionPathExists=!/run/x is not met", false}
	off := func(name string) Unit {
		return with(running(name), func(u *Unit) { u.Active, u.Sub, u.MainPID, u.Starts, u.Stops = "inactive", "dead", 0, nil, nil })
	}
	const doubt = "would be restarted. It may not come back: its program /srv/x is missing; ConditionPathExists=!/run/x is not met."
	for name, c := range map[string]struct {
		list   []Obstacle
		err    error
		active string
		sub    string
		starts string
		force  bool
		code   fault.Code
		says   string
	}{
		"none":                    {nil, nil, "active", "running", "", false, "", "would be restarted."},
		"sure":                    {[]Obstacle{unmet, gone}, nil, "active", "running", "", false, fault.BrokenConfiguration, "nginx.service would not come back: its program /srv/x is missing. It runs on; nothing was changed."},
		"sure, forced":            {[]Obstacle{gone, unmet}, nil, "active", "running", "", true, "", doubt},
		"probable":                {[]Obstacle{unmet}, nil, "active", "running", "", false, "", "would be restarted. It may not come back: ConditionPathExists=!/run/x is not met."},
		"it is down":              {[]Obstacle{gone}, nil, "failed", "failed", "", false, "", "would be restarted."},
		"another makes it":        {[]Obstacle{gone, unmet}, nil, "active", "running", "maker.service", false, "", strings.TrimPrefix(doubt, "would be restarted.")},
		"started with it, a goal": {[]Obstacle{gone}, nil, "active", "running", "online.target", false, fault.BrokenConfiguration, "is missing"},
		"it waits for its start":  {[]Obstacle{gone}, nil, "activating", "auto-restart", "", false, "", "would be restarted."},
		"not read":                {nil, errors.New("gone"), "active", "running", "", false, "", "could not be looked at: gone."},
		"hostile":                 {[]Obstacle{{"its program /srv/\x1b[2Jx is missing", true}}, nil, "active", "running", "", false, fault.BrokenConfiguration, "is missing"},
	} {
		u := with(running("nginx.service"), func(u *Unit) { u.Active, u.Sub = c.active, c.sub })
		if c.starts != "" {
			u.Starts = append(u.Starts, c.starts)
		}
		f := machine(u, off("maker.service"), off("online.target"))
		f.obstacles, f.obstacleErr = c.list, c.err
		text, err := planned(t, f, c.force)
		if code(err) != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "\x1b") || f.calls["restart"] {
			t.Errorf("%s: %s %q", name, code(err), text)
		}
		if clean := name == "none" || !isUp(u); clean == strings.Contains(text, "come back") && name != "not read" {
			t.Errorf("%s: %q", name, text)
		}
		if err != nil && (!strings.Contains(fix(err), "--force") || !f.calls["close"]) {
			t.Errorf("%s: %s", name, fix(err))
		}
	}
}

func TestWhatIsRestartedBeforeAServiceMayMakeWhatItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		holds []string
		code  fault.Code
	}{
		"which the service requires": {[]string{"part.service"}, ""},
		"which requires the service": {nil, fault.BrokenConfiguration},
	} {
		f := machine(with(running("nginx.service"), func(u *Unit) { u.Holds, u.Carries = c.holds, []string{"part.service"} }), running("part.service"))
		f.obstacles = []Obstacle{{"the file /run/part of its environment is missing", true}}
		r, err := PlanRestart(t.Context(), f, Options{Name: "nginx"})
		if code(err) != c.code || err == nil && !strings.HasSuffix(r.Summary(), "It also restarts part.service. It may not come back: the file /run/part of its environment is missing.") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
