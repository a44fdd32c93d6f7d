// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"os"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// granted is the Runner of a Mac where these programs have full-disk access.
type granted []string

func (g granted) Run(context.Context, sysexec.Command) (sysexec.Result, error) {
	return sysexec.Result{Stdout: []byte(`[{"client":"` + strings.Join(g, `"},{"client":"`) + `"}]`)}, nil
}

// The doctor advises to give it to the server.
func TestOwnServerMayHaveFullDiskAccess(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"opt/sentinel/bin/sentinel-mcp": "x", "usr/local/bin/sentinel-mcp": "x"})
	if err := os.Chmod(root+"/usr/local/bin", 0o777); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]audit.Status{
		"/opt/sentinel/bin/sentinel-mcp": audit.Pass, "com.apple.Terminal": audit.Pass,
		"/usr/local/bin/sentinel-mcp": audit.Warn, "/Users/mira/sentinel-mcp": audit.Warn, "com.example.backup": audit.Warn,
	} {
		m := &machine{Parts: Parts{Root: root, Owner: os.Geteuid(), Runner: granted{program}}}
		if f := fullDisk(t.Context(), m); f.Status != want {
			t.Errorf("%s: %+v", program, f)
		}
	}
}
