// SPDX-License-Identifier: Apache-2.0

package services

import (
	"errors"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestAServiceThatRunsTestsItsConfigurationFirst(t *testing.T) {
	broken := &ConfigTest{Command: "nginx -t", Lines: []string{
		"warming up", `nginx: [emerg] unknown directive "foo --password=hunter2" in /etc/nginx/nginx.conf:3`, "nginx: configuration file /etc/nginx/nginx.conf test failed",
	}}
	for name, c := range map[string]struct {
		tested *ConfigTest
		active string
		force  bool
		code   fault.Code
		says   string
	}{
		"none":              {nil, "active", false, "", "would be restarted."},
		"passes":            {&ConfigTest{Command: "nginx -t", Passed: true}, "active", false, "", "would be restarted. Its configuration passes: nginx -t."},
		"cannot be run":     {&ConfigTest{Command: "nginx -t", Err: errors.New("it needs root")}, "active", false, "", "Its configuration could not be tested (nginx -t): it needs root."},
		"fails":             {broken, "active", false, fault.BrokenConfiguration, `does not pass nginx -t: nginx: [emerg] unknown directive`},
		"fails, forced":     {broken, "active", true, "", "in /etc/nginx/nginx.conf:3"},
		"fails, it is down": {broken, "failed", false, "", "would be restarted."},
		"fails, it waits":   {broken, "activating", false, "", "would be restarted."},
		"fails in silence":  {&ConfigTest{Command: "x -t"}, "active", false, fault.BrokenConfiguration, "does not pass x -t, which does not say why. It runs on"},
		"in two lines":      {&ConfigTest{Command: "x -t", Lines: []string{"Syntax error on line 2 of /etc/x:", "Invalid command 'y'"}}, "active", false, fault.BrokenConfiguration, "line 2 of /etc/x: Invalid command 'y'. It runs on"},
		"no known word":     {&ConfigTest{Command: "x -t", Lines: []string{"oh no", "dear"}}, "active", false, fault.BrokenConfiguration, "oh no. It runs on; nothing was changed."},
	} {
		f := machine(with(running("nginx.service"), func(u *Unit) {
			if u.Active = c.active; c.active == "activating" {
				u.Sub = "auto-restart"
			}
		}))
		f.tested = c.tested
		text, err := planned(t, f, c.force)
		if code(err) != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "hunter2") || f.calls["restart"] {
			t.Errorf("%s: %s %q", name, code(err), text)
		}
		if f.calls["test"] != (c.active == "active") || f.calls["close"] != (err != nil) {
			t.Errorf("%s: %v", name, f.calls)
		}
		if err != nil && !strings.Contains(fix(err), "--force") {
			t.Errorf("%s: %s", name, fix(err))
		}
	}
}
