// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sentinel/internal/processes"
)

// applePlaces are the directories of macOS's own programs. System Integrity Protection lets nobody
// else add programs there; /usr/local is not below them.
var applePlaces = []string{"/System/", "/sbin/", "/bin/", "/usr/libexec/", "/usr/sbin/", "/usr/bin/"}

// lastAccount is the highest user ID of accounts of the system; people have those
// from 501 on.
const lastAccount = 500

// ProgramFile implements [processes.Pinned]. It goes by what the process shows: one that
// does not show the path of its program counts when it runs as an account of the system.
func (h *held) ProgramFile() (processes.ProgramFile, error) {
	p, err := h.look(context.Background())
	if err != nil {
		return processes.ProgramFile{}, err
	}
	if !filepath.IsAbs(p.Comm) {
		return processes.ProgramFile{System: p.UID <= lastAccount}, nil
	}
	system, err := h.from.systemFile(filepath.Clean(p.Comm))
	if p.UID > lastAccount && errors.Is(err, fs.ErrNotExist) { // people can show any path
		err = nil
	}
	return processes.ProgramFile{System: system}, err
}

// systemFile reports whether a program is Apple's: in one of Apple's directories, owned by root,
// and not writable by others.
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
