// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"os"
	"strconv"
	"strings"
)

// Executable returns the path of the program that a process runs, as that process sees it. A
// program that was removed or replaced since then keeps its path.
func (fs FS) Executable(pid int) (string, error) {
	path, err := fs.Link(pid, "exe")
	return strings.TrimSuffix(path, deletedMark), err
}

// Self returns the PID of this process in the PID namespace that the mounted
// /proc shows, which need not be its own.
func (fs FS) Self() (int, error) {
	link, err := fs.readlink("self")
	if err != nil {
		return 0, err
	}
	n, ok := number([]byte(link))
	if !ok || n >= 1<<31 {
		return 0, &os.PathError{Op: "readlink", Path: fs.name("self"), Err: ErrFormat}
	}
	return int(n), nil
}

// maxThreads bounds how many threads of a process are read.
const maxThreads = 4096

// Threads reads the stat file of the threads of a process, at most 4096 of them.
func (fs FS) Threads(pid int) ([]ProcessStat, error) {
	of := []string{strconv.Itoa(pid), "task"}
	path, err := fs.path(of...)
	if err != nil {
		return nil, err
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, fs.named(err, of...)
	}
	defer dir.close()
	ids, err := dir.numbers(nil)
	if err != nil {
		return nil, err
	}
	var threads []ProcessStat
	buf := make([]byte, 4096)
	for _, id := range ids[:min(len(ids), maxThreads)] {
		if t, err := dir.process(id, buf); err == nil {
			threads = append(threads, t.ProcessStat)
		}
	}
	return threads, nil
}

// WaitChannel returns the kernel function in which a thread sleeps (proc_pid_wchan(5)), or "" if it
// does not sleep. It needs root.
func (fs FS) WaitChannel(pid, thread int) (string, error) {
	raw, err := fs.read(strconv.Itoa(pid), "task", strconv.Itoa(thread), "wchan")
	if err != nil || string(raw) == "0" {
		return "", err
	}
	return string(raw), nil
}
