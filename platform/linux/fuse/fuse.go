// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package fuse finds the processes that serve mounted file systems (fuse(4)). It looks at no file of
// such a file system, since its server need not answer.
package fuse

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/hostfile"
)

// A Mount is a mounted file system that a process serves.
type Mount struct {
	Point string
	Type  string // fuse, fuseblk or fuse.NAME
	User  int    // who mounted it; 0 for root
}

// A Reader reads below a root directory.
type Reader struct {
	root   string
	proc   procfs.FS
	mounts *mounts.FS
}

// New returns the Reader for root; "/" is the live system.
func New(root string) Reader { return Reader{root, procfs.New(root), mounts.New(root)} }

// Servers lists the processes that serve file systems which are mounted in their own mount
// namespace or in this one. With pids only those are looked at. What could not be looked at is an
// error beside the rest, but for processes of an ordinary user who has too many files open: nobody
// gains the protection of others by that.
func (r Reader) Servers(ctx context.Context, pids []int) (map[int][]Mount, error) {
	served := map[int][]uint64{}
	skipped, err := r.proc.OpenFiles(ctx, pids, func(f procfs.OpenFile) bool {
		if bytes.HasSuffix(f.Link, []byte("/fuse")) {
			served[f.PID] = append(served[f.PID], r.connection(f))
		}
		return true
	})
	for _, s := range skipped {
		if !errors.Is(s.Err, procfs.ErrManyFiles) {
			err = errors.Join(err, s.Err)
		}
	}
	servers := map[int][]Mount{}
	for pid, connections := range served {
		for _, m := range r.mounted(pid) {
			if slices.Contains(connections, uint64(m.Minor)) || slices.Contains(connections, unknown) {
				servers[pid] = appendMount(servers[pid], m)
			}
		}
	}
	return servers, err
}

// unknown stands for a connection that the kernel does not tell; it may be that of any mount.
const unknown = 0

// connection reads which one an open /dev/fuse is, by the device number of its file system
// (fuse_dev_show_fdinfo in fs/fuse/dev.c). A device without a mount has no such line, and so have
// older kernels.
func (r Reader) connection(f procfs.OpenFile) uint64 {
	about, err := hostfile.Read(filepath.Join(r.root, "proc", strconv.Itoa(f.PID), "fdinfo", strconv.Itoa(f.FD)), 4096)
	if err != nil {
		return unknown
	}
	for line := range strings.Lines(string(about)) {
		if digits, ok := strings.CutPrefix(line, "fuse_connection:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 64); err == nil {
				return n
			}
		}
	}
	return unknown
}

// mounted lists the file systems of processes that are mounted where a process is, and here.
func (r Reader) mounted(pid int) []*mountinfo.Info {
	here, _ := r.mounts.Table()       //nolint:errcheck // then the other has to do
	there, _ := r.mounts.TableOf(pid) //nolint:errcheck // it ended
	return slices.DeleteFunc(append(here, there...), func(m *mountinfo.Info) bool {
		return m.FSType != "fuse" && m.FSType != "fuseblk" && !strings.HasPrefix(m.FSType, "fuse.")
	})
}

func appendMount(to []Mount, m *mountinfo.Info) []Mount {
	found := Mount{Point: m.Mountpoint, Type: m.FSType}
	for option := range strings.SplitSeq(m.VFSOptions, ",") {
		if digits, ok := strings.CutPrefix(option, "user_id="); ok {
			found.User, _ = strconv.Atoi(digits) //nolint:errcheck // then it counts as root's
		}
	}
	if slices.Contains(to, found) {
		return to
	}
	return append(to, found)
}

// ByGroup lists the mount points by the control groups of the processes that serve them.
func (r Reader) ByGroup(ctx context.Context) (map[string][]string, error) {
	servers, err := r.Servers(ctx, nil)
	points := map[string][]string{}
	for pid, served := range servers {
		group, unread := r.proc.ControlGroup(pid)
		if unread != nil {
			continue // it ended
		}
		for _, m := range served {
			points[group] = append(points[group], m.Point)
		}
	}
	return points, err
}
