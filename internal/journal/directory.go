// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sentinel/internal/fault"
	"sentinel/internal/lockfile"
	"sentinel/internal/trust"
)

const (
	currentName = "journal.jsonl"
	lockName    = "journal.lock"
	oldPrefix   = "journal-"
	oldSuffix   = ".jsonl"
	maxNames    = 1000 // in the directory
)

var errLink = errors.New("it is a symbolic link")

// directory makes dir if it is missing and checks that nobody but root (or who runs
// this) can change what is in it.
func directory(dir string, mode fs.FileMode) error {
	err := trust.InLogs.Dirs(dir)
	if errors.Is(err, fs.ErrNotExist) { // what is there of the path was found safe
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
	return syncDir(filepath.Dir(dir))
}

// checkDirectory is stricter than the directories above need to be: this one is no
// link, and others cannot write to it even under a sticky bit.
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

// openTrusted opens a file that is there or, with O_CREATE, makes it. It never
// waits and never follows a link: what stands in the file's place is an error.
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

// mountFix names the file systems of two directories by a program that the system
// has.
func mountFix(system, dir, headDir string) string {
	if system == "darwin" {
		return fmt.Sprintf("Mount the file systems of %s and %s for writing: df -h %[1]s %[2]s", dir, headDir)
	}
	return fmt.Sprintf("Mount the file systems of %s and %s for writing: findmnt -T %[1]s -T %[2]s", dir, headDir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A segment is one file of the journal.
type segment struct {
	path  string
	first uint64   // sequence number of its first record, by its name; 0 in the current file
	file  *os.File // nil until it is opened
	size  int64    // as found when it was opened
}

func (s *segment) open(flag int) error {
	if s.file != nil {
		return nil
	}
	f, err := openTrusted(s.path, flag)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.file, s.size = f, info.Size()
	return nil
}

func (s *segment) close() {
	if s.file != nil {
		_ = s.file.Close() //nolint:errcheck // what was written was synced
		s.file = nil
	}
}

func (j *Journal) oldPath(first uint64) string {
	return filepath.Join(j.dir, fmt.Sprintf("%s%012d%s", oldPrefix, first, oldSuffix))
}

// oldSegments lists the files that were set aside, oldest first, unopened.
func (j *Journal) oldSegments() ([]*segment, error) {
	d, err := os.Open(j.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read from
	names, err := d.Readdirnames(maxNames)
	if len(names) == maxNames {
		return nil, fmt.Errorf("%s holds too many files to be the journal's", j.dir)
	}
	if err != nil && len(names) > 0 {
		return nil, err
	}
	var old []*segment
	for _, name := range names {
		digits, isOld := strings.CutPrefix(strings.TrimSuffix(name, oldSuffix), oldPrefix)
		first, err := strconv.ParseUint(digits, 10, 64)
		if isOld && err == nil && filepath.Base(j.oldPath(first)) == name {
			old = append(old, &segment{path: filepath.Join(j.dir, name), first: first})
		}
	}
	slices.SortFunc(old, func(a, b *segment) int { return cmp.Compare(a.first, b.first) })
	return old, nil
}

// failed turns what is wrong with the journal into an answer. The cause stays
// reachable: a caller may act on a full disk (ENOSPC).
func (j *Journal) failed(err error) error {
	var known *fault.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := fault.Wrap(fault.JournalFailed, "The journal cannot be used", err)
	var busy lockfile.BusyError
	switch {
	case errors.As(err, &busy):
		return e.WithFix(busy.Fix())
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return e.WithFix(fmt.Sprintf("Make room on the file systems of %s and %s: df -h %[1]s %[2]s", j.dir, j.headDir))
	case errors.Is(err, syscall.EROFS):
		return e.WithFix(mountFix(runtime.GOOS, j.dir, j.headDir))
	case errors.Is(err, fs.ErrPermission):
		return e.WithFix("Run sentinel as root.")
	default:
		return e.WithFix(fmt.Sprintf("Move aside what stands in the way, then give the journal to root: chown root %s %s; chmod go-w %[1]s %[2]s", j.dir, j.headDir))
	}
}
