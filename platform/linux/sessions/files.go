// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
)

// Open implements [sessions.Source].
func (r *reading) Open(ctx context.Context, pid int) (f sessions.Files, err error) {
	err = r.files.Files(pid, func(o procfs.OpenFile) bool {
		if inode, ok := o.Socket(); ok {
			f.Sockets = append(f.Sockets, sessions.SocketID(inode))
			f.Sockets = append(f.Sockets, r.paths[sessions.SocketID(inode)]...)
		} else if bytes.HasSuffix(o.Link, []byte("ptmx")) {
			f.Masters = append(f.Masters, master(o.About())...)
		} else if n, ok := bytes.CutPrefix(o.Link, []byte("/dev/pts/")); ok {
			f.Terminals = addTerminal(f.Terminals, "pts/"+string(n), o.Opened)
		}
		return ctx.Err() == nil
	})
	if err != nil {
		uid, _ := r.proc.UID(pid) //nolint:errcheck // 0 is root, whose bound counts for nobody
		err = skippedError(err, []procfs.Skipped{{PID: pid, UID: uid, Err: err}})
	}
	return f, errors.Join(err, ctx.Err())
}

// maxTerminals bounds how many terminals are told of one process: anybody may have the same open any number of times.
const maxTerminals = 64

func addTerminal(list []string, name string, opened func() bool) []string {
	if len(list) >= maxTerminals || slices.Contains(list, name) || !opened() {
		return list
	}
	return append(list, name)
}

// master finds which terminal an open /dev/ptmx serves: "tty-index:" (drivers/tty/pty.c, Linux 4.14).
func master(about []byte) []string {
	if n := field(about, "tty-index:"); n != "" {
		return []string{"pts/" + n}
	}
	return nil
}

// Serving implements [sessions.Source]. Whoever has a mount of devpts of their own has terminals with the numbers of
// others there: what was opened through a mount of this run's is of its own devpts (devpts_acquire in
// fs/devpts/inode.c), and the number of a mount tells it from all others.
func (r *reading) Serving(ctx context.Context) (map[string][]int, error) {
	own, err := r.deviceMounts()
	if err != nil {
		return nil, err
	}
	found := map[string][]int{}
	skipped, err := r.proc.OpenFiles(ctx, nil, func(o procfs.OpenFile) bool {
		if bytes.HasSuffix(o.Link, []byte("ptmx")) {
			about := o.About()
			for _, terminal := range master(about) {
				if own[field(about, "mnt_id:")] && !slices.Contains(found[terminal], o.PID) {
					found[terminal] = append(found[terminal], o.PID)
				}
			}
		}
		return ctx.Err() == nil
	})
	for _, pids := range found {
		slices.Sort(pids)
	}
	if err == nil && len(skipped) > 0 {
		err = skippedError(skipped[0].Err, skipped)
	}
	return found, errors.Join(err, ctx.Err())
}

// deviceMounts are the numbers of the mounts at which this run finds ptmx (proc_pid_mountinfo(5)).
func (r *reading) deviceMounts() (map[string]bool, error) {
	table, err := mounts.New(r.root).Table()
	if err != nil {
		return nil, err
	}
	numbers := map[string]bool{}
	for _, m := range table {
		if slices.Contains([]string{"/", "/dev", "/dev/pts", "/dev/ptmx"}, m.Mountpoint) {
			numbers[strconv.Itoa(m.ID)] = true
		}
	}
	return numbers, nil
}

// field is a value of fdinfo (proc_pid_fdinfo(5)).
func field(about []byte, name string) string {
	for line := range bytes.Lines(about) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Holders implements [sessions.Source]. The first question is answered for all sockets that another
// may be about, since all processes have to be looked at for it.
func (r *reading) Holders(ctx context.Context, list []sessions.Socket) (map[sessions.SocketID][]int, error) {
	if r.wanted == nil || slices.ContainsFunc(list, func(k sessions.Socket) bool { return !r.wanted[inodeOf(k.ID)] }) {
		if err := r.findHolders(ctx, list); err != nil {
			return nil, err
		}
	}
	found := map[sessions.SocketID][]int{}
	for _, k := range list {
		for _, h := range r.holders[inodeOf(k.ID)] {
			found[k.ID] = append(found[k.ID], h.PID)
		}
	}
	if len(r.skipped) > 0 && len(found) < len(list) {
		return found, r.notLookedAt()
	}
	return found, nil
}

// findHolders looks for who holds the sockets that listen or have their other end on this machine, and
// in a container all: who is outside of it may hold them. An address that is routed to this machine need be on
// none of its interfaces, and then the socket at the other end tells.
func (r *reading) findHolders(ctx context.Context, list []sessions.Socket) (err error) {
	wanted := map[uint64]bool{}
	for _, k := range list {
		wanted[inodeOf(k.ID)] = true
	}
	here := map[netip.AddrPort]bool{}
	for _, k := range r.sockets {
		here[plain(k.Local)] = true
	}
	for _, k := range r.sockets {
		if remote := plain(k.Remote); r.nested || k.Listening || here[remote] || remote.Addr().IsLoopback() || r.own[remote.Addr()] {
			wanted[inodeOf(k.ID)] = true
		}
	}
	maps.Copy(wanted, r.wanted)
	r.wanted = wanted
	r.holders, r.skipped, err = r.proc.SocketHolders(ctx, wanted)
	return err
}

// plain is an address without what does not tell one host from another.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// notLookedAt names the users of processes that were not looked at.
func (r *reading) notLookedAt() error {
	known, _ := r.names() //nolint:errcheck // a user without a name is shown as a number
	users := map[int]bool{}
	var names []string
	for _, s := range r.skipped {
		if !users[s.UID] && len(names) < 3 {
			names = append(names, known.Name(s.UID))
		}
		users[s.UID] = true
	}
	err := fmt.Errorf("not all files of the processes of user %s were looked at: %w", strings.Join(names, ", "), r.skipped[0].Err)
	return skippedError(err, r.skipped)
}

// skippedError is err with whose bounds were reached, if so.
func skippedError(err error, skipped []procfs.Skipped) error {
	if !slices.ContainsFunc(skipped, func(s procfs.Skipped) bool { return bound(s.Err) }) {
		return err
	}
	e := &sessions.SkippedError{Err: err}
	for _, s := range skipped {
		if errors.Is(s.Err, procfs.ErrManyFiles) && !slices.Contains(e.Users, s.UID) {
			e.Users = append(e.Users, s.UID)
		}
	}
	return e
}

// bound reports whether something was not read because there was too much of it.
func bound(err error) bool {
	return errors.Is(err, procfs.ErrManyFiles) || errors.Is(err, procfs.ErrFilesTime)
}
