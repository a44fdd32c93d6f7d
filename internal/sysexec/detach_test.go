// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDetachedProgramRuns(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	if err := Detach("/usr/bin/touch", made); err != nil {
		t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		if _, err := os.Stat(made); err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal("it did not run")
		}
	}
	for _, path := range []string{"touch", "/no/such/program"} {
		if err := Detach(path, made); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
