// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	domain "sentinel/internal/network"
	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

// maxNamed bounds how many descriptors are kept with their names; all are counted.
const maxNamed = 2000

// A descriptor is an open file.
type descriptor struct {
	fd         int
	name, link string // as in [procfs.OpenFile]
	registered bool
}

// descriptors reads what the process has open.
func (r *reading) descriptors(ctx context.Context) {
	if r.o.Claim.Kernel || r.stat.Zombie() {
		return
	}
	files, kinds, inodes, err := r.open()
	if err != nil {
		r.lacks("open_files", err)
		r.lacks("sockets", err)
		return
	}
	open := &processes.OpenFiles{ByKind: counts(kinds)}
	for _, n := range kinds {
		open.Total += n
	}
	for _, d := range files {
		open.Files = append(open.Files, r.openFile(d))
	}
	r.o.OpenFiles = open
	r.sockets(ctx, inodes)
}

// open walks over the descriptors. What it reads waits for no file system.
func (r *reading) open() (files []descriptor, kinds map[string]int, inodes map[uint64]bool, err error) {
	reader, err := r.proc.FileReader()
	if err != nil {
		return nil, nil, nil, err
	}
	defer reader.Close()
	kinds, inodes = map[string]int{}, map[uint64]bool{}
	tables := map[int]int{}
	defer func() { r.o.MostOpen = most(tables) }()
	err = reader.Files(r.task, func(f procfs.OpenFile) bool {
		if !f.Registered() {
			tables[f.Task]++
		}
		if inode, ok := f.Socket(); ok {
			kinds["socket"]++
			inodes[inode] = true
			return true
		}
		kind := kindOf(f.Link)
		kinds[kind]++
		if named(kind) && len(files) < maxNamed {
			files = append(files, descriptor{f.FD, f.Name(), string(f.Link), f.Registered()})
		}
		return true
	})
	if len(kinds) > 0 {
		r.lacks("open_files.total", err) // a part of them
		err = nil
	}
	return files, kinds, inodes, err
}

// most is the size of the largest table of files: threads may each have one of their own, with a limit of its own.
func most(tables map[int]int) (n int) {
	for _, size := range tables {
		n = max(n, size)
	}
	return n
}

// kindOf says what a descriptor refers to, from its link (proc_pid_fd(5)).
func kindOf(link []byte) string {
	text := string(link)
	switch {
	case strings.HasPrefix(text, "pipe:"):
		return "pipe"
	case strings.HasPrefix(text, "anon_inode:"):
		return "event"
	case strings.HasPrefix(text, "/memfd:"), strings.HasPrefix(text, "/dev/shm/"), strings.HasPrefix(text, "/SYSV"), strings.HasPrefix(text, "/dmabuf:"):
		return "memory"
	case bytes.HasSuffix(link, []byte(" (deleted)")):
		return processes.Removed
	case strings.HasPrefix(text, "/dev/"):
		return "device"
	case strings.HasPrefix(text, "/"):
		return "file"
	default:
		return "other"
	}
}

// named says whether descriptors of a kind have names that tell something.
func named(kind string) bool {
	return slices.Contains([]string{"file", processes.Removed, "device"}, kind)
}

// cutLink is the length at which links of descriptors are cut.
const cutLink = 128

func (r *reading) openFile(d descriptor) processes.OpenFile {
	if len(d.link) >= cutLink && !d.registered {
		if whole, err := r.proc.Link(r.task, d.name); err == nil {
			d.link = whole
		}
	}
	f := processes.OpenFile{FD: d.fd, Kind: kindOf([]byte(d.link)), Path: d.link}
	if f.Kind == processes.Removed {
		f.Path = strings.TrimSuffix(d.link, " (deleted)")
		if d.registered {
			return f // its size is not told
		}
		if held, err := r.proc.Held(r.task, d.name); err == nil {
			f.SizeMB = new(mebibytes(held.Blocks * 512))
		}
	}
	return f
}

func counts(kinds map[string]int) []processes.KindCount {
	list := []processes.KindCount{}
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) }) {
		list = append(list, processes.KindCount{Kind: kind, Count: kinds[kind]})
	}
	return list
}

// sockets looks the sockets up in the network namespace of the process, and in that of this run.
func (r *reading) sockets(ctx context.Context, inodes map[uint64]bool) {
	of := &processes.ProcessSockets{Total: len(inodes)}
	r.o.Sockets = of
	if len(inodes) == 0 {
		return
	}
	source := r.network
	if own, err := r.proc.Link(r.task, "ns/net"); err == nil && r.root == "/" {
		if here, err := os.Readlink("/proc/self/ns/net"); err == nil && here != own {
			source = source.Of(r.task)
		}
	}
	kinds := map[string]int{}
	take := func(s domain.Socket) {
		if !inodes[s.ID] {
			return
		}
		delete(inodes, s.ID)
		protocol := strings.ToUpper(string(s.Protocol))
		kinds[protocol+" "+string(s.State)]++
		row := processes.ProcessSocket{Protocol: protocol, State: string(s.State), Local: s.Local.String()}
		if s.Remote.IsValid() && s.Remote.Port() != 0 {
			row.Remote = s.Remote.String()
		}
		if len(of.Sockets) < maxNamed {
			of.Sockets = append(of.Sockets, row)
		}
	}
	err := source.Sockets(ctx, take)
	if source != r.network && len(inodes) > 0 { // a process that moved keeps what it had
		err = errors.Join(err, r.network.Sockets(ctx, take))
	}
	r.lacks("sockets.sockets", err)
	if rest := len(inodes); rest > 0 {
		kinds["Unix and others, or of another network"] = rest
	}
	of.ByState = counts(kinds)
}
