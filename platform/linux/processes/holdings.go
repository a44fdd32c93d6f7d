// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"sentinel/internal/processes"
	"sentinel/platform/linux/fuse"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/tunnels"
)

// Holdings implements [processes.TerminationSource].
func (t *Terminator) Holdings(ctx context.Context, of map[int]*processes.Facts, along []int, people bool) {
	h := holdings{t, of, map[uint64]processes.Duty{}, map[int]bool{}, fuse.Connections{}}
	var pids []int
	for pid, f := range of {
		if people || procfs.SystemAccount(f.UserID) || procfs.DynamicUser(f.UserID) {
			pids = append(pids, pid)
		}
	}
	if len(pids) > 0 { // of none all would be read
		h.read(ctx, pids)
	}
	ends := sync.OnceValues(func() (map[int]bool, error) {
		return t.endWith(ctx, slices.AppendSeq(slices.Clone(along), maps.Keys(of)))
	})
	for pid, f := range of {
		t.behind(ctx, pid, ends, f)
	}
}

// holdings are what is looked for among the open files of some processes.
type holdings struct {
	*Terminator
	of      map[int]*processes.Facts
	sockets map[uint64]processes.Duty
	devices map[int]bool // processes that have the device of a tunnel open
	fuse    fuse.Connections
}

// read reads the files once. Of one with too many open it is not known what it serves, or which watchdog it has.
func (h *holdings) read(ctx context.Context, pids []int) {
	var skipped []procfs.Skipped
	var err error
	if h.sockets, err = h.dutySockets(ctx); err != nil {
		h.lack(pids, err)
	}
	if skipped, err = h.proc.OpenFiles(ctx, pids, h.visit); err != nil {
		h.lack(pids, err)
	}
	for _, s := range skipped {
		if h.sockets == nil || len(h.sockets) > 0 || !errors.Is(s.Err, fs.ErrPermission) { // who may not look at a process may not end it
			h.lack([]int{s.PID}, unread(h.of[s.PID].UserID, s.Err))
		}
	}
	served, unserved := fuse.New(h.root, h.proc).Served(ctx, h.fuse)
	for _, s := range unserved {
		h.lack([]int{s.PID}, s.Err)
	}
	for pid, list := range served {
		for _, m := range list {
			h.of[pid].Served = append(h.of[pid].Served, processes.Served{Point: m.Point, System: m.User == 0})
		}
	}
	for _, pid := range pids {
		f := h.of[pid]
		f.Duty.Routing = f.Duty.Routing && h.mayRoute(pid, f.UserID)
	}
	for pid := range h.devices {
		h.findWayOut(ctx, pid, &h.of[pid].Duty)
	}
}

// visit looks at one file.
func (h *holdings) visit(f procfs.OpenFile) bool {
	of := h.of[f.PID]
	if inode, ok := f.Socket(); ok {
		if procfs.SystemAccount(of.UserID) {
			of.Duty.NameServer = of.Duty.NameServer || h.sockets[inode].NameServer
			of.Duty.Routing = of.Duty.Routing || h.sockets[inode].Routing
		}
		return true
	}
	switch {
	case h.fuse.Add(f), len(f.Link) == 0 || f.Link[0] != '/':
	case of.Watchdog == "" && h.isWatchdog(f):
		of.Watchdog = string(f.Link)
	case procfs.SystemAccount(of.UserID) && !h.devices[f.PID] && h.mayTunnel():
		if name, ppp := tunnels.Device(f); name != "" || ppp {
			h.devices[f.PID] = true
		}
	}
	return true
}

// lack notes why it is not known which duties processes have. Only the system's have any: an ordinary user could give a
// process of theirs such sockets.
func (h *holdings) lack(pids []int, why error) {
	for _, pid := range pids {
		if f := h.of[pid]; procfs.SystemAccount(f.UserID) {
			f.Duty.Unread = errors.Join(f.Duty.Unread, why)
		}
	}
}
