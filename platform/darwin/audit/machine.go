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

// A machine is what the checks of one run look at.
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
	signatures  audit.Memo[map[string]signature]
	servers     audit.Memo[mcpServers]
	listeners   audit.Memo[[]listeners.Listener]
}

// privileged says whether sentinel runs as root.
func (m *machine) privileged() bool { return m.EUID == 0 }

// now is the moment that ages are counted to.
func (m *machine) now() time.Time {
	if m.Now.IsZero() {
		return time.Now()
	}
	return m.Now
}

// path is where a file of the Mac is. /etc, /var and /tmp are links to directories
// of /private, which a tree of files need not have.
func (m *machine) path(name string) string {
	for _, dir := range []string{"/etc", "/var", "/tmp"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			name = "/private" + name
		}
	}
	return filepath.Join(m.Root, name)
}

// read returns a whole file of the system.
func (m *machine) read(name string) ([]byte, error) { return hostfile.Read(m.path(name), maxFile) }

// exists says whether there is something at name.
func (m *machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// names returns the sorted names in a directory, at most limit; more are an error.
func (m *machine) names(dir string, limit int) ([]string, error) {
	return hostfile.Names(m.path(dir), limit)
}

// tree is what the readers of configurations see of the Mac.
func (m *machine) tree() hostfile.Tree {
	return hostfile.Tree{Path: m.path, MaxFile: maxFile, MaxNames: maxNames}
}

// prefs returns the settings of a domain.
func (m *machine) prefs(domain string) (prefs.Domain, error) { return prefs.Read(m.Root, domain) }

// stat looks at a file, through symbolic links.
func (m *machine) stat(name string) (hostfile.Meta, error) { return hostfile.Stat(m.path(name)) }

// Groups whose members can become root anyway (wheel and admin of macOS). Every
// other one may hold all users, as staff does.
const (
	wheel = 0
	admin = 80
)

// onlyOf says that only the user and root can change a file. In a directory with
// the sticky bit nobody can replace what others put there.
func (m *machine) onlyWritableBy(uid int, f hostfile.Meta) bool {
	if f.Mode.IsDir() && f.Mode&fs.ModeSticky != 0 && f.UID == m.Owner {
		return true
	}
	trusted := f.GID == wheel || f.GID == admin
	return (f.UID == m.Owner || f.UID == uid) && f.Mode&0o002 == 0 && (f.Mode&0o020 == 0 || trusted)
}

// ask runs a program of macOS with the limit of most.
func (m *machine) run(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.runWithin(ctx, runLimit, path, args...)
}

func (m *machine) runWithin(ctx context.Context, limit time.Duration, path string, args ...string) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, posture.ErrNotLive
	}
	return m.Runner.Run(ctx, sysexec.Command{Path: path, Args: args, Timeout: limit, MaxOutput: maxOutput})
}

// errUnknownOutput says that a program answered in words that are not known.
var errUnknownOutput = errors.New("answered in words that are not known here")

// needsRoot is the finding of what only root may ask.
func needsRoot(what string) audit.Finding { return audit.Unread(what, posture.ErrRoot) }

// unread is the finding of what could not be read of a file. Root itself is kept
// from some directories: macOS asks for a grant of its own.
func (m *machine) unread(what string, err error) audit.Finding {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		what = in.Path
	}
	if m.privileged() && errors.Is(err, fs.ErrPermission) {
		return audit.Unseen(what + ": needs full-disk access (System Settings, Privacy & Security)")
	}
	return audit.Unread(what, hostfile.Reason(err))
}

// missing says that a file is not there, whoever says so.
func missing(err error) bool { return hostfile.Missing(err) || errors.Is(err, fs.ErrNotExist) }
