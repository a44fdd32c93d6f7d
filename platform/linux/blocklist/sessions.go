// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
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

// maxFiles bounds how many open files of a server's process are looked at.
const maxFiles = 4096

// A login is a connection over which somebody is logged in.
type login struct{ local, remote netip.Addr }

// ways lists the other ends of SSH sessions, and of what carries them.
func (s *HostContext) ways(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	open, err := s.sessions(ctx)
	var list []blocklist.ProtectedAddr
	for _, o := range open {
		list = append(list, vital(o.remote, "the other end of a live SSH session"))
	}
	carriers, unknown := s.carriers(ctx, open)
	return append(list, carriers...), errors.Join(err, unknown)
}

// sessions lists the SSH sessions: the connections
// that a server's processes hold. Neither the port nor SSH_CONNECTION can tell: the socket
// may have been handed over by systemd, and sudo drops the environment.
//
// Who has not logged in yet has no session. Otherwise nobody who tries passwords could be
// blocked, being connected almost all the time.
func (s *HostContext) sessions(ctx context.Context) ([]login, error) {
	peers := map[uint64]login{}
	err := sockdiag.Dump(ctx, unix.IPPROTO_TCP, func(d sockdiag.Socket) {
		if d.Inode != 0 && d.Remote.Port() != 0 {
			peers[d.Inode] = login{d.Local.Addr(), d.Remote.Addr()}
		}
	})
	if err != nil {
		return nil, err
	}
	held, err := s.held(ctx, peers)
	var list []login
	for inode, holders := range held {
		if isSession(holders) {
			list = append(list, peers[inode])
		}
	}
	slices.SortFunc(list, func(a, b login) int { return cmp.Or(a.remote.Compare(b.remote), a.local.Compare(b.local)) })
	return slices.Compact(list), err
}

// A holder is a process of an SSH server that has a connection open.
type holder struct {
	name  string
	title []string // its command line, which sshd rewrites
	uid   int
}

// isSession says whether the connection that the holders share is logged in.
// Any process can take the name of a server, so that one of them must be root's. What does
// not show that it is still waiting for a login counts as a session.
func isSession(holders []holder) bool {
	root := slices.ContainsFunc(holders, func(h holder) bool { return h.uid == 0 })
	return root && !slices.ContainsFunc(holders, holder.waiting)
}

// waiting says that the client of the process has not logged in yet.
func (h holder) waiting() bool { return sshserver.AwaitsLogin(h.name, h.title) }

// held finds which of the connections are held by processes of SSH servers.
// Processes that end meanwhile hold none.
func (s *HostContext) held(ctx context.Context, connections map[uint64]login) (map[uint64][]holder, error) {
	table, err := s.proc.Processes(ctx)
	if err != nil {
		return nil, err
	}
	held := map[uint64][]holder{}
	var errs []error
	for _, p := range table {
		if !sshserver.Is(p.Name) {
			continue
		}
		inodes, err := s.sockets(p.PID)
		if err != nil && !gone(err) {
			errs = append(errs, fmt.Errorf("process %d: %w", p.PID, err))
		}
		inodes = slices.DeleteFunc(inodes, func(i uint64) bool { return !connections[i].remote.IsValid() })
		if len(inodes) == 0 {
			continue
		}
		h := s.holder(p)
		for _, i := range inodes {
			held[i] = append(held[i], h)
		}
	}
	return held, errors.Join(errs...)
}

// holder describes a process. One whose user cannot be read is taken for
// root's.
func (s *HostContext) holder(p procfs.Process) holder {
	h := holder{name: p.Name}
	if uid, err := s.proc.UID(p.PID); err == nil {
		h.uid = uid
	}
	if title, err := s.proc.CommandLine(p.PID); err == nil {
		h.title = strings.Fields(strings.Join(title, " "))
	}
	return h
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
		if err != nil && !gone(err) {
			return inodes, err
		}
		digits, ok := strings.CutPrefix(strings.TrimSuffix(link, "]"), "socket:[")
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			inodes = append(inodes, n)
		}
	}
	return inodes, nil
}

// gone says that a process or a file of it has ended.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
