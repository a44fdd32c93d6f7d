// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package fuse finds the processes that serve mounted file systems (fuse(4)). It looks at no file of
// such a file system, since its server need not answer.
package fuse

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
)

// A Mount is a mounted file system that a process serves.
type Mount struct {
	Point string // where it is, for people: a path that is too long is not told
	Type  string // fuse, fuseblk or fuse.NAME
	User  int    // who mounted it; 0 for root
}

// A Reader reads below a root directory.
type Reader struct {
	proc   procfs.FS
	mounts *mounts.FS
}

// New returns the Reader for root, "/" on the live system, of whose /proc it is, which knows what is kept from being read.
func New(root string, proc procfs.FS) Reader { return Reader{proc, mounts.New(root)} }

// Connections are those that open files are ends of, by process.
type Connections map[int][]uint64

// Add adds an open file, and reports whether it is one. Of one that is registered with an io_uring no connection is told,
// and a server that does so has the device open beside that.
func (c Connections) Add(f procfs.OpenFile) bool {
	if !bytes.HasSuffix(f.Link, []byte("/fuse")) {
		return false
	}
	if !f.Registered() && f.Opened() {
		c[f.PID] = append(c[f.PID], connection(f.About()))
	}
	return true
}

// Device reports whether an open file is the device by which a process serves a file system, and which connection it is
// an end of; 0 where the kernel does not tell, or where it is none yet. Unlike for [Connections.Add], no other file that
// is called so is taken for one.
func Device(f procfs.OpenFile) (of uint64, is bool) {
	if string(f.Link) != Path {
		return unknown, false
	}
	if held, err := f.Held(); err != nil || held.Special != unix.Mkdev(10, 229) || !f.Opened() { // Documentation/admin-guide/devices.txt
		return unknown, false
	}
	return connection(f.About()), true
}

// Path is that of the device.
const Path = "/dev/fuse"

// Served lists the file systems at the other ends which are mounted in the mount namespace of the process or in this one.
// Of processes that are skipped, not all are known.
func (r Reader) Served(ctx context.Context, by Connections) (servers map[int][]Mount, skipped []procfs.Skipped) {
	servers, skipped, _ = r.served(ctx, by, func(int) bool { return true }) //nolint:errcheck // of ctx, which the caller has
	return servers, skipped
}

// servers lists the processes that serve file systems; it looks into the mount namespaces of those users alone. What
// could not be looked at is an error beside the rest, but for processes of ordinary users, who can make that dear:
// nobody gains the protection of others by it.
func (r Reader) servers(ctx context.Context, into func(uid int) bool) (map[int][]Mount, error) {
	by := Connections{}
	skipped, err := r.proc.OpenFiles(ctx, nil, func(f procfs.OpenFile) bool {
		by.Add(f)
		return true
	})
	servers, more, ended := r.served(ctx, by, into)
	return servers, errors.Join(err, unread(append(skipped, more...)), ended)
}

func (r Reader) served(ctx context.Context, by Connections, into func(uid int) bool) (servers map[int][]Mount, skipped []procfs.Skipped, err error) {
	servers = map[int][]Mount{}
	if len(by) == 0 {
		return servers, nil, nil
	}
	here, _ := r.mounts.Table() //nolint:errcheck // then that of the process has to do
	for pid, connections := range by {
		if ctx.Err() != nil {
			return servers, skipped, ctx.Err()
		}
		uid, _ := r.proc.UID(pid) //nolint:errcheck // it ended; root's is the careful guess
		of := tables{here: here}
		if into(uid) {
			if of.there, err = r.mounts.TableOf(r.proc, pid); errors.Is(err, procfs.ErrStuck) { // otherwise it ended
				skipped = append(skipped, procfs.Skipped{PID: pid, UID: uid, Err: err})
			}
		}
		if list := of.servedBy(uid, connections); len(list) > 0 {
			servers[pid] = list
		}
	}
	return servers, skipped, nil
}

// tables are the mounts of this run and those of a process.
type tables struct{ here, there []*mountinfo.Info }

// unread is why servers of the system may be missing.
func unread(skipped []procfs.Skipped) (err error) {
	for _, s := range skipped {
		if procfs.SystemAccount(s.UID) && !errors.Is(s.Err, procfs.ErrManyFiles) { // a bound of their own is never that of root
			err = errors.Join(err, s.Err)
		}
	}
	return err
}

// unknown stands for a connection that the kernel does not tell; it may be that of any mount of the
// process's user.
const unknown = 0

// connection finds which one an open /dev/fuse is in what the kernel tells of it, by the device number
// of its file system (fuse_dev_show_fdinfo in fs/fuse/dev.c). A device without a mount has no such
// line, and so have older kernels, and any other file that is called fuse.
func connection(about []byte) uint64 {
	for line := range bytes.Lines(about) {
		if digits, ok := bytes.CutPrefix(line, []byte("fuse_connection:")); ok {
			if n, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 10, 64); err == nil {
				return n
			}
		}
	}
	return unknown
}

// maxThere bounds how many mounts are told that a process alone sees: it can have as many of one as it likes.
const maxThere = 256

// servedBy lists the file systems of connections that are mounted here, or where the process is. Anybody
// can mount in namespaces of their own, where the number of the user who mounted is one of that
// namespace: what is not mounted here is its own user's.
func (t tables) servedBy(uid int, connections []uint64) (list []Mount) {
	serves, told, isHere := map[uint64]bool{}, map[Mount]bool{}, map[[2]int]bool{}
	for _, c := range connections {
		serves[c] = true
	}
	add := func(m *mountinfo.Info, user int) {
		found := Mount{mounts.PlaceOf(m), m.FSType, user}
		if mounts.IsFUSE(m) && (serves[mounts.Connection(m)] || serves[unknown] && user == uid) && !told[found] {
			told[found] = true
			list = append(list, found)
		}
	}
	for _, m := range t.here {
		isHere[[2]int{m.Major, m.Minor}] = true
		add(m, mounts.Mounter(m))
	}
	most := len(list) + maxThere
	for _, m := range t.there {
		if len(list) < most && !isHere[[2]int{m.Major, m.Minor}] {
			add(m, uid)
		}
	}
	return list
}

// ByGroup lists where root and accounts of the system have mounted file systems, by the control groups of
// the processes that serve them. What others have mounted is theirs, and the machine's services do not
// depend on it.
func (r Reader) ByGroup(ctx context.Context) (map[string][]string, error) {
	servers, err := r.servers(ctx, procfs.SystemAccount)
	points := map[string][]string{}
	for pid, served := range servers {
		group, unread := r.proc.ControlGroup(pid)
		if unread != nil {
			continue // it ended
		}
		for _, m := range served {
			if procfs.SystemAccount(m.User) {
				points[group] = append(points[group], m.Point)
			}
		}
	}
	return points, err
}
