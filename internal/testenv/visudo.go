// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"testing"
)

// Visudo fails the test unless visudo takes the file at path as rules of sudo.
func Visudo(t testing.TB, path string) {
	t.Helper()
	words := []string{Program(t, "visudo", "sudo"), "-csf", path}
	// visudo refuses a user without an entry in passwd(5); in a namespace it is run by root.
	if _, err := user.LookupId(strconv.Itoa(os.Geteuid())); err != nil {
		words = append([]string{Program(t, "unshare", "util-linux"), "--user", "--map-root-user"}, words...)
	}
	if out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", words, err, out)
	}
}
