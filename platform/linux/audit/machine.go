// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/listeners"
)

// maxFile bounds a configuration file, in bytes. A longer one is not read at all:
// its end may undo what its beginning says.
const maxFile = 1 << 20

// A machine is what the checks of one run look at.
type machine struct {
	Parts

	// What several checks look at is read once.
	mountTable audit.Memo[[]*mountinfo.Info]
	localUsers audit.Memo[localUsers]
	systemWalk audit.Memo[*walkResult]
	restWalk   audit.Memo[*walkResult]
	procFS     audit.Memo[procfs.FS]
	processes  audit.Memo[processTable]
	listeners  audit.Memo[listeners.Sockets]
	mcpServers audit.Memo[mcpServers]
	ssh        audit.Memo[sshServers]
	sudoPolicy audit.Memo[sudoPolicy]
}

// proc is one for all checks: what it waits for the memory of processes is bounded for all together.
func (m *machine) proc() procfs.FS {
	fs, _ := m.procFS.Get(func() (procfs.FS, error) { return procfs.New(m.Root), nil }) //nolint:errcheck // never fails
	return fs
}

// privileged says whether sentinel runs as root.
func (m *machine) privileged() bool { return m.EUID == 0 }

// live says whether this is the running system, not a tree of files.
func (m *machine) live() bool { return m.Root == "/" }

func (m *machine) path(name string) string { return filepath.Join(m.Root, name) }

// now is what ages are counted to.
func (m *machine) now() time.Time {
	if m.Now.IsZero() {
		return time.Now()
	}
	return m.Now
}

// read returns a whole file of the system, "/etc/passwd".
func (m *machine) read(name string) ([]byte, error) { return m.readUpTo(name, maxFile) }

// readUpTo is read with a bound of its own, for files that may be longer.
func (m *machine) readUpTo(name string, limit int) ([]byte, error) {
	return hostfile.Read(m.path(name), limit)
}

// text returns an attribute of one line.
func (m *machine) text(name string) (string, error) { return hostfile.Text(m.path(name)) }

// exists says whether there is anything at name.
func (m *machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// names returns the sorted names in a directory, at most limit; more are an error.
func (m *machine) names(directory string, limit int) ([]string, error) {
	return hostfile.Names(m.path(directory), limit)
}

// tree gives the parsers of configurations the files that they include.
func (m *machine) tree() hostfile.Tree {
	return hostfile.Tree{Path: m.path, MaxFile: maxFile, MaxNames: maxIncluded}
}

// stat looks at a file, and at its access control list, through symbolic links.
func (m *machine) stat(name string) (hostfile.Meta, error) {
	return hostfile.StatWithList(m.path(name))
}

// lstat looks at a file, or at the symbolic link itself.
func (m *machine) lstat(name string) (hostfile.Meta, error) { return hostfile.Lstat(m.path(name)) }

// errNotLive says why no program was run.
var errNotLive = errors.New("only a running system can be asked")

// command runs a program of the live system.
func (m *machine) command(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, errNotLive
	}
	return m.Runner.Run(ctx, c)
}
