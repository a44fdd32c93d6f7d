// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"slices"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// Taking the rules away that installing has made would stop the server.
func TestOwnRulesAreNotHeldAgainstAMac(t *testing.T) {
	for _, c := range []struct {
		name, program string
		mode          os.FileMode // of its directory
		want          audit.Status
	}{
		{"Apple silicon", "/usr/local/bin/sentinel", 0o755, audit.Pass},
		{"Intel, or the package", "/opt/sentinel/bin/sentinel", 0o755, audit.Pass},
		{"a prefix of the owner's", "/opt/tools/bin/sentinel", 0o755, audit.Pass},
		{"Homebrew's folder", "/usr/local/bin/sentinel", 0o775, audit.Warn},
	} {
		root := testenv.Plant(t, map[string]string{
			"private/etc/sudoers": "root ALL = (ALL) ALL\n%sentinel ALL=(root) NOPASSWD: " + c.program + " --request get_system_health, \\\n " + c.program + " --request block_ip_address\n",
			c.program[1:]:         "x",
		})
		if err := os.Chmod(root+c.program[:len(c.program)-len("/sentinel")], c.mode); err != nil {
			t.Fatal(err)
		}
		f := sudoNoPassword(t.Context(), &machine{Parts: Parts{Root: root, Owner: os.Geteuid()}})
		if f.Status != c.want {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestEachScopeOfDefaultsHasItsOwnTimestamps(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // the lines that are named
	}{
		{"Defaults env_reset\n", nil},
		{"Defaults timestamp_timeout=-1\nDefaults:ghost timestamp_timeout=0\n", []string{"/etc/sudoers:1: Defaults timestamp_timeout=-1"}},
		{"Defaults:mira timestamp_timeout=60\nDefaults timestamp_timeout = 0\n", []string{"/etc/sudoers:1: Defaults:mira timestamp_timeout=60"}},
		{"Defaults timestamp_timeout=-1\nDefaults timestamp_timeout=5\n", nil},
		{"Defaults !timestamp_timeout\n", nil},
		{"Defaults timestamp_timeout=nan\n", []string{"/etc/sudoers:1: Defaults timestamp_timeout=nan"}},
		{"Defaults !tty_tickets, timestamp_type=global\nDefaults@host tty_tickets, timestamp_type=tty\n", []string{"/etc/sudoers:1: Defaults !tty_tickets", "/etc/sudoers:1: Defaults timestamp_type=global"}},
	} {
		root := testenv.Plant(t, map[string]string{"private/etc/sudoers": c.text})
		m := &machine{Parts: Parts{Root: root, Owner: os.Geteuid()}}
		p, err := m.sudoPolicy()
		if got := p.longTimestamps(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
		if f := sudoTimestamp(t.Context(), m); f.Status != map[bool]audit.Status{true: audit.Pass, false: audit.Warn}[c.want == nil] {
			t.Errorf("%q: %+v", c.text, f)
		}
	}
}
