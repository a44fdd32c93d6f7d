// SPDX-License-Identifier: Apache-2.0

package processes

import "testing"

// A claim that is plain is judged as nothing, whatever else is found out about it.
func TestAPlainClaimIsNoDisguise(t *testing.T) {
	daemons := &Daemons{Core: []string{"systemd-logind"}, Servers: []string{"nginx"}}
	plain := Claim{Name: "sleep", Argument: "sleep", Program: "/usr/bin/sleep", Daemons: daemons}
	for _, owner := range []int{-1, 0, 1000} {
		for bits := range 1 << 4 {
			c := plain
			c.Owner, c.UserID = owner, owner
			c.Apart, c.System, c.Same, c.Terminal = bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0
			if disguise, how := c.Judge(); !c.Plain() || disguise != NoDisguise {
				t.Errorf("%+v: %v %q", c, disguise, how)
			}
		}
	}
	for name, change := range map[string]func(*Claim){
		"name of a daemon":       func(c *Claim) { c.Name = "nginx" },
		"title of a daemon":      func(c *Claim) { c.Argument = "systemd-logind --x" },
		"title of a worker":      func(c *Claim) { c.Argument = "nginx: worker process" },
		"title of a thread":      func(c *Claim) { c.Argument = "[kworker/0:1]" },
		"name of a thread":       func(c *Claim) { c.Name = "kworker/0:1" },
		"temporary":              func(c *Claim) { c.Program = "/tmp/x" },
		"home":                   func(c *Claim) { c.Program = "/home/ann/x" },
		"memory":                 func(c *Claim) { c.Program = "/memfd:x (deleted)" },
		"removed":                func(c *Claim) { c.Program = "/usr/bin/sleep (deleted)" },
		"unknown daemons":        func(c *Claim) { c.Daemons = nil },
		"relative to elsewhere":  func(c *Claim) { c.Program = "(unreachable)/usr/bin/x" },
		"where nothing is known": func(c *Claim) { c.Program = "" },
	} {
		c := plain
		if change(&c); c.Plain() {
			t.Errorf("%s is plain: %+v", name, c)
		}
	}
}
