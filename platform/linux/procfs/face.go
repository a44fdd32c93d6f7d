// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A Face is what a process runs, and what it calls itself.
type Face struct {
	Program  string // what /proc/PID/exe leads to
	Argument string // its first one; "" where there is none, or it cannot be read
	Err      error  // why the program is not known
}

// Faces reads those of processes. Arguments are only read of those whose program is known, and like those
// of [FS.CommandLine] they can be kept from being read. With raw system calls, and one
// goroutine for many processes, it costs less than a third of reading one after the other.
func (fs FS) Faces(pids []int) ([]Face, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	faces, known, at := make([]Face, len(pids)), make([]int, 0, len(pids)), make([]int, 0, len(pids))
	buf := make([]byte, unix.PathMax)
	for i, pid := range pids {
		n, err := retry(func() (int, error) { return readlinkat(int(dir), pid, "/exe", buf) })
		if faces[i].Err = err; err == nil {
			faces[i].Program = string(buf[:n])
			known, at = append(known, pid), append(at, i)
		}
	}
	for i, o := range readEach(fs.memory, known, fs.userOf, fs.firstArgument) {
		faces[at[i]].Argument = o.value
	}
	return faces, nil
}

// commands are buffers for command lines. What is stuck keeps its own.
var commands = sync.Pool{New: func() any { return new([maxCommand]byte) }}

// firstArgument opens the file by its whole path: whoever is given up may go on when the others are done,
// and a directory is closed by then.
func (fs FS) firstArgument(pid int) (string, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(fs.path(strconv.Itoa(pid), "cmdline"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
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
