// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
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
