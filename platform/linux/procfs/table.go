// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is one row of the process table and the time it was read.
type Process struct {
	ProcessStat
	Read time.Time
}

// Processes reads the stat file of every process, in directory order. Processes that end meanwhile
// are left out. Each process costs an open, a read and a close (7 µs).
//
// Everybody can have processes whose stat file nobody gets to read: since Linux 6.18 at the latest it waits for the
// process to begin another program (do_task_stat, fs/proc/array.c), which waits as it closes files of a FUSE file
// system. And whoever lists a directory in /proc into memory that such a file system serves keeps all others from
// it. Those are given up, and returned apart.
func (fs FS) Processes(ctx context.Context) (table []Process, stuck []int, err error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, nil, err
	}
	pids, err := dir.numbers(nil)
	if err != nil {
		dir.close()
		return nil, nil, err
	}
	table = make([]Process, 0, len(pids))
	rows := readStats(fs, dir, pids, func(dir dirHandle, pid int, buf []byte) (Process, error) {
		if ctx.Err() != nil {
			return Process{}, ctx.Err()
		}
		p, err := dir.process(pid, buf)
		if err == nil && p.Headless {
			fs.revive(&p.ProcessStat)
		}
		return p, err
	})
	for i, r := range rows {
		switch {
		case ctx.Err() != nil:
			return nil, stuck, ctx.Err()
		case errors.Is(r.err, unix.EMFILE), errors.Is(r.err, unix.ENFILE):
			return nil, stuck, fmt.Errorf("read processes: %w", r.err)
		case errors.Is(r.err, ErrStuck):
			stuck = append(stuck, pids[i])
		case r.err == nil:
			table = append(table, r.value)
		}
	}
	if len(table) == 0 {
		return nil, stuck, errNoProcesses
	}
	return table, stuck, nil
}

// ProcessInTime is [FS.Process] of one that may be kept from being read: then it fails with [ErrStuck].
func (fs FS) ProcessInTime(pid int) (ProcessStat, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return ProcessStat{}, err
	}
	read := readStats(fs, dir, []int{pid}, dirHandle.process)[0]
	if read.err == nil && read.value.Headless {
		fs.revive(&read.value.ProcessStat)
	}
	return read.value.ProcessStat, read.err
}

// answering parts processes into those that can be read and those that are stuck.
func (fs FS) answering(pids []int) (answer []int, stuck []Skipped) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return pids, nil
	}
	asked := readStats(fs, dir, pids, func(dir dirHandle, pid int, buf []byte) (struct{}, error) {
		_, err := dir.readFile(pid, "/stat", buf)
		return struct{}{}, err
	})
	for i, a := range asked {
		if errors.Is(a.err, ErrStuck) {
			stuck = append(stuck, Skipped{pids[i], fs.Owner(pids[i]), ErrStuck})
		} else {
			answer = append(answer, pids[i])
		}
	}
	return answer, stuck
}

// readStats calls open for the processes with a buffer, which it must not keep, and closes dir unless one was given up,
// which may still use it. What is kept from being read there is read apart.
func readStats[T any](fs FS, dir dirHandle, pids []int, open func(dir dirHandle, pid int, buf []byte) (T, error)) []outcome[T] {
	_, none := fs.apart.fd()
	read := func(m *memoryReader, dir dirHandle, pids []int) []outcome[T] {
		return readEach(m, pids, fs.Owner, func(pid int) (T, error) {
			if none != nil { // all else of it is read here, too
				dir.search(pid)
			}
			buf := statBuffers.Get().(*[4096]byte)
			defer statBuffers.Put(buf)
			return open(dir, pid, buf[:])
		})
	}
	waited := fs.stats.waitedFor()
	all := read(fs.stats, dir, pids)
	if fs.stats.waitedFor() == waited {
		dir.close()
	}
	stuck, at := stuckOf(all, pids)
	if own, is := fs.apart.begin(stuck); is {
		for i, o := range read(fs.apart.stats, own, stuck) {
			all[at[i]] = o
			fs.apart.put(stuck[i], o.err)
		}
	}
	return all
}

// statBuffers are for one process each: what was given up keeps its own.
var statBuffers = sync.Pool{New: func() any { return new([4096]byte) }}

// Owner returns the user whose rights a process has, as [FS.User] has users: its directory tells that of one that is
// stuck, too. It is -1 where that cannot be read.
func (fs FS) Owner(pid int) int {
	uid, err := fs.ownerOf(pid, "")
	if err != nil {
		return unknownUser
	}
	return fs.users.of(uid)
}

var errNoProcesses = errors.New("/proc holds no readable process: is it mounted, and without hidepid?")

func (d dirHandle) process(pid int, buf []byte) (Process, error) {
	raw, err := d.readFile(pid, "/stat", buf)
	if err != nil {
		return Process{}, err
	}
	stat, err := parseProcessStat(raw)
	if err != nil {
		return Process{}, err
	}
	if stat.PID != pid {
		return Process{}, fmt.Errorf("pid: %w", ErrFormat)
	}
	return Process{ProcessStat: stat, Read: time.Now()}, nil
}

// readFile reads pid+name below d with three system calls.
func (d dirHandle) readFile(pid int, name string, buf []byte) ([]byte, error) {
	fd, err := d.open(pid, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	n, err := retry(func() (int, error) { return unix.Read(fd, buf) })
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
