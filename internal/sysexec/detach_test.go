// SPDX-License-Identifier: Apache-2.0

package sysexec_test

import (
	"os"
	"path/filepath"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

func TestDetachedProgramRuns(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	if err := sysexec.Detach("/usr/bin/touch", made); err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "the program", func() bool { _, err := os.Stat(made); return err == nil })
	for _, path := range []string{"touch", "/no/such/program"} {
		if err := sysexec.Detach(path, made); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
