// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"sentinel/internal/sysexec"
	"sentinel/platform/linux/hostfile"
)

// maxFile caps a configuration file, in bytes. One that is larger is not read in
// part: what it says at its end may undo the rest.
const maxFile = 1 << 20

// A machine is what the checks of one run look at.
type machine struct {
	Parts
	server memo[sshServer]
	sight
	sudo memo[sudoPolicy]
}

// A memo keeps what several checks ask for. The first one to ask reads, within
// its own limit.
type memo[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (m *memo[T]) get(read func() (T, error)) (T, error) {
	m.once.Do(func() { m.value, m.err = read() })
	return m.value, m.err
}

// privileged says whether sentinel runs as root.
func (m *machine) privileged() bool { return m.EUID == 0 }

// live says whether this is the running system and not a tree of files.
func (m *machine) live() bool { return m.Root == "/" }

func (m *machine) path(name string) string { return filepath.Join(m.Root, name) }

// read returns a whole file of the system, "/etc/passwd".
func (m *machine) read(name string) ([]byte, error) { return hostfile.Read(m.path(name), maxFile) }

// text returns an attribute of one line.
func (m *machine) text(name string) (string, error) { return hostfile.Text(m.path(name)) }

// exists says whether there is something at name.
func (m *machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// names returns the sorted names in a folder, at most limit; more are an error.
func (m *machine) names(folder string, limit int) ([]string, error) {
	return hostfile.Names(m.path(folder), limit)
}

// A meta is who owns a file and what the mode lets whom do.
type meta struct {
	mode     fs.FileMode
	uid, gid int
}

// String is the mode and the owner: "-rw-r--r-- of user 0".
func (f meta) String() string { return fmt.Sprintf("%v of user %d", f.mode, f.uid) }

// stat looks at a file, through symbolic links.
func (m *machine) stat(name string) (meta, error) { return metaOf(os.Stat(m.path(name))) }

// lstat looks at a file, or at the symbolic link itself.
func (m *machine) lstat(name string) (meta, error) { return metaOf(os.Lstat(m.path(name))) }

func metaOf(info fs.FileInfo, err error) (meta, error) {
	if err != nil {
		return meta{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return meta{}, errors.New("has no owner that can be read")
	}
	return meta{mode: info.Mode(), uid: int(st.Uid), gid: int(st.Gid)}, nil
}

// errNotLive says why no program is run.
var errNotLive = errors.New("only a running system can be asked")

// command runs a program of the live system.
func (m *machine) command(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, errNotLive
	}
	return m.Runner.Run(ctx, c)
}

// at is a piece of evidence: a line of a file.
func at(file string, line int, text string) string {
	if line == 0 {
		return file + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", file, line, text)
}
