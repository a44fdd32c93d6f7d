// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"testing"
)

// A program without a path, or with one that does not begin at the root, is one too.
func TestALaunchItemHidesBehindNoRelativeName(t *testing.T) {
	valid := func(list []string) (string, error) {
		said := ""
		for _, program := range list {
			if !strings.HasPrefix(program, "/Users/") {
				said += program + ": explicit requirement satisfied\n"
			}
		}
		return said + "/Users/mira/evil: invalid signature\n", nil
	}
	for _, c := range []struct {
		what                      string
		raw                       []byte
		signed, missing, writable string // each what the finding says
	}{
		{"relative", item("", "", "Users/mira/evil").Stdout, "/Users/mira/evil is signed, but not in order", "/Users/mira/evil does not exist", "2 items"},
		{"a shell", item("", "", "sh", "-c", "true").Stdout, "2 items, signed by", "2 items", "2 items"},
		{"nowhere", item("", "", "evil").Stdout, "evil is in no folder where launchd looks", "evil is in no folder where launchd looks", "evil is in no folder where launchd looks"},
		{"elsewhere", item("", "<key>EnvironmentVariables</key><dict><key>PATH</key><string>/Users/mira</string></dict>", "sh").Stdout, "in a PATH of the property list", "in a PATH of the property list", "in a PATH of the property list"},
	} {
		p := parts(t, "m4-26")
		plantItem(t, p, "bin/sh", nil)
		plantItem(t, p, "Library/Example/agent", nil)
		plantItem(t, p, "Users/mira/Library/LaunchAgents/a.plist", c.raw)
		p.Runner = asked(valid)
		for id, want := range map[string]string{"startup.signed": c.signed, "startup.missing": c.missing, "startup.writable": c.writable} {
			f := finding(t, p, id)
			if said := f.Value + "; " + f.Reason + "; " + strings.Join(f.Evidence, "; "); !strings.Contains(said, want) {
				t.Errorf("%s, %s: %+v; want %q", c.what, id, f, want)
			}
		}
	}
}
