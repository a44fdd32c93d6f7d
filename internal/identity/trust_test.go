// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// A pipe in place of the ID file must not delay the answer.
func TestAPipeInPlaceOfTheIDIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, file), 0o644); err != nil {
		t.Fatal(err)
	}
	if id, err := UUID(dir, true); id != "" || err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%q, %v", id, err)
	}
}

// A directory that others can write to is neither read nor written.
func TestADirOthersCanWriteIsNotUsed(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"writable": func(dir string) error { return os.Chmod(dir, 0o777) },
		"foreign":  func(dir string) error { return os.Chown(dir, 65534, 65534) },
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Need(t, os.Geteuid() == 0, "root, to give folders away")
			parent := t.TempDir()
			dir := filepath.Join(parent, "state")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			if id, err := UUID(dir, true); id != "" || err == nil {
				t.Errorf("%q, %v", id, err)
			}
			left, err := os.ReadDir(dir)
			if len(left) > 0 || err != nil {
				t.Errorf("something was written: %v, %v", left, err)
			}
		})
	}
}

func TestAgentIDHoldsOnlyWhatAConfiguredOneMay(t *testing.T) {
	for hostname, want := range map[string]string{
		"web1": "SENTINEL-web1", "web1.example.org": "SENTINEL-web1", "": "SENTINEL-", "a b\x1b[31m": "SENTINEL-a-b--31m",
		"büro": "SENTINEL-b-ro", strings.Repeat("a", 64): "SENTINEL-" + strings.Repeat("a", 55),
	} {
		if got := AgentID(hostname); got != want {
			t.Errorf("%q became %q, want %q", hostname, got, want)
		}
	}
}
