// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package containers finds the containers of Linux: those of Docker and Podman, of the system and of
// users, through their sockets, and those of systemd-nspawn and LXC as far as the system tells.
package containers

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/accounts"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/unix/engine"
	"sentinel/platform/unix/hostfile"
)

// Bounds of what the engines of users cost.
const (
	maxUsers    = 100              // who are looked at for engines of their own
	usersAtOnce = 4                // engines; each may take tens of MB
	usersLimit  = 12 * time.Second // for all of them
)

// A Source finds the containers of a machine, by its root directory; "/" is the running system.
type Source string

// Containers implements [containers.Source].
func (s Source) Containers(ctx context.Context, gaps *answer.Gaps) ([]containers.Engine, []containers.Facts, error) {
	sockets := s.sockets(gaps)
	found, proc := askAll(ctx, sockets, ask), procfs.New(string(s))
	var engines []containers.Engine
	var list []containers.Facts
	var ofUsers []answer.Place
	for i, p := range found {
		disown(sockets[i], usersOf(ctx, proc), p.list, &p.gaps)
		if sockets[i].Owner == 0 {
			gaps.Add("engines."+sockets[i].Path, p.err)
			*gaps = append(*gaps, p.gaps...)
		} else {
			ofUsers = append(ofUsers, p.places(sockets[i])...)
		}
		engines, list = append(engines, p.engines...), append(list, p.list...)
	}
	if rest := gaps.AddPlaces(ofUsers); len(rest) > 0 {
		gaps.Note("engines", "more that those of users did not tell: "+strconv.Itoa(len(rest)))
	}
	list = append(list, s.machines(gaps)...)
	list = append(list, s.lxc(gaps)...)
	for i := range list {
		if ctx.Err() != nil {
			break
		}
		s.measure(proc, &list[i])
	}
	return engines, list, ctx.Err()
}

// askAll asks the engines of the system at once, and few of users at a time, who answer as much as they
// like.
func askAll(ctx context.Context, sockets []engine.Socket, ask func(context.Context, engine.Socket) part) []part {
	ofUsers, cancel := context.WithTimeout(ctx, usersLimit)
	defer cancel()
	found := make([]part, len(sockets))
	places := make(chan struct{}, usersAtOnce)
	var all sync.WaitGroup
	for i, socket := range sockets {
		all.Go(func() {
			if socket.Owner == 0 {
				found[i] = ask(ctx, socket)
				return
			}
			select {
			case places <- struct{}{}:
				found[i] = ask(ofUsers, socket)
				<-places
			case <-ofUsers.Done():
				found[i].err = ofUsers.Err()
			}
		})
	}
	all.Wait()
	return found
}

// A part is the answer of one engine.
type part struct {
	engines []containers.Engine
	list    []containers.Facts
	gaps    answer.Gaps
	err     error
}

// places is what the engine of a user did not tell, whose user chose the names in it.
func (p part) places(socket engine.Socket) []answer.Place {
	told := answer.Gaps{}
	told.Add("engines."+socket.Path, p.err)
	var list []answer.Place
	for _, g := range append(told, p.gaps...) {
		list = append(list, answer.Place{Field: g.Field, Reason: g.Reason, Owner: socket.User})
	}
	return list
}

func ask(ctx context.Context, socket engine.Socket) part {
	var p part
	p.engines, p.list, p.err = engine.Containers(ctx, socket, &p.gaps)
	return p
}

// sockets lists where engines listen: that of the system, and one for each user with a runtime
// directory (dockerd-rootless.sh, podman-system-service(1)).
func (s Source) sockets(gaps *answer.Gaps) []engine.Socket {
	at := func(parts ...string) string { return filepath.Join(append([]string{string(s)}, parts...)...) }
	list := []engine.Socket{{Path: at("run", "docker.sock")}, {Path: at("run", "podman", "podman.sock")}}
	names, _ := accounts.Read(string(s)) //nolint:errcheck // who has no name is told by number
	users, err := hostfile.Names(at("run", "user"), maxUsers)
	if err != nil && !hostfile.Missing(err) {
		gaps.Add("engines", err)
	}
	for _, name := range users {
		uid, err := strconv.Atoi(name)
		if err != nil || uid <= 0 {
			continue
		}
		for _, path := range []string{at("run", "user", name, "docker.sock"), at("run", "user", name, "podman", "podman.sock")} {
			list = append(list, engine.Socket{Path: path, Owner: uid, User: names.Name(uid)})
		}
	}
	return list
}

// disown takes the processes out of what the engine of a user tells that are not that user's: it may name
// anybody's, as what runs in a container of its own, and one for as many containers as it likes.
func disown(socket engine.Socket, user func(pid int) (int, error), list []containers.Facts, gaps *answer.Gaps) {
	if socket.Owner == 0 {
		return
	}
	others := 0
	for i, f := range list {
		if f.PID <= 0 {
			continue
		}
		uid, err := user(f.PID)
		if err == nil && uid == socket.Owner {
			continue
		}
		list[i].PID = 0
		if err == nil {
			others++
		}
	}
	if others > 0 {
		gaps.Note("engines."+socket.Path, "of "+humanize.Count(others, "container", "containers")+" it names a process that is not its user's, which is left out")
	}
}

// usersOf asks for the user of each process once, and for none any more when ctx ends.
func usersOf(ctx context.Context, proc procfs.FS) func(pid int) (int, error) {
	type user struct {
		uid int
		err error
	}
	known := map[int]user{}
	return func(pid int) (int, error) {
		of, asked := known[pid]
		switch {
		case asked:
			return of.uid, of.err
		case ctx.Err() != nil:
			return 0, ctx.Err()
		}
		proc.ProcessInTime(pid) //nolint:errcheck // so that one that is kept from being read is known
		of.uid, of.err = proc.User(pid)
		known[pid] = of
		return of.uid, of.err
	}
}

// measure adds what a container that runs takes, from the control group of its first process.
func (s Source) measure(proc procfs.FS, f *containers.Facts) {
	if f.PID <= 0 || f.State != containers.Running && f.State != containers.Paused {
		f.PID = 0
		return
	}
	raw, err := membership(proc, f.PID)
	if err != nil {
		return
	}
	use, err := cgroup.Use(string(s), groupOf(raw))
	if err != nil {
		return
	}
	f.Use = combined(f.Use, use)
}

const maxMembership = 16 << 10

// membership reads which control groups a process is in.
func membership(proc procfs.FS, pid int) ([]byte, error) {
	proc.ProcessInTime(pid) //nolint:errcheck // so that one that is kept from being read is known
	file, err := proc.Open(pid, "cgroup")
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	return io.ReadAll(io.LimitReader(file, maxMembership))
}

// groupOf finds the group of a container (cgroups(7), /proc/PID/cgroup): of control groups v1 that of its
// memory, or else that in the unified hierarchy; one that an init inside of the container made below is
// left out.
func groupOf(membership []byte) string {
	groups := map[string]string{}
	for line := range strings.Lines(string(membership)) {
		if parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3); len(parts) == 3 {
			groups[parts[1]] = strings.TrimSuffix(parts[2], "/")
		}
	}
	group := cmp.Or(groups["memory"], groups[""], "/")
	for _, inner := range []string{"/init.scope", "/payload", "/container"} {
		group = strings.TrimSuffix(group, inner)
	}
	return group
}

// combined takes what is used from the control group, and limits from there where the engine told
// none.
func combined(told containers.Use, seen cgroup.Usage) containers.Use {
	told.MemoryBytes = seen.Memory
	if told.MemoryLimitBytes == nil && seen.MemoryLimit > 0 {
		told.MemoryLimitBytes = &seen.MemoryLimit
	}
	if told.CPULimit == 0 {
		told.CPULimit = seen.CPULimit
	}
	if seen.Throttled != nil && told.CPULimit > 0 {
		told.CPUThrottledSeconds = new(seen.Throttled.Seconds())
	}
	if seen.Tasks != nil {
		told.Tasks = new(int(*seen.Tasks))
	}
	if told.TaskLimit == nil && seen.TasksLimit > 0 {
		told.TaskLimit = new(int(seen.TasksLimit))
	}
	return told
}
