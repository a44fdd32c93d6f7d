// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// inside is [testenv.Isolated] for tests of a sentinel that was built outside.
func inside(t *testing.T) bool {
	t.Helper()
	if !testenv.Isolated(t, builtVar+"="+filepath.Dir(sentinelBinary(t))) {
		return false
	}
	// An empty /var/lib is for the id that sentinel makes when root runs it. A limit in
	// the cgroup of the tests would stand for the memory of the machine.
	for _, dir := range []string{"/var/lib", "/sys/fs/cgroup"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil && !errors.Is(err, unix.ENOENT) {
			t.Fatalf("mount over %s: %v", dir, err)
		}
	}
	return true
}
