// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"strings"
	"testing"
)

// A claim that is plain is judged as nothing, whatever else is found out about it.
func TestAPlainClaimIsNoDisguise(t *testing.T) {
	daemons := &Daemons{Core: []string{"systemd-logind"}, Servers: []string{"nginx"}, Carriers: []string{"busybox"}, Interpreters: []string{"sh"}}
	plain := Claim{Name: "sleep", Argument: "sleep", Program: "/usr/bin/sleep", Daemons: daemons}
	// Of each, whether it is plain.
	for name, c := range map[string]struct {
		plain  bool
		change func(*Claim)
	}{
		"of the system":          {true, func(*Claim) {}},
		"home":                   {true, func(c *Claim) { c.Program = "/home/ann/x" }},
		"relative to elsewhere":  {true, func(c *Claim) { c.Program = "(unreachable)/usr/bin/x" }},
		"where nothing is known": {true, func(c *Claim) { c.Program = "" }},
		"the name of a build":    {false, func(c *Claim) { c.Program = "/tmp/go-build1/x" }},
		"in a mount of a user":   {false, func(c *Claim) { c.Apart = true }},
		"server at home":         {true, func(c *Claim) { c.Name, c.Program = "nginx", "/home/ann/nginx" }},
		"name of a daemon":       {false, func(c *Claim) { c.Name = "nginx" }},
		"title of a daemon":      {false, func(c *Claim) { c.Argument = "systemd-logind --x" }},
		"daemon itself":          {false, func(c *Claim) { c.Name, c.Program = "systemd-logind", "/usr/lib/systemd/systemd-logind" }},
		"title of a worker":      {false, func(c *Claim) { c.Argument = "nginx: worker process" }},
		"title of a thread":      {false, func(c *Claim) { c.Argument = "[kworker/0:1]" }},
		"name of a thread":       {false, func(c *Claim) { c.Name = "kworker/0:1" }},
		"temporary":              {false, func(c *Claim) { c.Program = "/tmp/x" }},
		"memory":                 {false, func(c *Claim) { c.Program = "/memfd:x (deleted)" }},
		"removed":                {false, func(c *Claim) { c.Program = "/usr/bin/sleep (deleted)" }},
	} {
		claim := plain
		if c.change(&claim); claim.Plain() != c.plain {
			t.Errorf("%s: plain is %v", name, !c.plain)
		}
		for _, owner := range []int{-1, 0, 1000} {
			for bits := range 1 << 8 {
				known := claim
				known.Owner, known.Mounts = owner, Mounts(bits&3)
				known.System, known.Same, known.Clone, known.Deployed = bits&4 > 0, bits&8 > 0, bits&16 > 0, bits&32 > 0
				known.Login, known.Placed = bits&64 > 0, bits&128 > 0
				if known.Removed = strings.HasSuffix(claim.Program, " (deleted)"); known.Removed {
					known.Program = strings.TrimSuffix(claim.Program, " (deleted)")
				}
				if disguise, how := known.Judge(); claim.Plain() && disguise != NoDisguise {
					t.Errorf("%s: %+v: %v %q", name, known, disguise, how)
				}
			}
		}
	}
}

// What a loader has mapped is odd where nobody installs programs to, and not where an update has replaced it.
func TestWhatIsOddToLoad(t *testing.T) {
	for file, want := range map[string][2]bool{ // gone, temporary
		"/memfd:x (deleted)": {true, false}, "/tmp/x": {false, true}, "/var/tmp/m/evil": {false, true}, "/dev/shm/x (deleted)": {true, true}, "/home/ann/x (deleted)": {true, false},
		"/home/ann/x": {}, "/usr/bin/sleep": {}, "/usr/lib/libc.so.6 (deleted)": {}, "/opt/x (deleted)": {},
		"/anon_hugepage (deleted)": {}, "[vdso]": {}, "[x] (deleted)": {}, "": {},
	} {
		if got := [2]bool{LoadedGone(file), LoadedTemporary(file)}; got != want {
			t.Errorf("%q: %t", file, got)
		}
	}
}
