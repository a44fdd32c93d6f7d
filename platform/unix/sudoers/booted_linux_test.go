// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A disk is the files of this machine.
type disk struct{}

func (disk) Read(name string) ([]byte, error) { return os.ReadFile(name) }

func (disk) Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func output(t *testing.T, command ...string) string {
	t.Helper()
	r, err := (sysexec.Host{}).Run(t.Context(), sysexec.Command{Path: command[0], Args: command[1:]})
	if err != nil || r.Exit != 0 {
		t.Fatalf("%v: %v, status %d: %s%s", command, err, r.Exit, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}

// What the rules give without a password is what sudo says of them.
func TestRulesAreReadAsSudoReadsThem(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	output(t, "/usr/sbin/useradd", "mira")
	const file = "/etc/sudoers.d/test"
	more(t)
	for _, policy := range []string{
		"mira ALL=(ALL:ALL) NOPASSWD: ALL\n",
		"mira ALL = NOPASSWD: /bin/a -x, PASSWD: /bin/b, /bin/c\n",
		"mira ALL = (root) NOPASSWD:SETENV: /bin/a, (www-data) /bin/b\n",
		"Cmnd_Alias A = /bin/a, B : B = /bin/b\nmira ALL=NOPASSWD: A\n",
		"mira ALL=NOPASSWD: \\\n  /bin/a, \\\n  /bin/b # not /bin/c\n",
		"mira ALL=NOPASSWD: /bin/a : ALL = /bin/b\n",
		"# mira ALL=NOPASSWD: ALL\n",
		"mira ALL=NOPASSWD: /bin/a x\\:y\\,z, /bin/b \"c d\"\n",
		"mira ALL=NOPASSWD: sha224:0GomF8mNN3wlDt1HD9XldjJ3SNgpFdbjO1+NsQ== /bin/a\n",
		"mira ALL=(root) CWD=/tmp TIMEOUT=5m NOPASSWD: /bin/a\n",
		"User_Alias U = mira, root\nHost_Alias H = ALL\nRunas_Alias R = root\nU H=(R) NOPASSWD: ALL, !/bin/su\n",
		"root ALL=(ALL:ALL) ALL # keep \\\nmira ALL=(ALL:ALL) NOPASSWD: ALL\n",
		"root ALL=(ALL) /bin/a \"# keep \\\nmira ALL=NOPASSWD: ALL\n",
		"Cmnd_Alias A = /bin/a # x \\\nmira ALL=NOPASSWD: A\n",
		"Defaults badpass_message=\"a # b \\\nc\"\nmira ALL=NOPASSWD: ALL\n",
		"root ALL=(ALL) /bin/a \\\\# \\\nmira ALL=NOPASSWD: ALL\n",
		"root ALL=(ALL) ALL #-x \\\nmira ALL=NOPASSWD: ALL\n",
		"mira ALL=/bin/a \"x, NOPASSWD: ALL\n",
		"mira ALL=/bin/a (x, NOPASSWD: ALL\n",
		"Cmnd_Alias A = ALL\nmira ALL=NOPASSWD: A : h2 = /bin/b\n",
		"@includedir /etc/more\n",
		"@includedir /etc/more # drop-ins \\\n",
	} {
		if err := os.WriteFile(file, []byte(policy), 0o440); err != nil {
			t.Fatal(err)
		}
		output(t, "/usr/sbin/visudo", "-cf", "/etc/sudoers")
		p, err := Read(disk{}, "/etc/sudoers")
		if err != nil || p.Hole != nil {
			t.Errorf("%q: %v, hole %v", policy, err, p.Hole)
		}
		var got []string
		for _, g := range p.Grants {
			if g.NoPassword {
				got = append(got, g.Command)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(listed(output(t, "/usr/bin/sudo", "-ll", "-U", "mira")), got); diff != "" {
			t.Errorf("%q: sudo and we differ: %s", policy, diff)
		}
	}
}

// more makes a directory of rules, of which sudo takes one.
func more(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll("/etc/more", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two.off", "three~"} {
		if err := os.WriteFile("/etc/more/"+name, []byte("mira ALL=NOPASSWD: /bin/"+name+"\n"), 0o440); err != nil {
			t.Fatal(err)
		}
	}
}

// listed returns the commands that sudo -ll shows without authentication.
func listed(text string) []string {
	var list []string
	free, commands := false, false
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(word, "Sudoers entry"):
			free, commands = false, false
		case strings.HasPrefix(word, "Options:"):
			free = strings.Contains(word, "!authenticate")
		case word == "Commands:":
			commands = true
		case commands && free && word != "" && !strings.HasPrefix(word, "!"):
			if strings.HasPrefix(word, "sha224:") {
				_, word, _ = strings.Cut(word, " ")
			}
			list = append(list, word)
		}
	}
	slices.Sort(list)
	return list
}
