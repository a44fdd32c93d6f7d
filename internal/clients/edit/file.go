// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sentinel/internal/atomicfile"
	"sentinel/internal/clients"
	"sentinel/internal/fault"
	"sentinel/internal/posixacl"
)

// maxSize is the largest configuration that is edited, in bytes. Claude Code
// keeps what was typed in the same file, which grows to some MiB.
const maxSize = 32 << 20

// backupSuffix is that of the backup, the configuration before sentinel-mcp was
// entered.
const backupSuffix = ".before-sentinel"

// A file is a configuration on disk.
type file struct {
	path   string // as the client opens it
	real   string // symbolic links followed
	isLink bool   // path itself is a symbolic link
	raw    []byte
	info   fs.FileInfo // nil: not there yet
}

// open reads the configuration at path, which may not be there.
func open(u clients.User, path string) (file, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent(u, path)
	}
	if err != nil {
		return file{}, unreadable(path, err)
	}
	f := file{path: path, real: real}
	if f.info, err = os.Lstat(real); err != nil {
		return file{}, unreadable(path, err)
	}
	if asked, err := os.Lstat(path); err == nil {
		f.isLink = asked.Mode()&fs.ModeSymlink != 0
	}
	if !f.info.Mode().IsRegular() {
		return file{}, fault.New(fault.ConfigInvalid, real+" is not a regular file.").WithFix("Put the client's configuration there, or remove it.")
	}
	if err := checkOwner(u, real, f.info); err != nil {
		return file{}, err
	}
	f.raw, err = read(real)
	return f, err
}

// absent is a configuration that does not exist yet.
func absent(u clients.User, path string) (file, error) {
	if target, err := os.Readlink(path); err == nil {
		return file{}, fault.New(fault.ConfigInvalid, fmt.Sprintf("%s leads to %s, which is not there.", path, target)).
			WithFix("Make the file that the link leads to, or remove the link.")
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) && dir != "/" {
			continue
		}
		if err != nil {
			return file{}, unreadable(dir, err)
		}
		info, err := os.Stat(real)
		if err != nil {
			return file{}, unreadable(dir, err)
		}
		rest, err := filepath.Rel(dir, path)
		if err != nil {
			return file{}, unreadable(path, err)
		}
		return file{path: path, real: filepath.Join(real, rest)}, checkOwner(u, real, info)
	}
}

// checkUser refuses a user whose clients cannot be meant: root under sudo, or one
// without a home.
func checkUser(u clients.User) error {
	if u.OS != "linux" && u.OS != "darwin" {
		return fault.New(fault.Unsupported, "Where clients keep their configuration is not known on "+u.OS+".")
	}
	if u.UID == 0 && u.Env("SUDO_UID") != "" && u.Env("SUDO_UID") != "0" {
		return fault.New(fault.PermissionDenied, "The configuration of a client belongs to the person who uses it, and this run is root's.").
			WithFix("Run the same command as yourself, without sudo.")
	}
	if !filepath.IsAbs(u.Home) {
		return fault.New(fault.Unavailable, "There is no home folder: HOME is not set to an absolute path.").
			WithFix("Run it in a session of the person who uses the client, or set HOME.")
	}
	info, err := os.Stat(u.Home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.Unavailable, "The home folder "+u.Home+" does not exist.").WithFix("Set HOME to the folder of the person who uses the client.")
	case err != nil:
		return fault.Wrap(fault.Unavailable, "The home folder cannot be read", err)
	}
	return checkOwner(u, u.Home, info)
}

// checkOwner refuses a file of another user, who could read what is written, or
// would lose the file.
func checkOwner(u clients.User, path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) == u.UID {
		return nil
	}
	e := fault.New(fault.PermissionDenied, path+" belongs to another user.")
	if ok {
		e = fault.New(fault.PermissionDenied, fmt.Sprintf("%s belongs to user %d, and this run is user %d's.", path, stat.Uid, u.UID))
	}
	return e.WithFix("Run the same command as the person who uses the client.")
}

func unreadable(path string, err error) error {
	code := fault.Unavailable
	if errors.Is(err, fs.ErrPermission) {
		code = fault.PermissionDenied
	}
	return fault.Wrap(code, path+" cannot be read", err).WithFix("See who may read it with: ls -l '" + path + "'")
}

// read reads a file of at most maxSize. It does not wait for one that has become a
// pipe meanwhile.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(raw) > maxSize {
		return nil, fault.New(fault.ConfigInvalid, fmt.Sprintf("%s is larger than %d MiB.", path, maxSize>>20)).WithFix("Let the client shorten it, or add the server by hand.")
	}
	return raw, nil
}

// checkWritable refuses a read-only file, which replacing would ignore.
func (f file) checkWritable() error {
	if f.info != nil && f.info.Mode().Perm()&0o200 == 0 {
		return fault.New(fault.PermissionDenied, f.real+" is read-only.").WithFix("Unless another program generates it, make it writable with: chmod u+w '" + f.real + "'")
	}
	return nil
}

// replace replaces the file, whole or not at all, and keeps its mode, group and
// access control list.
func (f file) replace(raw []byte) error {
	mode, group, list := fs.FileMode(0o600), -1, []byte(nil)
	if f.info != nil {
		mode = f.info.Mode().Perm()
		if stat, ok := f.info.Sys().(*syscall.Stat_t); ok {
			group = int(stat.Gid)
		}
		var err error
		if list, err = posixacl.Read(f.real); err != nil {
			mode &^= 0o070 // without the list, which cannot be kept, these bits would grant more
		}
	}
	return write(f.real, raw, mode, group, list)
}

func write(path string, raw []byte, mode fs.FileMode, group int, list []byte) error {
	err := atomicfile.WriteFunc(path, raw, func(f *os.File) error {
		if err := errors.Join(f.Chown(-1, group), posixacl.Write(f.Name(), list)); err != nil {
			mode &^= 0o070 // for another group, or without the list, these bits would grant more
		}
		return f.Chmod(mode)
	})
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fault.Wrap(fault.PermissionDenied, path+" cannot be written", err).WithFix("Make its folder writable with: chmod u+w '" + filepath.Dir(path) + "'")
	}
	return fault.Wrap(fault.Unavailable, path+" cannot be written", err).WithFix("See whether the disk is full with: df -h '" + filepath.Dir(path) + "'")
}

// Waiting for another run of this program.
const (
	lockTimeout = 5 * time.Second
	lockPause   = 20 * time.Millisecond
)

// lock keeps a second run out of a directory. It locks the directory itself
// (flock(2)), which leaves no file behind; the lock ends with the process.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil //nolint:errcheck // only locked
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close() //nolint:errcheck // only locked
			return func() {}, nil
		}
		select {
		case <-ctx.Done():
			f.Close() //nolint:errcheck // only locked
			return nil, fault.New(fault.Timeout, "Another program has locked "+dir+".").WithFix("Nothing was changed. Try again in a moment.")
		case <-time.After(lockPause):
		}
	}
}
