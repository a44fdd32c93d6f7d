// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sentinel/internal/atomicfile"
	"sentinel/internal/trust"
)

const (
	currentName   = "journal.jsonl"
	lockName      = "journal.lock"
	turnPrefix    = "journal-turn-" // in the directory of the head, which holds any number of files
	rotatedPrefix = "journal-"
	rotatedSuffix = ".jsonl"
	maxNames      = 1000
)

var errLink = errors.New("it is a symbolic link")

// directory creates dir if it is missing and checks that only root, or the user
// who runs this, can change its content.
func directory(dir string, mode fs.FileMode) error {
	err := trust.InLogs.Dirs(dir)
	if errors.Is(err, fs.ErrNotExist) { // the part of the path that exists is safe
		err = makeDir(dir, mode)
	}
	if err != nil {
		return err
	}
	return checkDir(dir)
}

func makeDir(dir string, mode fs.FileMode) error {
	if err := trust.MakeDir(dir, mode); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(dir))
}

// checkDir is stricter than the directories above require: dir may not be a
// symbolic link, nor writable by others even with the sticky bit.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s: %w", dir, errLink)
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others", dir)
	}
	if err := trust.RootOrSelf.Info(dir, info); err != nil {
		return err
	}
	return trust.InLogs.Dirs(dir)
}

// openTrusted opens a file, which it creates with O_CREATE. It never blocks and
// never follows a symbolic link: anything but a regular file is an error.
func openTrusted(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s: %w", path, errLink)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, trust.ErrNotRegular)
	}
	if err == nil {
		err = trust.RootOrSelf.Info(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
