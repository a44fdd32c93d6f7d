// SPDX-License-Identifier: Apache-2.0

// Package trust tells whether a file can be relied on: whether anyone but its
// rightful owner could have written it or put another in its place.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sentinel/internal/privilege"
)

// maxLinks is how many symbolic links one path may lead through, as in the
// kernel (path_resolution(7)).
const maxLinks = 40

// A Rule says who may own a file and the directories above it.
type Rule int

// The rules.
const (
	// RootOnly is for what runs as root on behalf of another user: root alone
	// decides what it is.
	RootOnly Rule = iota
	// RootOrSelf is for what serves the user who chose it. It accepts that user
	// as an owner, and a directory that everyone may write when root owns it and it has the
	// sticky bit, such as /tmp: the kernel lets nobody rename or remove what
	// belongs to somebody else there.
	RootOrSelf
	// InLogs is RootOrSelf for what lies below /var/log, which Ubuntu lets the
	// group of its syslog write. That service could move a directory there away, not what is in
	// it; who keeps a record there must notice that.
	InLogs
)

// logs is the directory that InLogs is about, by its name on Linux and on macOS.
var logs = []string{"/var/log", "/private/var/log"}

// File checks the file at path and every directory that leads to it.
func (r Rule) File(path string) error {
	if err := r.Dirs(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return r.Info(path, info)
}

// Directories checks every directory that leads to path, not the file itself. It
// follows symbolic links one by one, because whoever can replace one of them decides
// where the path ends.
func (r Rule) Dirs(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest, links := "/", parts(absolute), 0
	for len(rest) > 0 {
		if err := r.directory(at); err != nil {
			return err
		}
		next := filepath.Join(at, rest[0])
		info, err := os.Lstat(next)
		if err != nil {
			return err
		}
		rest = rest[1:]
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s leads through too many symbolic links", path)
		}
		if at, rest, err = r.follow(at, next, info, rest); err != nil {
			return err
		}
	}
	return nil
}

// follow returns where the symbolic link at path, which lies in the directory at,
// goes on. Its owner counts: in a sticky directory the owner can replace it.
func (r Rule) follow(at, path string, info fs.FileInfo, rest []string) (string, []string, error) {
	if err := r.owner(path, info); err != nil {
		return "", nil, err
	}
	target, err := os.Readlink(path)
	if err != nil {
		return "", nil, err
	}
	if filepath.IsAbs(target) {
		at = "/"
	}
	return at, append(parts(target), rest...), nil
}

// parts splits a path into its names. ".." is kept, to be taken after links.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' })
}

func (r Rule) directory(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return r.Info(path, info)
}

// Info checks one file or directory. path is for the message.
func (r Rule) Info(path string, info fs.FileInfo) error {
	if err := r.owner(path, info); err != nil {
		return err
	}
	writable := info.Mode().Perm()&0o022 != 0
	sticky := r != RootOnly && info.IsDir() && info.Mode()&fs.ModeSticky != 0 && owner(info) == 0
	shared := r == InLogs && slices.Contains(logs, path) && info.Mode().Perm()&0o002 == 0
	if writable && !sticky && !shared {
		return fmt.Errorf("%s can be written by others%s", path, advice("chmod go-w", path, info))
	}
	return nil
}

func (r Rule) owner(path string, info fs.FileInfo) error {
	switch uid := owner(info); {
	case uid < 0:
		return errors.New(path + " has no owner that can be read")
	case uid == 0, r != RootOnly && uid == privilege.EffectiveUID():
		return nil
	default:
		return fmt.Errorf("%s belongs to user %d; it must belong to root%s", path, uid, advice("chown root", path, info))
	}
}

// advice names the command that mends a file. It names none for a directory,
// where others have their files too: "chmod go-w /tmp" would break the machine; nor for a
// symbolic link, through which the command would reach another file.
func advice(command, path string, info fs.FileInfo) string {
	if !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", command, path)
}

// owner returns the user id that info belongs to, or -1.
func owner(info fs.FileInfo) int {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(stat.Uid)
}
