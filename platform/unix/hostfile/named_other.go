// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package hostfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func openNamed(path string, flags int) (fd int, err error) {
	return unix.Open(path, flags|unix.O_CLOEXEC, 0)
}

func look(path string, follow bool) (fs.FileInfo, error) {
	if follow {
		return os.Stat(path)
	}
	return os.Lstat(path)
}
