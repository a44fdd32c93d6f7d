// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// maxTasks bounds how many threads of a process are asked for its program.
const maxTasks = 4096

// maxListed bounds how many threads of a process are listed, of which those that are asked are the last.
const maxListed = 1 << 16

// threadTries bounds how often the threads of a process are listed in which each has ended before it was
// looked at.
const threadTries = 4

// ErrThreadsChange says that a process goes on, and that none of its threads stays long enough to be
// looked at: any user can have each start the next one and end.
var ErrThreadsChange = errors.New("its threads change while they are looked at")

// Thread finds a thread that runs of a process whose first one has ended: /proc/PID then tells neither
// program, files nor arguments (get_task_exe_file, kernel/fork.c), and /proc/TID does, which is not
// listed. The error is fs.ErrNotExist where no thread runs any more, and [ErrThreadsChange] where those
// that were listed have ended and the process has not.
func (f FS) Thread(pid int) (tid int, err error) {
	err = f.anyThread(pid, func(found int) bool {
		if tid = found; f.apart.has(pid) {
			f.apart.put(tid, nil) // under the number that it is read by from now on
		}
		return true
	})
	return tid, err
}

// anyThread looks at one thread that runs after the other until look says that one will do. The errors are those of
// [FS.Thread].
func (f FS) anyThread(pid int, look func(tid int) (fits bool)) error {
	for range threadTries {
		tid, err := f.listedThread(pid)
		if err == nil && look(tid) || err != nil && !Ended(err) {
			return err
		}
		if p, err := readWith(f, parseProcessStat, strconv.Itoa(pid), "stat"); err != nil || !p.Headless {
			return cmp.Or(err, fs.ErrNotExist)
		}
	}
	return ErrThreadsChange
}

// Together reports whether two threads are of one process: the error is fs.ErrNotExist where they are not, or one
// has ended. /proc/PID/status tells so, too, and costs what the user of the process likes ([FS.UID]).
func (f FS) Together(tid, other int) error {
	of := []string{strconv.Itoa(tid), "task", strconv.Itoa(other)}
	path, err := f.path(of...)
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	return f.named(err, of...)
}

// listedThread finds a thread in one listing.
func (f FS) listedThread(pid int) (int, error) {
	dir, err := f.Open(pid, "task")
	if err != nil {
		return 0, err
	}
	defer dir.Close() //nolint:errcheck // only read from
	names, err := dir.Readdirnames(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	asked := names[max(0, len(names)-maxTasks):]
	for _, name := range slices.Backward(asked) { // the oldest are listed first, and most that have ended are older than those that run
		tid, err := strconv.Atoi(name)
		if err != nil || tid == pid {
			continue
		}
		if _, err := f.readlink(strconv.Itoa(pid), "task", name, "exe"); !Ended(err) {
			return tid, nil
		}
	}
	if len(names) > len(asked) || len(names) == maxTasks {
		return 0, fmt.Errorf("the process has %d threads that have ended, or more", maxTasks)
	}
	return 0, fs.ErrNotExist
}

// revive fills in what the kernel tells of a running thread alone (do_task_stat, fs/proc/array.c).
func (f FS) revive(p *ProcessStat) {
	err := f.anyThread(p.PID, func(tid int) bool {
		t, err := readWith(f, parseProcessStat, strconv.Itoa(p.PID), "task", strconv.Itoa(tid), "stat")
		runs := err == nil && t.State != 'Z' && t.RSSPages > 0 // one that ends has no memory any more
		if runs {
			p.State, p.RSSPages = t.State, t.RSSPages
		}
		return runs
	})
	if err != nil && !Ended(err) {
		p.State, p.RSSPages, p.Unseen = 0, 0, true
	}
}

// Ended says whether an error of a file in /proc/PID means that the process has ended, or has no such
// file. Others say nothing of that.
func Ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
