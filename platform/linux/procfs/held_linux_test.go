// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

// What a security module refuses is not looked at through the links of /proc instead.
func TestANameThatIsRefusedIsNotFollowedInstead(t *testing.T) {
	held := filepath.Join(t.TempDir(), "held")
	if err := os.Symlink("/proc/self/cwd", held); err != nil {
		t.Fatal(err)
	}
	_, err := StatNamed(held)
	testenv.Need(t, errors.Is(err, unix.ELOOP), "openat2(2), Linux 5.6")
	testenv.Intercept(t, unix.SYS_OPENAT2, func(int) unix.Errno { return unix.EPERM }, func() {
		if h, err := StatNamed(held); !errors.Is(err, unix.EPERM) {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

func TestCopiesInMemoryAreKnownByTheirNames(t *testing.T) {
	for program, want := range map[string]string{
		"/memfd:runc_cloned:/proc/self/exe": "runc", "/memfd:crun_cloned:/proc/self/exe": "crun",
		"/memfd:other_cloned:/proc/self/exe": "", "/memfd:runc": "", "/tmp/memfd:runc_cloned:": "", "/usr/bin/runc": "", "": "",
	} {
		if got := CloneOf(program); got != want {
			t.Errorf("%q: %q, want %q", program, got, want)
		}
	}
}
