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
	held := map[blocklist.Connection][]blocklist.SSHProcess{}
	var errs []error
	for _, p := range table {
		if !sshserver.Is(p.Name) {
			continue
		}
		inodes, err := s.sockets(p.PID)
		if err != nil && !hasEnded(err) {
			errs = append(errs, fmt.Errorf("process %d: %w", p.PID, err))
		}
		for _, i := range inodes {
			if c, connected := byInode[i]; connected {
				held[c] = append(held[c], s.sshProcess(p))
			}
		}
	}
	return held, errors.Join(errs...)
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
