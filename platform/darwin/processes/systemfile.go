// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// applePlaces are where macOS has its own programs. System Integrity Protection
// lets nobody else put any there; /usr/local is not below them.
var applePlaces = []string{"/System/", "/sbin/", "/bin/", "/usr/libexec/", "/usr/sbin/", "/usr/bin/"}

// lastAccount is the highest user ID of accounts of the system; people have those
// from 501 on.
const lastAccount = 500

// SystemFile implements [processes.Pinned]. It goes by what the process shows: one that
// does not show the path of its program counts when it runs as an account of the system.
func (h *held) SystemFile() (bool, error) {
	p, err := h.look(context.Background())
	if err != nil {
		return false, err
	}
	if !filepath.IsAbs(p.Comm) {
		return p.UID <= lastAccount, nil
	}
	return h.from.systemFile(filepath.Clean(p.Comm))
}

// systemFile says whether a program is Apple's: where that puts its own, of root,
// and not to be written to by others.
func (t *Terminator) systemFile(path string) (bool, error) {
	if !inApplePlace(path) {
		return false, nil
	}
	info, err := os.Stat(filepath.Join(t.mac.Root, path))
	if err != nil {
		return false, err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	return known && owner.Uid == 0 && info.Mode().Perm()&0o022 == 0, nil
}

func inApplePlace(path string) bool {
	for _, place := range applePlaces {
		if strings.HasPrefix(path, place) {
			return true
		}
	}
	return false
}
