// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"slices"
	"testing"

	"sentinel/internal/audit"
)

func TestNoPasswordJudgesTheWorst(t *testing.T) {
	ours := func(command string) bool { return command == "/usr/bin/sentinel" }
	all := Grant{Users: "mira ALL", Command: "ALL", NoPassword: true, File: "/etc/sudoers", Line: 3}
	some := Grant{Users: "mira ALL", Command: "/bin/ls", NoPassword: true, File: "/etc/sudoers", Line: 4}
	own := Grant{Users: "mira ALL", Command: "/usr/bin/sentinel", NoPassword: true, File: "/etc/sudoers", Line: 5}
	root := Grant{Users: "root ALL", Command: "ALL", NoPassword: true, File: "/etc/sudoers", Line: 6}
	asks := Grant{Users: "mira ALL", Command: "ALL", File: "/etc/sudoers", Line: 7}
	never := Default{Options: []string{"use_pty", "!authenticate"}, File: "/etc/sudoers", Line: 1}
	scoped := Default{Scope: ":mira", Options: []string{"!authenticate"}, File: "/etc/sudoers", Line: 2}
	for _, c := range []struct {
		name     string
		policy   Policy
		status   audit.Status
		evidence []string
	}{
		{"none", Policy{Grants: []Grant{own, root, asks}}, audit.Pass, nil},
		{"some", Policy{Grants: []Grant{own, some}}, audit.Warn, []string{"/etc/sudoers:4: mira ALL NOPASSWD: /bin/ls"}},
		{"all", Policy{Grants: []Grant{some, all}}, audit.Fail, []string{"/etc/sudoers:3: mira ALL NOPASSWD: ALL", "/etc/sudoers:4: mira ALL NOPASSWD: /bin/ls"}},
		{"default", Policy{Defaults: []Default{scoped, never}}, audit.Fail, []string{"/etc/sudoers:1: Defaults !authenticate", "/etc/sudoers:2: Defaults:mira !authenticate"}},
		{"hole", Policy{Grants: []Grant{own}, Hole: ErrHost}, "", nil},
		{"hole and some", Policy{Grants: []Grant{some}, Hole: ErrHost}, audit.Warn, []string{"/etc/sudoers:4: mira ALL NOPASSWD: /bin/ls"}},
	} {
		f := c.policy.NoPassword(ours)
		if f.Status != c.status || !slices.Equal(f.Evidence, c.evidence) || f.Status == "" && !f.Applies {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestDefaultsAreJudgedByTheRulesTheyMayBeFor(t *testing.T) {
	nobody := func(string) bool { return false }
	for _, c := range []struct {
		text string
		want audit.Status
	}{
		{"Defaults:mira !authenticate\nmira ALL=(ALL:ALL) ALL", audit.Fail},
		{"Defaults:mira , jo !authenticate\nann , jo ALL=ALL", audit.Fail},
		{"Defaults:mira !authenticate\n%sudo ALL=(ALL:ALL) ALL", audit.Fail},
		{"Defaults:%ops !authenticate\nmira ALL=(ALL:ALL) ALL", audit.Fail},
		{"User_Alias OPS = mira\nDefaults:OPS !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Defaults:mira !authenticate\nroot, mira mira=(ALL) ALL", audit.Fail},
		{"Defaults@host !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Defaults>root !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Defaults!ALL !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Defaults exempt_group = ops\n%sudo ALL=(ALL) ALL", audit.Fail},
		{"Defaults:mira !authenticate\njo ALL=(ALL) ALL", audit.Warn},
		{"Defaults:mira !authenticate\nroot ALL=(ALL) ALL", audit.Warn},
		{"Defaults:mira !authenticate\nmira ALL=(www) ALL", audit.Warn},
		{"Defaults:mira !authenticate\nmira ALL=/bin/ls", audit.Warn},
		{"Defaults:root !authenticate\n%sudo ALL=(ALL) ALL", audit.Warn},
		{"Defaults>www !authenticate\nmira ALL=(ALL) ALL", audit.Warn},
		{"Cmnd_Alias EVERY = ALL\nDefaults!EVERY !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Defaults!/bin/ls, MOST !authenticate\nmira ALL=(ALL) ALL\nCmnd_Alias MOST = EVERY, !/bin/su\nCmnd_Alias EVERY = /bin/ls, ALL", audit.Fail},
		{"Defaults!ELSEWHERE !authenticate\nmira ALL=(ALL) ALL", audit.Fail},
		{"Cmnd_Alias LIST = /bin/ls, /bin/cat\nDefaults!LIST !authenticate\nmira ALL=(ALL) ALL", audit.Warn},
		{"Cmnd_Alias EVERY = ALL\nDefaults!EVERY !authenticate\nmira ALL=/bin/ls", audit.Warn},
		{"Defaults!/bin/ls !authenticate\nmira ALL=(ALL) ALL", audit.Warn},
		{"Defaults exempt_group=ops\nroot ALL=(ALL) ALL", audit.Warn},
		{"Defaults:mira authenticate, !exempt_group\nmira ALL=(ALL) ALL", audit.Pass},
	} {
		p, err := Read(tree{start: c.text + "\n"}, start)
		if f := p.NoPassword(nobody); err != nil || f.Status != c.want {
			t.Errorf("%q: %v, %+v", c.text, err, f)
		}
	}
}
