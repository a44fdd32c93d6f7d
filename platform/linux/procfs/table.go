// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is one row of the process table and the time it was read.
type Process struct {
	ProcessStat
	Read time.Time
}

// Processes reads the stat file of every process, in directory order. Processes that end meanwhile
// are left out. Each process costs an open, a read and a close (7 µs), which readAtOnce makes.
func (fs FS) Processes(ctx context.Context) ([]Process, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	pids, err := dir.numbers(nil)
	if err != nil {
		return nil, err
	}
	table := make([]Process, 0, len(pids))
	buf := make([]byte, 4096)
	for i, pid := range pids {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p, err := dir.process(pid, buf)
		if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
			return nil, fmt.Errorf("read processes: %w", err)
		}
		if err != nil {
			continue
		}
		if p.Headless {
			fs.revive(&p.ProcessStat)
		}
		table = append(table, p)
	}
	if len(table) == 0 {
		return nil, errNoProcesses
	}
	return table, nil
}

var errNoProcesses = errors.New("/proc holds no readable process: is it mounted, and without hidepid?")

func (d dirHandle) process(pid int, buf []byte) (Process, error) {
	raw, err := d.readAtOnce(pid, "/stat", buf)
	if errors.Is(err, unix.EINTR) {
		raw, err = d.readFile(pid, "/stat", buf)
	}
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
