// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// nameBytes is how much of the hash of a host's name is in the name of its socket.
const nameBytes = 4

// maxSocketDir is how long the path of the directory may be, in bytes: an address of a Unix socket
// holds 104 on macOS (unix(4)), and there follow a slash, the name of the host, 40 digits of ssh, and
// 17 letters while it makes the socket.
const maxSocketDir = 104 - 1 - 1 - 2*nameBytes - 40 - 17

// socketDir returns a directory for the sockets of open connections that nobody else can enter, and
// makes it; "" where there can be none: whoever can open such a socket is logged in on the other
// machine.
func socketDir(environ []string, uid int) string {
	dir := filepath.Join("/tmp", "sentinel-ssh-"+strconv.Itoa(uid))
	if own := lookup(environ, "XDG_RUNTIME_DIR"); filepath.IsAbs(own) && private(own, uid) {
		dir = filepath.Join(own, "sentinel-ssh")
	}
	if len(dir) > maxSocketDir {
		return ""
	}
	os.Mkdir(dir, 0o700) //nolint:errcheck // what is there is looked at
	if !private(dir, uid) {
		return ""
	}
	return dir
}

// private reports whether a path is a directory of the user that nobody else can look into, and no
// link to one.
func private(path string, uid int) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == uid
}
