// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// id plays id(1) of a Mac.
type id struct{ groups string }

func (i id) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path != "/usr/bin/id" || c.Timeout == 0 {
		return sysexec.Result{}, errors.New("unexpected or unbounded: " + c.Path)
	}
	return sysexec.Result{Stdout: []byte(map[string]string{"-un": "ann\n", "-Gn": i.groups + "\n"}[c.Args[0]])}, nil
}

// packaged is a machine with the package of Debian, whose rules are for ann.
func packaged() map[string]string {
	return map[string]string{
		"usr/bin/sentinel": "x", "usr/bin/sudo": "x", "etc/sudoers.d/sentinel": "x", "usr/share/sentinel/sudoers": "x", "var/lib/dpkg/info/sentinel.list": "x",
		"etc/passwd": "ann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:990::/home/bob:/bin/sh\n", "etc/group": "users:x:100:\nsentinel:x:990:ann\n",
	}
}

func TestTheFixWorksWhereOneIs(t *testing.T) {
	const clone = "home/ann/sentinel/"
	for name, test := range map[string]struct {
		os, program string
		uid         int
		groups      []int
		more        map[string]string // files; "-" takes one away
		want        string
	}{
		"after the package, not a member": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"etc/group": "sentinel:x:990:\n"},
			"Add yourself to the group sentinel: sudo usermod --append --groups sentinel ann (then log out and in again)"},
		"a user that no file has": {"linux", "/usr/bin/sentinel", 7000, []int{7000}, nil,
			`Add yourself to the group sentinel: sudo usermod --append --groups sentinel "$USER" (then log out and in again)`},
		"member since this session began": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, nil, "Log out and in again: the account ann is in the group sentinel"},
		"member by the primary group":     {"linux", "/usr/bin/sentinel", 1001, []int{1001}, nil, "Log out and in again: the account bob"},
		"member, and yet not allowed":     {"linux", "/usr/bin/sentinel", 1000, []int{1000, 990}, nil, "sudo visudo -f /etc/sudoers.d/sentinel"},
		"asked by root":                   {"linux", "/usr/bin/sentinel", 1000, nil, nil, "sudo visudo -f /etc/sudoers.d/sentinel"},
		"no group": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"etc/group": "users:x:100:\n"},
			"Add yourself to the group sentinel: sudo groupadd --force --system sentinel && sudo usermod --append --groups sentinel ann (then log out and in again)"},
		"no rules": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"etc/sudoers.d/sentinel": "-"},
			"Install the rules of sudo: sudo install -o root -g root -m 0440 /usr/share/sentinel/sudoers /etc/sudoers.d/sentinel"},
		"no rules, and none shipped": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"etc/sudoers.d/sentinel": "-", "usr/share/sentinel/sudoers": "-"},
			"Install the package again, as with: sudo apt-get install --reinstall ./sentinel_*.deb"},
		"the other package": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"etc/sudoers.d/sentinel": "-", "usr/share/sentinel/sudoers": "-", "var/lib/dpkg/info/sentinel.list": "-"},
			"Install the package again, as with: sudo dnf reinstall ./sentinel-*.rpm"},
		"no sudo": {"linux", "/usr/bin/sentinel", 1000, []int{1000}, map[string]string{"usr/bin/sudo": "-"}, "There is no sudo on this machine. Become root first"},
		"a clone": {"linux", "/" + clone + "bin/sentinel", 1000, []int{1000}, map[string]string{"usr/bin/sentinel": "-", clone + "Makefile": "x", clone + "packaging/sudoers.d/sentinel": "x"},
			"Install it where only root can write: cd /home/ann/sentinel && sudo make install"},
		"an unpacked release": {"linux", "/home/ann/sentinel/sentinel", 1000, []int{1000}, map[string]string{"usr/bin/sentinel": "-", clone + "Makefile": "x", clone + "packaging/sudoers.d/sentinel": "x"},
			"Install it where only root can write: cd /home/ann/sentinel && sudo make install"},
		"a folder that a shell would take for more": {"linux", "/home/ann/a b/bin/sentinel", 1000, []int{1000}, map[string]string{"usr/bin/sentinel": "-", "home/ann/a b/Makefile": "x", "home/ann/a b/packaging/sudoers.d/sentinel": "x"},
			"Install it where only root can write: the package of a release, or from the folder of its release or source: sudo make install"},
		"a bundle beside the package": {"linux", "/home/ann/.mcpb/sentinel", 1000, []int{1000, 990}, nil, "Use the sentinel that root has installed, /usr/bin/sentinel; sentinel-mcp does so by itself, and is beside it."},
		"a Mac":                       {"darwin", "/opt/sentinel/bin/sentinel", 501, []int{20}, map[string]string{"groups": "staff"}, "Add yourself to the group sentinel: sudo dseditgroup -o edit -a ann -t user sentinel"},
		"a member on a Mac":           {"darwin", "/opt/sentinel/bin/sentinel", 501, []int{20}, map[string]string{"groups": "staff sentinel"}, "sudo visudo -f /etc/sudoers.d/sentinel"},
		"no rules on a Mac": {"darwin", "/opt/sentinel/bin/sentinel", 501, []int{20}, map[string]string{"etc/sudoers.d/sentinel": "-", "opt/sentinel/share/sentinel/sudoers": "x"},
			"Install the rules of sudo: sudo install -o root -g wheel -m 0440 /opt/sentinel/share/sentinel/sudoers /etc/sudoers.d/sentinel"},
		"Homebrew": {"darwin", "/opt/homebrew/Cellar/sentinel/0.1.0/bin/sentinel", 501, []int{20}, map[string]string{"usr/bin/sentinel": "-"},
			"Install it where only root can write: the package of a release, or from the folder of its release or source: sudo make install"},
		"/usr/local, which Homebrew took": {"darwin", "/usr/local/bin/sentinel", 501, []int{20}, map[string]string{"usr/bin/sentinel": "-", "usr/local/bin/sentinel": "x"},
			"Install it again, from the folder of its release or source: sudo make install"},
	} {
		t.Run(name, func(t *testing.T) {
			files := packaged()
			maps.Copy(files, test.more)
			maps.DeleteFunc(files, func(_, content string) bool { return content == "-" })
			groups := files["groups"]
			delete(files, "groups")
			root := testenv.Plant(t, files)
			got := Look(t.Context(), Machine{
				Root: root, OS: test.os, Programs: id{groups}, Program: test.program, UID: test.uid, Groups: test.groups,
				Trusted: func(path string) error {
					if strings.Contains(path, "/home/") || strings.Contains(path, "/homebrew/") || strings.Contains(path, "/usr/local/") {
						return errors.New("someone else could change it")
					}
					return nil
				},
			}).Fix()
			if !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatCannotBeReadIsNotMissing(t *testing.T) {
	s := Look(t.Context(), Machine{Root: t.TempDir() + "/none", OS: "linux", Program: "/usr/bin/sentinel", Trusted: func(string) error { return nil }, UID: 1000})
	if s.NoGroup || s.Member || s.Stale {
		t.Errorf("%+v", s)
	}
}

func TestRefusalOfSudoIsToldFromAFailureOfTheProgram(t *testing.T) {
	for name, test := range map[string]struct {
		result sysexec.Result
		err    error
		want   string
	}{
		"password":       {sysexec.Result{Exit: 1, Stderr: []byte("sudo: a password is required\n")}, nil, "sudo: a password is required"},
		"not allowed":    {sysexec.Result{Exit: 1, Stderr: []byte("Sorry, user ann may not run sudo on h.\n")}, nil, "Sorry, user ann may not run sudo on h."},
		"sudo-rs":        {sysexec.Result{Exit: 1, Stderr: []byte("sudo-rs: I'm sorry ann. I'm afraid I can't do that\n")}, nil, "sudo-rs: I'm sorry ann. I'm afraid I can't do that"},
		"not there":      {sysexec.Result{}, &fs.PathError{Err: fs.ErrNotExist}, "it cannot be started (file does not exist)."},
		"a document":     {sysexec.Result{Exit: 1, Stdout: []byte("{}"), Stderr: []byte("sudo: x\n")}, nil, ""},
		"a crash":        {sysexec.Result{Exit: 2, Stderr: []byte("panic\nsudo: x\n")}, nil, ""},
		"the time is up": {sysexec.Result{Exit: 1}, context.DeadlineExceeded, ""},
	} {
		if got := Refusal(test.result, test.err); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
