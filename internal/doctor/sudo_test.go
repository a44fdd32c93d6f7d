// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"os"
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
			if name := map[bool]string{true: `"$USER"`, false: "ann"}[strings.HasPrefix(test.user.Name, "-")]; f.Status == Warning && !strings.Contains(f.Fix, "sudo usermod --append --groups sentinel "+name+" ") {
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
	if f := find(t, r, "sudo_rules"); f.Status != Warning || !slices.Equal(f.Tools, []string{"terminate_process"}) || !strings.Contains(f.Value, "1 of 2 tools (SENTINEL_WRITE) without a password") || !strings.Contains(f.Value, "denied") {
		t.Errorf("%+v", f)
	}
}

// Rules for a program in another place are of no use, and installing again does not change them.
func TestRulesForAProgramElsewhereAreToBeCorrected(t *testing.T) {
	p := well(t, map[string]string{"opt/s/sentinel": "x", "opt/s/sentinel-mcp": "x"})
	p.Binary = func() (string, error) { return "/opt/s/sentinel", nil }
	p.Programs = &programs{do: func(line string) sysexec.Result {
		if strings.HasSuffix(line, " -l") {
			return sysexec.Result{Stdout: []byte(shipped)}
		}
		return sysexec.Result{Exit: 1}
	}}
	f := find(t, Examine(t.Context(), p), "sudo_rules")
	if !strings.HasSuffix(f.Value, "; the rules name /usr/local/bin/sentinel") || f.Fix != "Name the program that is used in place of /usr/local/bin/sentinel: sudo visudo -f /etc/sudoers.d/sentinel" {
		t.Errorf("%+v", f)
	}
}

// home says what of a user's own home is not root's.
func home(path string) error {
	if strings.Contains(path, "/home/ann") {
		return errors.New("/home/ann belongs to user 1000; it must belong to root")
	}
	return nil
}

// A copy of the source that its user has built needs no root, and its home is no defect.
func TestACloneIsNoReasonToWarn(t *testing.T) {
	const clone = "home/ann/src/sentinel/"
	p := well(t, map[string]string{
		clone + "bin/sentinel": "x", clone + "bin/sentinel-mcp": "x", clone + "Makefile": "x", clone + "packaging/sudoers.d/sentinel": "x",
		"home/ann/.claude.json": `{"mcpServers":{"s":{"command":"/` + clone + `bin/sentinel-mcp"}}}`,
	})
	for _, path := range []string{own, "/etc/sudoers.d/sentinel", "/etc/systemd"} {
		must(t, os.RemoveAll(p.at(path)))
	}
	p.Binary = func() (string, error) { return "/" + clone + "bin/sentinel", nil }
	p.Trusted, p.Owned, p.Restorable = home, func(string) error { return nil }, func() bool { return false }
	r := Examine(t.Context(), p)
	for _, f := range r.Checks {
		if f.Status != OK {
			t.Errorf("%+v", f)
		}
	}
	if f := find(t, r, "sudo_rules"); !strings.HasSuffix(f.Value, "To have all: Install it where only root can write: cd /home/ann/src/sentinel && sudo make install") {
		t.Errorf("%+v", f)
	}
	p.Owned = home
	if f := find(t, Examine(t.Context(), p), "binary"); f.Status != Problem {
		t.Errorf("what a third user can change: %+v", f)
	}
}

// sentinel-mcp runs the sentinel that root has installed, so that is what the rules have to name.
func TestACloneBesideAnInstallationUsesItsRules(t *testing.T) {
	p := well(t, map[string]string{"home/ann/bin/sentinel": "x", "home/ann/bin/sentinel-mcp": "x"})
	p.Binary = func() (string, error) { return "/home/ann/bin/sentinel", nil }
	p.Trusted, p.Owned = home, func(string) error { return nil }
	asked := &programs{do: func(string) sysexec.Result { return sysexec.Result{Stdout: []byte(shipped)} }}
	p.Programs = asked
	if f := find(t, Examine(t.Context(), p), "sudo_rules"); f.Status != OK || !slices.Contains(asked.seen, "/usr/bin/sudo -n -l "+own+" --request terminate_process") {
		t.Errorf("%+v, asked %q", f, asked.seen)
	}
}
