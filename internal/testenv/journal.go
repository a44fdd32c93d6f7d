// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Journal writes a file of the journal with entries in the export format of systemd, as journald would.
func Journal(t testing.TB, file, export string) {
	t.Helper()
	const writer = "/usr/lib/systemd/systemd-journal-remote"
	_, err := os.Stat(writer)
	Need(t, err == nil, "systemd-journal-remote writes the journal")
	_, err = os.Stat("/usr/bin/journalctl")
	Need(t, err == nil, "journalctl reads it")
	cmd := exec.Command(writer, "--output="+file, "-")
	cmd.Stdin = strings.NewReader(export)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
