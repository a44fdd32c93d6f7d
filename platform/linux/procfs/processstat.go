// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// A ProcessStat holds the fields of /proc/PID/stat that sentinel needs
// (proc_pid_stat(5)). Field numbers are those of the manual.
type ProcessStat struct {
	PID       int
	Name      string // 2: comm, at most 15 bytes, may contain anything
	State     byte   // 3
	ParentPID int    // 4
	Session   int    // 6: PID of the leader of its session
	Terminal  uint32 // 7: device number of the controlling terminal, as new_encode_dev makes it; 0 for none
	Flags     uint64 // 9: PF_KTHREAD is 0x00200000
	Ticks     uint64 // 14 + 15: user and system time in clock ticks (100 a second)
	Reaped    uint64 // 16 + 17: the same of the children that it has waited for, and of theirs; 0 where not told
	Threads   uint64 // 20
	Start     uint64 // 22: clock ticks after boot
	RSSPages  uint64 // 24
	// Headless says that the first thread of the process has ended and others go on; State and RSSPages
	// are those of one of them.
	Headless bool
	// Unseen says that none of them could be looked at: State and RSSPages are not known, and 0.
	Unseen bool
}

// Zombie says that the process has ended and was not collected.
func (p ProcessStat) Zombie() bool { return p.State == 'Z' && !p.Headless }

// exiting marks a thread that ends (PF_EXITING, include/linux/sched.h).
const exiting = 0x4

// Exiting says that the first thread of the process ends.
func (p ProcessStat) Exiting() bool { return p.Flags&exiting != 0 }

// Over says that the last thread of the process has ended, or ends.
func (p ProcessStat) Over() bool { return p.Zombie() || p.Threads < 2 && p.Exiting() }

// fieldsAfterName is the number of fields from field 3 up to the last one that is read.
const fieldsAfterName = 24 - 3 + 1

// parseProcessStat parses one /proc/PID/stat. The name is in parentheses and may itself contain
// parentheses, blanks and newlines, so it ends at the last closing parenthesis.
func parseProcessStat(b []byte) (ProcessStat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return ProcessStat{}, fmt.Errorf("process name: %w", ErrFormat)
	}
	pid, ok := number(bytes.TrimSpace(b[:open]))
	if !ok || pid == 0 || pid > 1<<31-1 {
		return ProcessStat{}, fmt.Errorf("pid: %w", ErrFormat)
	}
	var fields [fieldsAfterName][]byte
	if !splitInto(fields[:], b[end+1:]) || len(fields[0]) != 1 {
		return ProcessStat{}, fmt.Errorf("fields: %w", ErrFormat)
	}
	p := ProcessStat{PID: int(pid), Name: string(b[open+1 : end]), State: fields[0][0]}
	return p, p.numbers(fields[:])
}

// maxTicks keeps the sum of two times from overflowing.
const maxTicks = 1 << 60

// numbers fills in the numeric fields; fields[0] is field 3.
func (p *ProcessStat) numbers(fields [][]byte) error {
	var parent, user, system uint64
	for _, f := range []struct {
		field int
		to    *uint64
	}{
		{4, &parent}, {9, &p.Flags}, {14, &user}, {15, &system}, {20, &p.Threads}, {22, &p.Start}, {24, &p.RSSPages},
	} {
		n, ok := number(fields[f.field-3])
		if !ok {
			return fmt.Errorf("field %d: %w", f.field, ErrFormat)
		}
		*f.to = n
	}
	if user > maxTicks || system > maxTicks {
		return fmt.Errorf("times: %w", ErrFormat)
	}
	p.ParentPID = int(min(parent, 1<<31-1))
	// Both are signed: -1 for the session of a process that is ending, and larger minors set the
	// highest bit of a device number.
	session, err := strconv.ParseInt(string(fields[6-3]), 10, 32)
	terminal, bad := strconv.ParseInt(string(fields[7-3]), 10, 32)
	if err != nil || bad != nil {
		return fmt.Errorf("fields 6 and 7: %w", ErrFormat)
	}
	p.Session, p.Terminal = int(max(session, 0)), uint32(terminal)
	p.Ticks = user + system
	p.Reaped = reaped(fields[16-3], fields[17-3])
	p.Headless = p.State == 'Z' && p.Threads > 1
	return nil
}

// reaped adds two times that the kernel prints as signed numbers.
func reaped(user, system []byte) uint64 {
	u, ok1 := number(user)
	s, ok2 := number(system)
	if !ok1 || !ok2 || u > maxTicks || s > maxTicks {
		return 0
	}
	return u + s
}

// splitInto fills dst with the blank-separated words of b, without allocating. It fails when the
// last of them ends with b, as the file may have been cut off there.
func splitInto(dst [][]byte, b []byte) bool {
	at := 0
	for i := range dst {
		for at < len(b) && b[at] == ' ' {
			at++
		}
		begin := at
		for at < len(b) && b[at] != ' ' && b[at] != '\n' {
			at++
		}
		if at == begin || at == len(b) {
			return false
		}
		dst[i] = b[begin:at]
	}
	return true
}
