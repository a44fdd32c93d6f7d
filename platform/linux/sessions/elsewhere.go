// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"sentinel/internal/sanitize"
	"sentinel/internal/sessions"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/procfs"
)

// Bounds of looking into other network namespaces.
const (
	maxSpaces     = 4
	maxContainers = 64
	maxAncestors  = 4096
)

// elsewhere adds the sockets and addresses of the network namespaces that ancestors of this run live
// in, where these are others (ip-netns(8), nsenter(1), NetworkNamespacePath= of systemd.exec(5)): the
// server of this run's session has its connections there. A namespace that may not be named belongs to
// nobody whom this run could look into anyway; one that cannot be entered is said to be missing.
func (r *reading) elsewhere(ctx context.Context, table []procfs.Process, s *sessions.Snapshot) {
	seen := map[string]bool{r.space: true}
	for _, p := range ancestors(table, r.self) {
		name := r.namespace(p.PID, "net")
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		space := sessions.Space(len(s.Elsewhere) + 1)
		if err := r.enter(ctx, p.PID, space, s); err == nil {
			r.spaces[name] = sessions.Container{Space: space, Addresses: s.Elsewhere[space]}
		} else {
			s.Unread = append(s.Unread, fmt.Sprintf("whom %s (PID %d), which this run comes from, is connected with is not seen, since it is in another network namespace (%v)",
				sanitize.Quoted(p.Name, 32), p.PID, err))
		}
	}
}

// ancestors returns a process and those above it, the nearest first.
func ancestors(table []procfs.Process, pid int) (line []procfs.Process) {
	byPID := make(map[int]procfs.Process, len(table))
	for _, p := range table {
		byPID[p.PID] = p
	}
	for p, ok := byPID[pid]; ok && p.PID > 1 && len(line) < maxAncestors; p, ok = byPID[p.ParentPID] {
		line = append(line, p)
	}
	return line
}

// namespace names a namespace of a process; empty if that may not be known.
func (r *reading) namespace(pid int, kind string) string {
	name, _ := r.proc.Link(pid, "ns/"+kind) //nolint:errcheck // see above
	return name
}

// firstPIDs is the PID namespace of the machine itself (PROC_PID_INIT_INO of linux/proc_ns.h).
const firstPIDs = "pid:[4026531836]"

// isElsewhere reports whether a process is known to live in another PID or network namespace than this
// run.
func (r *reading) isElsewhere(pid int) bool {
	other := func(kind, own string) bool {
		name := r.namespace(pid, kind)
		return name != "" && own != "" && name != own
	}
	return other("net", r.space) || other("pid", r.pids)
}

// enter reads the network namespace of a process.
func (r *reading) enter(ctx context.Context, pid int, space sessions.Space, s *sessions.Snapshot) error {
	if space > maxSpaces {
		return errors.New("there are too many of them")
	}
	f, err := r.open(pid)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read from
	n, err := look(ctx, f)
	if err != nil {
		return err
	}
	s.Sockets = append(s.Sockets, n.in(space)...)
	if s.Elsewhere == nil {
		s.Elsewhere = map[sessions.Space][]netip.Addr{}
	}
	s.Elsewhere[space] = n.addresses
	return nil
}

// open opens the network namespace of a process.
func (r *reading) open(pid int) (*os.File, error) {
	return r.proc.Open(pid, "ns/net")
}

// A network is what a network namespace has.
type network struct {
	sockets   []sessions.Socket
	addresses []netip.Addr
}

// in returns the sockets as those of a space.
func (n network) in(space sessions.Space) []sessions.Socket {
	for i := range n.sockets {
		n.sockets[i].Space = space
	}
	return n.sockets
}

// look reads a network namespace.
func look(ctx context.Context, namespace *os.File) (n network, err error) {
	err = within(namespace, func() (err error) {
		if n.sockets, err = sockets(ctx); err == nil {
			n.addresses, err = interfaces.Addresses()
		}
		return err
	})
	return n, err
}

// within does something in a network namespace, on a thread of its own, which ends afterwards, and is not the main
// one.
func within(namespace *os.File, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread is in the wrong namespace, and ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread() // the main one never ends, and what /proc/net tells is of it
			done <- within(namespace, do)
			return
		}
		err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
