// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"strings"
	"testing"
)

const own = "/usr/local/bin/sentinel"

// shipped is what sudo lists for a member of the group, as wide as sudo makes it.
const shipped = `Matching Defaults entries for ann on host:
    env_reset, mail_badpass,
    secure_path=/usr/local/sbin\:/usr/local/bin\:/usr/sbin\:/usr/bin\:/sbin\:/bin

User ann may run the following commands on host:
    (root) NOPASSWD: /usr/local/bin/sentinel --request get_system_health,
        /usr/local/bin/sentinel --request get_asset_info, /usr/local/bin/sentinel
        --request terminate_process
`

func TestAskedForPassword(t *testing.T) {
	const kill = own + " --request terminate_process"
	head := "User ann may run the following commands on host:\n"
	for _, test := range []struct {
		name, listing string
		want          bool
	}{
		{"shipped", shipped, false},
		{"nothing listed", "", false},
		{"administrator", head + "    (ALL : ALL) ALL\n", true},
		{"administrator without a password", head + "    (ALL : ALL) NOPASSWD: ALL\n", false},
		{"administrator and a member", head + "    (ALL : ALL) ALL\n    (root) NOPASSWD: " + kill + "\n", false},
		{"the last rule decides", head + "    (root) NOPASSWD: " + kill + "\n    (ALL : ALL) ALL\n", true},
		{"administrator who may read alone", head + "    (ALL : ALL) ALL\n    (root) NOPASSWD: " + own + " --request get_system_health\n", true},
		{"tag in the middle", head + "    (root) NOPASSWD: /bin/true, PASSWD: " + kill + "\n", true},
		{"tag that holds on", head + "    (root) NOPASSWD: /bin/true, " + kill + "\n", false},
		{"other tags", head + "    (root) NOEXEC: NOPASSWD: SETENV: " + kill + "\n", false},
		{"as another user", head + "    (postgres) ALL\n", false},
		{"as some users", head + "    (postgres, root) ALL\n", true},
		{"not a list", "\x00    (", false},
	} {
		if got := AsksPassword(test.listing, kill); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func FuzzAsksPassword(f *testing.F) {
	f.Add(shipped, own+" --request terminate_process")
	f.Add("    (ALL : ALL) ALL\n        x, PASSWD: \n", "ALL")
	f.Fuzz(func(t *testing.T, listing, command string) {
		if AsksPassword(listing, command) && !strings.Contains(listing, "    (") {
			t.Error("a list without rules asks for a password")
		}
	})
}

func TestRightToRunAllAndOtherPrograms(t *testing.T) {
	head := "User ann may run the following commands on host:\n"
	for name, test := range map[string]struct {
		listing, other string
		all            bool
	}{
		"member":               {shipped, "", false},
		"member of an old one": {strings.ReplaceAll(shipped, own, "/opt/sentinel/bin/sentinel"), "/opt/sentinel/bin/sentinel", false},
		"administrator":        {head + "    (ALL : ALL) ALL\n", "", true},
		"of another user":      {head + "    (postgres) ALL\n", "", false},
		"nothing":              {"", "", false},
	} {
		if got := AllowsAll(test.listing); got != test.all {
			t.Errorf("%s: all %v", name, got)
		}
		if got := OtherProgram(test.listing, own); got != test.other {
			t.Errorf("%s: other program %q", name, got)
		}
	}
}
