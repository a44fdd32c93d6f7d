// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/codesign"
	"sentinel/platform/darwin/extensions"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/darwin/prefs"
	"sentinel/platform/darwin/socketfilterfw"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/listeners"
	"sentinel/platform/unix/sshdconf"
)

// Bounds of what is read.
const (
	maxFile   = 1 << 20   // bytes of a configuration file
	maxNames  = 1024      // in a directory
	maxHomes  = 64        // of users
	maxOutput = 512 << 10 // bytes that a program prints
	runLimit  = 4 * time.Second
)

// A machine is the Mac under audit, with what several checks need.
type machine struct {
	Parts
	boot        audit.Memo[posture.Boot]
	filter      audit.Memo[socketfilterfw.State]
	updating    audit.Memo[prefs.Domain]
	login       audit.Memo[prefs.Domain]
	server      audit.Memo[sshdconf.Server]
	security    audit.Memo[securityInfo]
	sudo        audit.Memo[sudoPolicy]
	accountList audit.Memo[[]account]
	items       audit.Memo[launchItems]
	signatures  audit.Memo[map[programOf]codesign.Signature]
	servers     audit.Memo[mcpServers]
	listeners   audit.Memo[listeners.Sockets]
}

// privileged reports whether sentinel runs as root.
func (m *machine) privileged() bool { return m.EUID == 0 }

// now is the time that ages refer to.
func (m *machine) now() time.Time {
	if m.Now.IsZero() {
		return time.Now()
	}
	return m.Now
}

// path returns where a file of the Mac is. /etc, /var and /tmp are links into
// /private, which a tree of files need not have.
func (m *machine) path(name string) string {
	for _, dir := range []string{"/etc", "/var", "/tmp"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			name = "/private" + name
		}
	}
	return filepath.Join(m.Root, name)
}

// read returns the content of a file.
func (m *machine) read(name string) ([]byte, error) { return hostfile.Read(m.path(name), maxFile) }

// exists reports whether there is something at name.
func (m *machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// names returns the sorted names in a directory. More than limit are an error.
func (m *machine) names(dir string, limit int) ([]string, error) {
	return hostfile.Names(m.path(dir), limit)
}

// tree is the Mac for the parsers of sshd and sudo configurations.
func (m *machine) tree() hostfile.Tree {
	return hostfile.Tree{Path: m.path, MaxFile: maxFile, MaxNames: maxNames}
}

// prefs returns the settings of a preference domain.
func (m *machine) prefs(domain string) (prefs.Domain, error) { return prefs.Read(m.Root, domain) }

// stat follows symbolic links.
func (m *machine) stat(name string) (hostfile.Meta, error) { return hostfile.Stat(m.path(name)) }

// Groups of macOS whose members can become root anyway. Any other may contain all
// users, as staff does.
const (
	wheel = 0
	admin = 80
)

// onlyWritableBy reports whether only root and the given user can change a file. In
// a directory with the sticky bit nobody can replace the files of others.
func (m *machine) onlyWritableBy(uid int, f hostfile.Meta) bool {
	if f.Mode.IsDir() && f.Mode&fs.ModeSticky != 0 && f.UID == m.Owner {
		return true
	}
	trusted := f.GID == wheel || f.GID == admin
	return (f.UID == m.Owner || f.UID == uid) && f.Mode&0o002 == 0 && (f.Mode&0o020 == 0 || trusted)
}

// run runs a program of macOS with the default timeout.
func (m *machine) run(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.runWithin(ctx, runLimit, path, args...)
}

func (m *machine) runWithin(ctx context.Context, limit time.Duration, path string, args ...string) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, posture.ErrNotLive
	}
	return m.Runner.Run(ctx, sysexec.Command{Path: path, Args: args, Timeout: limit, MaxOutput: maxOutput})
}

// errUnknownOutput means that the output of a program is not known.
var errUnknownOutput = extensions.ErrUnknownOutput

// needsRoot is the finding for something that only root can read.
func needsRoot(what string) audit.Finding { return audit.Unread(what, posture.ErrRoot) }

// unread is the finding for a file that could not be read. macOS keeps some
// directories even from root without full-disk access.
func (m *machine) unread(what string, err error) audit.Finding {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		what = in.Path
	}
	if m.privileged() && errors.Is(err, fs.ErrPermission) {
		return audit.Unseen(what + ": " + errFullDisk.Error())
	}
	return audit.Unread(what, hostfile.Reason(err))
}

// missing reports whether err means that a file does not exist.
func missing(err error) bool { return hostfile.Missing(err) || errors.Is(err, fs.ErrNotExist) }
