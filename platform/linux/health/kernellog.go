// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/health"
	"sentinel/internal/lazyregexp"
)

// maxKernelLog bounds what is read of the kernel's log, in bytes. Its buffer has some
// hundred KiB by default and 32 MiB at most (CONFIG_LOG_BUF_SHIFT).
const maxKernelLog = 32 << 20

// longestRecord is more than one of the log has (CONSOLE_EXT_LOG_MAX in kernel/printk), in bytes.
const longestRecord = 16 << 10

// A kernelLog is what the log says of processes that were killed for want of memory.
type kernelLog struct {
	kills   []oomKill // oldest first
	first   time.Duration
	resumed time.Duration     // when the last suspend that it tells of was over; 0 if there is none
	whole   bool              // it begins at boot
	victims map[string]victim // those whose end has not been told yet, by their PIDs
}

// An oomKill is a process that was killed at a time since boot, in a control group; "" is unknown, and so is a
// user ID of -1.
type oomKill struct {
	at          time.Duration
	name, group string
	uid         int
}

// logDevice is the log device of the kernel, which gives one record to each read, and refuses those that have less
// room than it takes (Documentation/ABI/testing/dev-kmsg).
type logDevice struct{ fd, read int }

func (d *logDevice) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(d.fd, p)
		d.read += max(n, 0)
		switch {
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR): // the record was overwritten
			continue
		case errors.Is(err, unix.EAGAIN) || err == nil && n == 0:
			return 0, io.EOF
		case err == nil && d.read > maxKernelLog:
			return 0, io.ErrShortBuffer
		}
		return max(n, 0), err
	}
}

// readKernelLog reads the log device of the kernel.
func readKernelLog(path string) (kernelLog, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return kernelLog{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return parseKernelLog(&logDevice{fd: fd})
}

// parseKernelLog reads records one at a time: few of a log are of interest.
func parseKernelLog(r io.Reader) (kernelLog, error) {
	in, log := bufio.NewReaderSize(r, longestRecord), kernelLog{first: -1, victims: map[string]victim{}}
	for {
		line, err := in.ReadSlice('\n')
		log.line(line)
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return kernelLog{}, err
		}
	}
}

// killed is how the kernel tells of it, before Linux 5.0 without the reason and before 5.4 without the user ID
// (mm/oom_kill.c, __oom_kill_process). A name may hold anything but a line break; what follows the last
// "total-vm:" is the kernel's.
var killed = lazyregexp.New(`^(?:(?:Memory cgroup out|Out) of memory(?: \([a-z_]+\))?: )?Killed process (\d+) \((.*)\) total-vm:(?:.*, UID:(\d+))?`)

// summary is the line before, with the control group of the process (mm/oom_kill.c, dump_oom_summary,
// since Linux 5.0).
var summary = lazyregexp.New(`^oom-kill:constraint=.*,pid=(\d+),uid=(\d+)\s*$`)

// A victim is what a summary says of a process.
type victim struct {
	group string
	uid   int
}

// groupOf returns the control group that a summary names, "" where it may have been written by a user. The kernel
// writes "oom_memcg=PATH,task_memcg=PATH,task=NAME", and users choose names in both paths below what is delegated
// to them, and those of processes. A message of another processor ends the record within a path, which then
// is all there is. But a path begins with what root has named, and that of a process is in the group that was full.
func groupOf(text string) string {
	if strings.Count(text, ",task_memcg=") != 1 || strings.Count(text, ",task=") != 1 {
		return ""
	}
	before, rest, _ := strings.Cut(text, ",task_memcg=")
	group, _, _ := strings.Cut(rest, ",task=")
	_, full, limited := strings.Cut(before, ",oom_memcg=")
	switch {
	case !strings.HasPrefix(group, "/"):
		return ""
	case limited && (group == full || strings.HasPrefix(group, full+"/")):
		return group
	case !limited && strings.HasSuffix(before, ",global_oom"):
		return group
	}
	return ""
}

// parsedID returns an ID that a regular expression found, -1 for none.
func parsedID(digits []byte) int {
	n, err := strconv.ParseUint(string(digits), 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// line takes a record "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT"; lines behind it begin with a blank. Only the kernel
// itself writes with facility 0, so nobody can forge one. A record with a flag is what did not fit into the one before
// (LOG_CONT), and can begin with a name that a user chose.
func (l *kernelLog) line(line []byte) {
	head, text, ok := bytes.Cut(line, []byte(";"))
	fields := bytes.Split(head, []byte(","))
	if !ok || len(fields) < 4 || line[0] == ' ' {
		return
	}
	priority, err := strconv.ParseUint(string(fields[0]), 10, 32)
	sequence, serr := strconv.ParseUint(string(fields[1]), 10, 64)
	micros, terr := strconv.ParseUint(string(fields[2]), 10, 53)
	if err != nil || serr != nil || terr != nil {
		return
	}
	at := time.Duration(micros) * time.Microsecond
	if l.first < 0 {
		l.first, l.whole = at, sequence == 0
	}
	if priority>>3 == 0 && string(fields[3]) == "-" {
		l.message(at, text)
	}
}

// message takes what the kernel says of a kill, and at the end of a suspend: "PM: suspend exit", "PM: hibernation
// exit" and the like (kernel/power/suspend.c and hibernate.c).
func (l *kernelLog) message(at time.Duration, text []byte) {
	if bytes.HasPrefix(text, []byte("PM: ")) && bytes.HasSuffix(text, []byte(" exit\n")) {
		l.resumed = at
	}
	if m := summary.Get().FindSubmatch(text); m != nil {
		l.victims[string(m[1])] = victim{groupOf(string(text)), parsedID(m[2])}
	}
	m := killed.Get().FindSubmatch(text)
	if m == nil {
		return
	}
	pid, k := string(m[1]), oomKill{at: at, name: string(m[2]), uid: parsedID(m[3])}
	if v, told := l.victims[pid]; told && (k.uid < 0 || v.uid == k.uid) {
		k.group, k.uid = v.group, v.uid
	}
	l.kills = append(l.kills, k)
	delete(l.victims, pid) // another process may get its number
}

// tell adds those that may be of the last day to kills, as named describes them; now is the time since boot
// without that in which the machine was suspended, slept. Before the last suspend it is not known when they
// were. A log that lacks some of them tells of the others, and that there may be more; of none it tells nothing.
func (l kernelLog) tell(now, slept time.Duration, kills *health.OOMKills, named func(oomKill) health.OOMKill) {
	recent, doubtful := uint64(0), false
	for _, k := range slices.Backward(l.kills) {
		if now-k.at >= health.Day {
			continue
		}
		told := named(k)
		told.At, told.Ago = k.at, now-k.at
		if slept >= leastSlept && (l.resumed == 0 || k.at < l.resumed) {
			told.Slept = slept
		}
		kills.Kills = append(kills.Kills, told)
		if told.Ago+told.Slept < health.Day {
			recent++
		} else {
			doubtful = true
		}
	}
	var lacks error
	switch {
	case doubtful:
		lacks = errSlept
	case !l.whole && (l.first < 0 || now-l.first < health.Day) && uint64(len(l.kills)) < kills.SinceBoot:
		lacks = errOverrun
	}
	switch {
	case kills.LastDay != nil:
	case recent > 0 || lacks == nil:
		kills.LastDay, kills.More = &recent, lacks
	default:
		kills.Err = lacks
	}
}

// leastSlept is by how much two clocks must differ to have been read before and after a suspend.
const leastSlept = time.Second
