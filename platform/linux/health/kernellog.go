// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/health"
	"sentinel/internal/lazyregexp"
	"sentinel/platform/linux/cgroup"
)

// maxKernelLog bounds what is read of the kernel's log, in bytes. Its buffer has some
// hundred KiB by default and 32 MiB at most (CONFIG_LOG_BUF_SHIFT).
const maxKernelLog = 32 << 20

// A kernelLog is what the log says of processes that were killed for want of memory.
type kernelLog struct {
	kills []oomKill // oldest first
	first time.Duration
	whole bool // it begins at boot
}

// An oomKill is a process that was killed at a time since boot, in a control group; "" is unknown.
type oomKill struct {
	at          time.Duration
	name, group string
}

// readKernelLog reads the log device of the kernel, whose records are read one
// at a time (Documentation/ABI/testing/dev-kmsg).
func readKernelLog(path string) (kernelLog, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return kernelLog{}, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var text bytes.Buffer
	record := make([]byte, 16<<10)
	for text.Len() < maxKernelLog {
		n, err := unix.Read(fd, record)
		switch {
		case errors.Is(err, unix.EPIPE) || errors.Is(err, unix.EINTR): // the record was overwritten
			continue
		case errors.Is(err, unix.EAGAIN) || err == nil && n == 0:
			return parseKernelLog(text.Bytes()), nil
		case err != nil:
			return kernelLog{}, err
		}
		text.Write(record[:n])
	}
	return kernelLog{}, io.ErrShortBuffer
}

// killed is how the kernel tells of it, before Linux 5.0 without the reason (mm/oom_kill.c,
// __oom_kill_process). A name may hold anything but a line break.
var killed = lazyregexp.New(`^(?:(?:Memory cgroup out|Out) of memory(?: \([a-z_]+\))?: )?Killed process (\d+) \((.*)\) total-vm:`)

// summary is the line before, with the control group of the process (mm/oom_kill.c, dump_oom_summary,
// since Linux 5.0).
var summary = lazyregexp.New(`^oom-kill:constraint=.*?,task_memcg=(/[^,]*),task=.*,pid=(\d+),uid=\d+\s*$`)

// parseKernelLog reads records "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT". Only the kernel itself
// writes with facility 0, so nobody can forge one.
func parseKernelLog(b []byte) kernelLog {
	log, groups := kernelLog{first: -1}, map[string]string{}
	for line := range bytes.Lines(b) {
		head, text, ok := bytes.Cut(line, []byte(";"))
		fields := bytes.Split(head, []byte(","))
		if !ok || len(fields) < 4 || line[0] == ' ' {
			continue
		}
		priority, err := strconv.ParseUint(string(fields[0]), 10, 32)
		sequence, serr := strconv.ParseUint(string(fields[1]), 10, 64)
		micros, terr := strconv.ParseUint(string(fields[2]), 10, 53)
		if err != nil || serr != nil || terr != nil {
			continue
		}
		at := time.Duration(micros) * time.Microsecond
		if log.first < 0 {
			log.first, log.whole = at, sequence == 0
		}
		if priority>>3 != 0 {
			continue
		}
		if m := summary.Get().FindSubmatch(text); m != nil {
			groups[string(m[2])] = string(m[1])
		}
		if m := killed.Get().FindSubmatch(text); m != nil {
			pid := string(m[1])
			log.kills = append(log.kills, oomKill{at, string(m[2]), groups[pid]})
			delete(groups, pid) // another process may get its number
		}
	}
	return log
}

// tell adds those of the last day to kills; now is the time since boot. A log that
// lacks some of them tells of the others, and of none nothing.
func (l kernelLog) tell(now time.Duration, kills *health.OOMKills) {
	for _, k := range slices.Backward(l.kills) {
		if now-k.at < health.Day {
			kills.Kills = append(kills.Kills, health.OOMKill{Process: k.name, Unit: cgroup.Unit(k.group), Ago: now - k.at})
		}
	}
	recent := uint64(len(kills.Kills))
	all := l.whole || l.first >= 0 && now-l.first >= health.Day || uint64(len(l.kills)) >= kills.SinceBoot
	switch {
	case kills.LastDay != nil:
	case all || recent > 0:
		kills.LastDay = &recent
	default:
		kills.Err = errOverrun
	}
}
