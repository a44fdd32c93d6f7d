// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/darwin/prefs"
	"sentinel/platform/darwin/socketfilterfw"
	"sentinel/platform/linux/hostfile"
)

// Bounds of what is read.
const (
	maxFile   = 1 << 20   // bytes of a configuration file
	maxNames  = 1024      // in a folder
	maxHomes  = 64        // of users
	maxOutput = 512 << 10 // bytes that a program prints
	askLimit  = 4 * time.Second
)

// A machine is what the checks of one run look at.
type machine struct {
	Parts
	boot       memo[posture.Boot]
	filter     memo[socketfilterfw.State]
	updating   memo[prefs.Domain]
	login      memo[prefs.Domain]
	server     memo[sshServer]
	security   memo[securityInfo]
	sudo       memo[sudoPolicy]
	people     memo[[]person]
	items      memo[startup]
	signatures memo[map[string]signature]
	servers    memo[mcpServers]
	listeners  memo[[]listener]
}

// A memo keeps what several checks ask for. The first one to ask reads, within
// its own limit, and the others wait for it.
type memo[T any] struct {
	mu    sync.Mutex
	done  chan struct{} // nil until somebody asks
	value T
	err   error
}

func (m *memo[T]) get(read func() (T, error)) (T, error) {
	m.mu.Lock()
	first := m.done == nil
	if first {
		m.done = make(chan struct{})
	}
	m.mu.Unlock()
	if !first {
		<-m.done
		return m.value, m.err
	}
	defer close(m.done)
	m.err = errBroken // stays when read panics: nothing read must not look like something
	m.value, m.err = read()
	return m.value, m.err
}

var errBroken = errors.New("was not read to its end")

// privileged says whether sentinel runs as root.
func (m *machine) privileged() bool { return m.EUID == 0 }

// now is the moment that ages are counted to.
func (m *machine) now() time.Time {
	if m.Now.IsZero() {
		return time.Now()
	}
	return m.Now
}

// path is where a file of the Mac is. /etc, /var and /tmp are links to folders
// of /private, which a tree of files need not have.
func (m *machine) path(name string) string {
	for _, folder := range []string{"/etc", "/var", "/tmp"} {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			name = "/private" + name
		}
	}
	return filepath.Join(m.Root, name)
}

// read returns a whole file of the system.
func (m *machine) read(name string) ([]byte, error) { return hostfile.Read(m.path(name), maxFile) }

// exists says whether there is something at name.
func (m *machine) exists(name string) bool { return hostfile.Exists(m.path(name)) }

// names returns the sorted names in a folder, at most limit; more are an error.
func (m *machine) names(folder string, limit int) ([]string, error) {
	return hostfile.Names(m.path(folder), limit)
}

// prefs returns the settings of a domain.
func (m *machine) prefs(domain string) (prefs.Domain, error) { return prefs.Read(m.Root, domain) }

// A meta is who owns a file and what the mode lets whom do.
type meta struct {
	mode     fs.FileMode
	uid, gid int
}

// String is the mode and the owner: "-rw-r--r-- of user 0".
func (f meta) String() string { return fmt.Sprintf("%v of user %d", f.mode, f.uid) }

// stat looks at a file, through symbolic links.
func (m *machine) stat(name string) (meta, error) { return metaOf(os.Stat(m.path(name))) }

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

// Groups whose members can become root anyway (wheel and admin of macOS). Every
// other one may hold all users, as staff does.
const (
	wheel = 0
	admin = 80
)

// onlyOf says that only the user and root can change a file. In a folder with
// the sticky bit nobody can replace what others put there.
func (m *machine) onlyOf(uid int, f meta) bool {
	if f.mode.IsDir() && f.mode&fs.ModeSticky != 0 && f.uid == m.Owner {
		return true
	}
	trusted := f.gid == wheel || f.gid == admin
	return (f.uid == m.Owner || f.uid == uid) && f.mode&0o002 == 0 && (f.mode&0o020 == 0 || trusted)
}

// ask runs a program of macOS with the limit of most.
func (m *machine) ask(ctx context.Context, path string, args ...string) (sysexec.Result, error) {
	return m.askWithin(ctx, askLimit, path, args...)
}

func (m *machine) askWithin(ctx context.Context, limit time.Duration, path string, args ...string) (sysexec.Result, error) {
	if m.Runner == nil {
		return sysexec.Result{}, posture.ErrNotLive
	}
	return m.Runner.Run(ctx, sysexec.Command{Path: path, Args: args, Timeout: limit, MaxOutput: maxOutput})
}

// errWords says that a program answered in words that are not known.
var errWords = errors.New("answered in words that are not known here")

// needsRoot is the finding of what only root may ask.
func needsRoot(what string) audit.Finding { return audit.Unread(what, posture.ErrRoot) }

// at is a piece of evidence: a line of a file.
func at(file string, line int, text string) string {
	if line == 0 {
		return file + ": " + text
	}
	return fmt.Sprintf("%s:%d: %s", file, line, text)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// A person is somebody with a home below /Users.
type person struct {
	name string
	home string // "/Users/mira"
	uid  int    // owner of the home
}

// persons lists the homes in /Users. Shared is for all; names that begin with a
// dot are of the system.
func (m *machine) persons() ([]person, error) {
	return m.people.get(func() ([]person, error) {
		names, err := m.names("/Users", maxHomes)
		if err != nil {
			return nil, err
		}
		var list []person
		for _, name := range names {
			home := "/Users/" + name
			f, err := m.stat(home)
			if name == "Shared" || name == "Guest" || strings.HasPrefix(name, ".") || err != nil || !f.mode.IsDir() {
				continue
			}
			list = append(list, person{name, home, f.uid})
		}
		return list, nil
	})
}
