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
