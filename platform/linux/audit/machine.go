// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"path/filepath"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
)

// maxFile caps a configuration file, in bytes. One that is larger is not read in
// part: what it says at its end may undo the rest.
const maxFile = 1 << 20

// A machine is what the checks of one run look at.
type machine struct {
	Parts
	server audit.Memo[sshServer]
	sight
	sudo audit.Memo[sudoPolicy]
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

// names returns the sorted names in a directory, at most limit; more are an error.
func (m *machine) names(directory string, limit int) ([]string, error) {
	return hostfile.Names(m.path(directory), limit)
}

// tree is what the readers of configurations see of the system.
func (m *machine) tree() hostfile.Tree {
	return hostfile.Tree{Path: m.path, MaxFile: maxFile, MaxNames: maxIncluded}
}

// stat looks at a file, through symbolic links.
func (m *machine) stat(name string) (hostfile.Meta, error) { return hostfile.Stat(m.path(name)) }

// lstat looks at a file, or at the symbolic link itself.
func (m *machine) lstat(name string) (hostfile.Meta, error) { return hostfile.Lstat(m.path(name)) }

// errNotLive says why no program is run.
var errNotLive = errors.New("only a running system can be asked")

// command runs a program of the live system.
func (m *machine) command(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, errNotLive
	}
	return m.Runner.Run(ctx, c)
}
