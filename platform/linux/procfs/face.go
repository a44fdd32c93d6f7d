// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A Face is what a process runs, as the kernel names it.
type Face struct {
	Program string // what /proc/PID/exe leads to
	Mount   uint64 // the mount that it is in, as in [Held]
	Err     error  // why the program is not known
}

// Faces reads those of processes, with two system calls: 2 µs each. Those that [FS.Processes] has given up are left out.
func (fs FS) Faces(pids []int) ([]Face, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	faces := make([]Face, len(pids))
	buf := make([]byte, unix.PathMax)
	for i, pid := range pids {
		from := int(fs.in(dir, pid))
		if from == nowhere {
			faces[i].Err = ErrStuck
			continue
		}
		n, err := retry(func() (int, error) { return readlinkat(from, pid, "/exe", buf) })
		if faces[i].Err = err; err != nil {
			continue
		}
		faces[i].Program = string(buf[:n])
		if held, err := remembered(from, strconv.Itoa(pid)+"/exe"); err == nil && fs.dir == "/proc" {
			faces[i].Mount = held.Mount
		}
	}
	return faces, nil
}

// A Title is what a process calls itself: its first argument.
type Title struct {
	Text string // "" where there is none
	Err  error  // [ErrStuck] where it is kept from being read
}

// Titles reads those of processes. With one goroutine for many it costs half of reading one after the
// other.
func (fs FS) Titles(pids []int) []Title {
	titles := make([]Title, len(pids))
	for i, o := range readEach(fs.memory, pids, fs.userOf, fs.firstArgument) {
		titles[i] = Title{o.value, o.err}
	}
	return titles
}

// commands are buffers for command lines. What is stuck keeps its own.
var commands = sync.Pool{New: func() any { return new([maxCommand]byte) }}

// firstArgument opens the file by its whole path: whoever is given up may go on when the others are done,
// and a directory is closed by then.
func (fs FS) firstArgument(pid int) (string, error) {
	path, err := fs.path(strconv.Itoa(pid), "cmdline")
	if err != nil {
		return "", err
	}
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return "", err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	buf := commands.Get().(*[maxCommand]byte)
	defer commands.Put(buf)
	n, err := retry(func() (int, error) { return unix.Read(fd, buf[:]) })
	if err != nil {
		return "", err
	}
	first, _, _ := bytes.Cut(buf[:n], []byte{0})
	return string(first), nil
}
