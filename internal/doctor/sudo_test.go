// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
)

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
		if got := asksPassword(test.listing, kill); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func FuzzAsksPassword(f *testing.F) {
	f.Add(shipped, own+" --request terminate_process")
	f.Add("    (ALL : ALL) ALL\n        x, PASSWD: \n", "ALL")
	f.Fuzz(func(t *testing.T, listing, command string) {
		if asksPassword(listing, command) && !strings.Contains(listing, "    (") {
			t.Error("a list without rules asks for a password")
		}
	})
}

func TestSudoIsAskedForEachTool(t *testing.T) {
	const list = "/usr/bin/sudo -n -l"
	refused := sysexec.Result{Exit: 1, Stderr: []byte("sudo: a password is required\n")}
	for _, test := range []struct {
		name    string
		user    User
		asRoot  bool
		do      func(string) sysexec.Result
		refused []string
		asks    []string
		nothing bool // no line for a tool
	}{
		{"member", User{UID: 1000}, false, func(string) sysexec.Result { return sysexec.Result{Stdout: []byte(shipped)} },
			nil,
			[]string{list, list + " " + own + " --request get_system_health", list + " " + own + " --request terminate_process"}, false},
		{"stranger, asked once", User{UID: 1000}, false, func(string) sysexec.Result { return refused },
			[]string{"get_system_health", "terminate_process"}, []string{list}, false},
		{"reading alone", User{UID: 1000}, false, func(line string) sysexec.Result {
			if strings.HasSuffix(line, "terminate_process") {
				return sysexec.Result{Exit: 1}
			}
			return sysexec.Result{}
		}, []string{"terminate_process"},
			[]string{list, list + " " + own + " --request get_system_health", list + " " + own + " --request terminate_process"}, false},
		{"behind sudo", User{UID: 1000, Name: "ann"}, true, func(string) sysexec.Result { return sysexec.Result{} },
			nil,
			[]string{list + " -U ann", list + " -U ann " + own + " --request get_system_health", list + " -U ann " + own + " --request terminate_process"}, false},
		{"behind sudo with a name like an option", User{UID: 1000, Name: "-annrm"}, true, func(string) sysexec.Result { return sysexec.Result{} },
			[]string{"get_system_health", "terminate_process"}, nil, false},
		{"root itself", User{}, true, nil, nil, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := well(t, nil)
			asked := &programs{do: test.do}
			p.User, p.AsRoot, p.Programs = test.user, test.asRoot, asked
			r := Examine(t.Context(), p)
			if diff := gocmp.Diff(test.asks, asked.seen); diff != "" {
				t.Errorf("questions (-want +got):\n%s", diff)
			}
			if test.nothing {
				if f := find(t, r, "sudo_rules"); f.Status != OK {
					t.Errorf("%+v", f)
				}
				return
			}
			f := find(t, r, "sudo_rules")
			if diff := gocmp.Diff(test.refused, f.Tools); diff != "" || (f.Status == OK) != (test.refused == nil) || !strings.Contains(f.Value, "ann") {
				t.Errorf("%+v (tools -want +got)\n%s", f, diff)
			}
			name := map[bool]string{true: "USER", false: "ann"}[strings.HasPrefix(test.user.Name, "-")]
			if f.Status == Warning && !strings.HasSuffix(f.Fix, " && sudo usermod --append --groups sentinel "+name) {
				t.Errorf("the fix cannot be pasted: %q", f.Fix)
			}
		})
	}
}

// A rule that wants a password is a yes of sudo's that is of no use.
func TestRuleThatWantsAPasswordIsAWarning(t *testing.T) {
	p := well(t, nil)
	p.Programs = &programs{do: func(string) sysexec.Result {
		return sysexec.Result{Stdout: []byte("    (ALL : ALL) ALL\n    (root) NOPASSWD: " + own + " --request get_system_health\n")}
	}}
	r := Examine(t.Context(), p)
	if f := find(t, r, "sudo_rules"); f.Status != Warning || !slices.Equal(f.Tools, []string{"terminate_process"}) || !strings.Contains(f.Value, "without a password") || !strings.Contains(f.Value, "denied") {
		t.Errorf("%+v", f)
	}
}

// The shipped rules are of no use to a program in another place; one fix says
// how it gets to theirs.
func TestRulesForAProgramElsewhereNameTheirPlace(t *testing.T) {
	p := well(t, map[string]string{"opt/s/sentinel": "x", "opt/s/sentinel-mcp": "x"})
	p.Binary = func() (string, error) { return "/opt/s/sentinel", nil }
	p.Programs = &programs{do: func(string) sysexec.Result { return sysexec.Result{Exit: 1} }}
	f := find(t, Examine(t.Context(), p), "sudo_rules")
	if !strings.HasSuffix(f.Value, "; the shipped rules name /usr/local/bin/sentinel, and this is /opt/s/sentinel") ||
		!strings.HasSuffix(f.Fix, ": sudo install -o root -g root -m 755 /opt/s/sentinel /opt/s/sentinel-mcp /usr/local/bin") {
		t.Errorf("%+v", f)
	}
}
