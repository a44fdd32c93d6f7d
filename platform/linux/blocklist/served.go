// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/fuse"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/sockdiag"
)

// served lists with whom the programs are connected that serve file systems which root has mounted (fuse(4)),
// and those of root's at the other end of their Unix sockets: sshfs has an ssh carry what it asks.
func (s *HostContext) served(ctx context.Context) ([]blocklist.ProtectedAddr, error) {
	if table, err := mounts.New(s.root).Table(); err == nil && !slices.ContainsFunc(table, mounts.IsFUSE) {
		return nil, nil // most machines
	}
	proc := procfs.New(s.root)
	servers, err := fuse.New(s.root, proc).OfRoot(ctx)
	var list []blocklist.ProtectedAddr
	for pid, points := range servers {
		found, findErr := talksWith(ctx, proc, pid)
		err = errors.Join(err, findErr)
		for _, a := range found {
			list = append(list, blocklist.Protect(a, "a server of the file system at "+sanitize.Quoted(points[0], maxMounted)))
		}
	}
	return list, err
}

// talksWith lists the other ends of the connections of a process and its helpers.
func talksWith(ctx context.Context, proc procfs.FS, pid int) ([]netip.Addr, error) {
	held, err := socketsOf(ctx, proc, pid)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	found, rest, err := otherEnds(ctx, held)
	helpers, helpErr := behindUnix(ctx, proc, pid, rest)
	err = errors.Join(err, helpErr)
	for _, helper := range helpers {
		held, heldErr := socketsOf(ctx, proc, helper)
		more, _, moreErr := otherEnds(ctx, held)
		found, err = append(found, more...), errors.Join(err, heldErr, moreErr)
	}
	return found, err
}

// otherEnds lists with whom sockets of TCP and UDP are connected, and which of the sockets are others: the kernel
// takes long to tell of each of those.
func otherEnds(ctx context.Context, held []uint64) (found []netip.Addr, others []uint64, err error) {
	mine := map[uint64]bool{}
	for _, inode := range held {
		mine[inode] = true
	}
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		err = errors.Join(err, sockdiag.Dump(ctx, protocol, func(k sockdiag.Socket) {
			if k.Inode == 0 || !mine[k.Inode] {
				return
			}
			delete(mine, k.Inode)
			if remote := k.Remote.Addr().Unmap().WithZone(""); k.Remote.Port() != 0 && !remote.IsLoopback() {
				found = append(found, remote)
			}
		}))
	}
	return found, slices.Collect(maps.Keys(mine)), err
}

// socketsOf lists the inodes of the sockets that a process has open. One that ended has none.
func socketsOf(ctx context.Context, proc procfs.FS, pid int) (inodes []uint64, err error) {
	skipped, err := proc.OpenFiles(ctx, []int{pid}, func(f procfs.OpenFile) bool {
		if inode, ok := f.Socket(); ok {
			inodes = append(inodes, inode)
		}
		return true
	})
	for _, s := range skipped {
		err = errors.Join(err, s.Err)
	}
	return inodes, err
}

// behindUnix lists the processes of root's at the other ends of those sockets that are Unix sockets. Those of
// others are left out: they choose with whom they are connected.
func behindUnix(ctx context.Context, proc procfs.FS, pid int, held []uint64) (pids []int, err error) {
	var ends []uint64
	err = sockdiag.Unix(ctx, held, func(k sockdiag.UnixSocket) {
		if k.Peer != 0 {
			ends = append(ends, k.Peer)
		}
	})
	if errors.Is(err, sockdiag.ErrNoUnix) {
		err = nil
	}
	if len(ends) == 0 {
		return nil, err
	}
	_, openErr := proc.OpenFiles(ctx, nil, func(f procfs.OpenFile) bool {
		inode, ok := f.Socket()
		if !ok || f.PID == pid || !slices.Contains(ends, inode) || slices.Contains(pids, f.PID) {
			return true
		}
		if uid, err := proc.UID(f.PID); err == nil && uid == 0 {
			pids = append(pids, f.PID)
		}
		return true
	})
	return pids, errors.Join(err, openErr)
}
