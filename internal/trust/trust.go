// SPDX-License-Identifier: Apache-2.0

// Package trust determines whether a file can be trusted: whether anyone but its owner could have
// written or replaced it.
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
	// RootOnly is for programs and settings that root uses on behalf of another user: only root may
	// own them.
	RootOnly Rule = iota
	// RootOrSelf is for files chosen by the user who runs the program. It accepts that user as an
	// owner, and a world-writable directory of root's with the sticky bit, such as /tmp, where the
	// kernel lets nobody rename or remove another user's files.
	RootOrSelf
	// InLogs is RootOrSelf for paths below /var/log, which the group syslog can
	// write on Ubuntu. That service could rename a directory there, but not change what is in it;
	// whoever keeps a record there must notice that.
	InLogs
)

// User returns the rule of files that root or the user uid may own: RootOrSelf on behalf of a user
// who called sudo.
func User(uid int) Rule { return firstUser + Rule(uid) }

// firstUser is where the rules of User begin.
const firstUser Rule = 1 << 8

// self is the user besides root who may own a file.
func (r Rule) self() int {
	if r >= firstUser {
		return int(r - firstUser)
	}
	return privilege.EffectiveUID()
}

// logs is the directory of InLogs, by its name on Linux and on macOS.
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

// Dirs checks every directory that leads to path, not the file itself. It follows
// symbolic links one by one, because whoever can replace one of them decides where the
// path ends.
func (r Rule) Dirs(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest, links := "/", splitPath(absolute), 0
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

// follow returns where the symbolic link at path, in the directory at, leads. It
// checks the link's owner, who can replace it even in a sticky directory.
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
	return at, append(splitPath(target), rest...), nil
}

// splitPath splits a path into its names. It keeps "..", which counts after links
// are followed.
func splitPath(path string) []string {
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
		return &Untrusted{path, "can be written by others" + fixCommand("chmod go-w", path, info)}
	}
	return nil
}

// An Untrusted says which file or directory cannot be trusted.
type Untrusted struct {
	Path string
	what string // a predicate
}

// Error names the file, and what is wrong with it.
func (u *Untrusted) Error() string { return u.Path + " " + u.what }

// About words an error for who is told the path anyway: what is wrong with that very file, and not
// with one above it or behind a link, begins with "it".
func About(path string, err error) string {
	if u, ok := errors.AsType[*Untrusted](err); ok && u.Path == path {
		return "it " + u.what
	}
	return err.Error()
}

func (r Rule) owner(path string, info fs.FileInfo) error {
	switch uid := owner(info); {
	case uid < 0:
		return errors.New(path + " has no owner that can be read")
	case uid == 0, r != RootOnly && uid == r.self():
		return nil
	default:
		must, command := "root", "chown root"
		if r != RootOnly && r.self() != 0 {
			must, command = "root or to you", fmt.Sprintf("chown %d", r.self())
		}
		return &Untrusted{path, fmt.Sprintf("belongs to user %d; it must belong to %s%s", uid, must, fixCommand(command, path, info))}
	}
}

// fixCommand names the command that repairs a file, in brackets. It names none
// for a directory, in which others may have files: "chmod go-w /tmp" would break the machine; nor
// for a symbolic link, because the command would change the file it leads to.
func fixCommand(command, path string, info fs.FileInfo) string {
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
