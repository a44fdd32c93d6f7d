// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/sshserver"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// maxFiles bounds how many open files of a process are looked at.
const maxFiles = 4096

// sessionPeers lists the other ends of SSH sessions, and of the tunnels that carry
// them.
func (s *HostContext) sessionPeers(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	held, err := s.sshConnections(ctx)
	open := blocklist.Sessions(held)
	ends, unknown := s.tunnelEnds(ctx, open)
	return append(blocklist.ProtectSessions(open), ends...), errors.Join(err, unknown)
}

// sshConnections finds the connections that processes of SSH servers hold open.
// Processes that end meanwhile hold none.
func (s *HostContext) sshConnections(ctx context.Context) (map[blocklist.Connection][]blocklist.SSHProcess, error) {
	byInode := map[uint64]blocklist.Connection{}
	err := sockdiag.Dump(ctx, unix.IPPROTO_TCP, func(d sockdiag.Socket) {
		if d.Inode != 0 && d.Remote.Port() != 0 {
			byInode[d.Inode] = blocklist.Connection{Local: d.Local, Remote: d.Remote}
		}
	})
	if err != nil {
		return nil, err
	}
	table, err := s.proc.Processes(ctx)
	if err != nil {
		return nil, err
	}
	files, err := s.proc.FileReader()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	held := map[blocklist.Connection][]blocklist.SSHProcess{}
	var errs []error
	for _, p := range s.loginServers(table) {
		err := files.Files(p.PID, func(f procfs.OpenFile) bool {
			inode, _ := f.Socket()
			if c, connected := byInode[inode]; connected {
				held[c] = append(held[c], s.sshProcess(p.Process))
			}
			return true
		})
		if err != nil && p.uid == 0 {
			errs = append(errs, fmt.Errorf("process %d (%s): %w", p.PID, p.Name, err))
		}
	}
	return held, errors.Join(errs...)
}

// A loginServer is a process of an SSH server, with its real user.
type loginServer struct {
	procfs.Process
	uid int
}

// loginServers picks the processes that may hold a session: those of root with the name of a server,
// and what such a process has started that has become its user's. Any other only has the name:
// it holds no session, and how much there is to read of it, or whether it can be read at all, is up to
// its user. One whose user cannot be read is taken for root's.
func (s *HostContext) loginServers(table []procfs.Process) []loginServer {
	var named []loginServer
	ofRoot := map[int]bool{}
	for _, p := range table {
		if !sshserver.Is(p.Name) {
			continue
		}
		uid, _ := s.proc.UID(p.PID) //nolint:errcheck // see above
		named = append(named, loginServer{p, uid})
		ofRoot[p.PID] = uid == 0
	}
	return slices.DeleteFunc(named, func(p loginServer) bool { return p.uid != 0 && !ofRoot[p.ParentPID] })
}

// sshProcess describes a process. One whose user cannot be read is taken for
// root's.
func (s *HostContext) sshProcess(p procfs.Process) blocklist.SSHProcess {
	described := blocklist.SSHProcess{Name: p.Name}
	if uid, err := s.proc.UID(p.PID); err == nil {
		described.UID = uid
	}
	if line, err := s.proc.CommandLine(p.PID); err == nil {
		described.CommandLine = strings.Fields(strings.Join(line, " "))
	}
	return described
}

// sockets lists the inodes of the sockets that a process has open. Their links
// read "socket:[12345]".
func (s *HostContext) sockets(pid int) ([]uint64, error) {
	directory := filepath.Join(s.root, "proc", strconv.Itoa(pid), "fd")
	dir, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var inodes []uint64
	for _, name := range names {
		link, err := os.Readlink(filepath.Join(directory, name))
		if err != nil && !hasEnded(err) {
			return inodes, err
		}
		digits, ok := strings.CutPrefix(strings.TrimSuffix(link, "]"), "socket:[")
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			inodes = append(inodes, n)
		}
	}
	return inodes, nil
}

// hasEnded says that a process or a file of it has ended.
func hasEnded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
