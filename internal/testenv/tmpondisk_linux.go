// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TmpOnDisk gives an isolated test a /tmp that is in no memory: it is /srv/tmp of a file system at /srv, as far as
// programs tell. There are folders of everybody's, /tmp/NAME and /srv/b.
func TmpOnDisk(t testing.TB, name string) {
	t.Helper()
	RequireIsolated(t)
	if err := errors.Join(
		unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"),
		os.MkdirAll("/mnt/lower", 0o755), os.Mkdir("/mnt/upper", 0o755), os.Mkdir("/mnt/work", 0o755),
		unix.Mount("overlay", "/srv", "overlay", 0, "lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work"),
		os.MkdirAll("/srv/tmp/"+name, 0o755), os.Chmod("/srv/tmp/"+name, 0o777), os.Mkdir("/srv/b", 0o755), os.Chmod("/srv/b", 0o777),
		unix.Mount("/srv/tmp", "/tmp", "", unix.MS_BIND, ""),
	); err != nil {
		t.Fatal(err)
	}
}
