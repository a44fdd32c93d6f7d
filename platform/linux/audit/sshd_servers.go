// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/network"
	"sentinel/internal/sanitize"
	"sentinel/platform/unix/listeners"
	"sentinel/platform/unix/sshdconf"
)

// sshdName is what the program is called that waits for connections.
const sshdName = "sshd"

// maxSSHServers bounds how many servers with options of their own are judged.
const maxSSHServers = 5

// An sshServer is a server with options of its own.
type sshServer struct {
	sshdconf.Server
	command string // how one that runs was started; "" of what the units of systemd start
	pid     int    // of one that runs
	err     error  // why its settings are not known
}

// sshServers are those that the units of systemd start, and those that run with other options.
type sshServers struct {
	list   []sshServer
	judged map[int]bool // the processes that wait for connections with options of one in the list
}

// sshServers are found once for all checks.
func (m *machine) sshServers(ctx context.Context) sshServers {
	servers, _ := m.ssh.Get(func() (sshServers, error) { return m.findSSHServers(ctx), nil }) //nolint:errcheck // never fails
	return servers
}

func (m *machine) findSSHServers(ctx context.Context) sshServers {
	f := sshFinder{machine: m, program: m.firstExisting("/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"), found: sshServers{judged: map[int]bool{}}}
	if f.program != "" {
		options, err := m.sshdOptions()
		f.add(ctx, sshServer{err: err}, options)
		if template, err := m.commandOf(sshdTemplates...); err != nil || len(template.lines) > 0 {
			options, failed := optionsOf(template.name, template.arguments())
			f.add(ctx, sshServer{err: errors.Join(err, failed)}, options)
		}
	}
	for _, pid := range m.sshDaemons(ctx) {
		f.addRunning(ctx, pid)
	}
	return f.found
}

// sshDaemons are the processes of root with sshd that others can reach.
func (m *machine) sshDaemons(ctx context.Context) (pids []int) {
	sockets, err := m.reachable(ctx)
	if err != nil { // which services.exposed says
		return nil
	}
	sockets.All.Find(func(l listeners.Listener) bool {
		if l.Protocol != network.TCP || l.PID == 0 || slices.Contains(pids, l.PID) {
			return false
		}
		if p, owner, ok := m.programOf(l); ok && owner == m.Owner && p.System && p.Name() == sshdName {
			pids = append(pids, l.PID)
		}
		return false
	})
	return pids
}

// An sshFinder judges each server with the same options once.
type sshFinder struct {
	*machine
	program string // "" where none is installed
	options []string
	found   sshServers
}

// errSSHProgram says that a server may have another file of settings than the one that is installed.
var errSSHProgram = errors.New("it is not the program that is installed, and its settings cannot be judged")

func (f *sshFinder) addRunning(ctx context.Context, pid int) {
	line, err := f.proc().CommandLine(pid)
	words, whole := startOf(line)
	if err == nil && words == nil {
		return
	}
	s := sshServer{pid: pid, command: fmt.Sprintf("process %d (%s)", pid, sanitize.Quoted(strings.Join(words, " "), 200)), err: err}
	var options sshdOptions
	switch {
	case err != nil:
	case !whole:
		s.err = errSSHDOption
	case !f.same(words[0], f.program):
		s.err = errSSHProgram
	default:
		options, s.err = optionsOf(fmt.Sprintf("process %d", pid), [][]string{words[1:]})
	}
	f.found.judged[pid] = f.add(ctx, s, options)
}

// startOf are the words that a waiting sshd was started with, which its title has with blanks between them
// (prepare_proctitle in sshd.c); none of one that serves a client. whole says that none is cut off.
func startOf(commandLine []string) (words []string, whole bool) {
	title, titled := strings.CutPrefix(strings.Join(commandLine, " "), "sshd: ")
	if !titled {
		return commandLine, true
	}
	if !strings.HasPrefix(title, "/") {
		return nil, false
	}
	title, _, whole = strings.Cut(title, " [listener]")
	return strings.Fields(title), whole
}

// same reports whether two names lead to one file.
func (f *sshFinder) same(a, b string) bool {
	first, err := filepath.EvalSymlinks(f.path(a))
	second, failed := filepath.EvalSymlinks(f.path(b))
	return errors.Join(err, failed) == nil && first == second
}

// add reports whether the options of a server are judged.
func (f *sshFinder) add(ctx context.Context, s sshServer, options sshdOptions) (judged bool) {
	if options.file == f.sshdConfig() {
		options.file = ""
	}
	key := strings.Join(options.arguments(), "\x00")
	known := slices.Contains(f.options, key)
	switch {
	case s.err != nil:
	case known:
		return true
	case len(f.options) == maxSSHServers:
		s.err = fmt.Errorf("more than %d servers have options of their own", maxSSHServers)
	default:
		f.options = append(f.options, key)
		s.Server, s.err = f.readSSHD(ctx, f.program, options)
	}
	f.found.list = append(f.found.list, s)
	return s.err == nil
}
