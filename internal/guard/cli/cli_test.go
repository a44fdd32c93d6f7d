// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// run returns the exit status and what was printed.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = Run(t.Context(), "linux", args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

func TestTheCommandLineSaysWhatIsWrongWithIt(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		"help":               {[]string{"--help"}, 0, "Usage:", ""},
		"version":            {[]string{"--version"}, 0, "sentinel-guard ", ""},
		"an unknown command": {[]string{"nothing"}, StatusUsage, "", `unknown command "nothing"`},
		"an unknown flag":    {[]string{"--nothing"}, StatusUsage, "", "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := run(t, test.args...)
			if status != test.status || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("%v: status %d\n%s\n%s", test.args, status, stdout, stderr)
			}
		})
	}
}
