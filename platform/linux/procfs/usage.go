// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// A Usage holds the fields of /proc/PID/status (proc_pid_status(5)) that say whose rights a process
// has and what memory it uses, in bytes. A kernel thread has no memory; kinds that a kernel does not
// tell (before Linux 4.5) are missing.
type Usage struct {
	EffectiveUID int
	Memory       map[string]uint64 // by the name in the file: VmRSS, RssAnon, VmSwap ...
}

// Usage reads what a process uses.
func (fs FS) Usage(pid int) (Usage, error) {
	return readWith(fs, parseUsage, strconv.Itoa(pid), "status")
}

func parseUsage(b []byte) (Usage, error) {
	u := Usage{EffectiveUID: -1, Memory: map[string]uint64{}}
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		switch {
		case string(name) == "Uid" && len(fields) == 4:
			if n, ok := number(fields[1]); ok && n < 1<<32 {
				u.EffectiveUID = int(n)
			}
		case (bytes.HasPrefix(name, []byte("Vm")) || bytes.HasPrefix(name, []byte("Rss")) || string(name) == "HugetlbPages") && len(fields) == 2 && string(fields[1]) == "kB":
			if n, ok := number(fields[0]); ok && n < 1<<53 {
				u.Memory[string(name)] = n << 10
			}
		}
	}
	if u.EffectiveUID < 0 {
		return Usage{}, fmt.Errorf("uid: %w", ErrFormat)
	}
	return u, nil
}

// A ResourceLimit is one line of /proc/PID/limits (proc_pid_limits(5)). Nil is unlimited.
type ResourceLimit struct {
	Name       string
	Soft, Hard *uint64
	Unit       string // "" for a number
}

// Limits reads the resource limits of a process.
func (fs FS) Limits(pid int) ([]ResourceLimit, error) {
	return readWith(fs, parseLimits, strconv.Itoa(pid), "limits")
}

// The columns of /proc/PID/limits have fixed widths (proc_pid_limits in fs/proc/base.c).
const (
	limitName = 26
)

func parseLimits(b []byte) ([]ResourceLimit, error) {
	var list []ResourceLimit
	head := true
	for line := range lines(b) {
		if head {
			head = false
			continue
		}
		if len(line) < limitName {
			return nil, fmt.Errorf("limits: %w", ErrFormat)
		}
		l := ResourceLimit{Name: string(bytes.TrimSpace(line[:limitName]))}
		fields := bytes.Fields(line[limitName:])
		if len(fields) < 2 {
			return nil, fmt.Errorf("%s: %w", l.Name, ErrFormat)
		}
		for i, to := range []**uint64{&l.Soft, &l.Hard} {
			if string(fields[i]) == "unlimited" {
				continue
			}
			n, ok := number(fields[i])
			if !ok {
				return nil, fmt.Errorf("%s: %w", l.Name, ErrFormat)
			}
			*to = &n
		}
		if len(fields) > 2 {
			l.Unit = string(fields[2])
		}
		list = append(list, l)
	}
	return list, nil
}

// A SystemCall is what a thread has asked of the kernel (proc_pid_syscall(5)).
type SystemCall struct {
	Running bool // it runs in user space, and the rest is 0
	Number  int  // -1 where it waits in the kernel without having called it
	First   uint64
}

// SystemCall reads in which system call the first thread of a process is. It needs the right to
// trace the process.
func (fs FS) SystemCall(pid int) (SystemCall, error) {
	return readWith(fs, parseSystemCall, strconv.Itoa(pid), "syscall")
}

func parseSystemCall(b []byte) (SystemCall, error) {
	fields := bytes.Fields(b)
	if len(fields) == 1 && string(fields[0]) == "running" {
		return SystemCall{Running: true}, nil
	}
	if len(fields) < 2 {
		return SystemCall{}, fmt.Errorf("syscall: %w", ErrFormat)
	}
	if string(fields[0]) == "-1" {
		return SystemCall{Number: -1}, nil
	}
	n, ok := number(fields[0])
	first, err := strconv.ParseUint(string(bytes.TrimPrefix(fields[1], []byte("0x"))), 16, 64)
	if !ok || n > 1<<16 || err != nil {
		return SystemCall{}, fmt.Errorf("syscall: %w", ErrFormat)
	}
	return SystemCall{Number: int(n), First: first}, nil
}

// noLogin is the login user of what no login started (AUDIT_UID_UNSET in include/uapi/linux/audit.h).
const noLogin = 1<<32 - 1

// LoginUID reads who logged in to the session that a process descends from; false for none. It is
// missing in kernels without audit.
func (fs FS) LoginUID(pid int) (uid int, ok bool, err error) {
	n, err := fs.one(pid, "loginuid")
	return int(n), err == nil && n < noLogin, err
}

// AuditSession reads the session that pam_loginuid(8) has put a process in; false for none (AUDIT_SID_UNSET).
func (fs FS) AuditSession(pid int) (id uint64, ok bool) {
	id, err := fs.one(pid, "sessionid")
	return id, err == nil && id != 0 && id != noLogin
}

// OOMScore reads how soon the kernel kills a process for want of memory (proc_pid_oom_score(5)).
func (fs FS) OOMScore(pid int) (int, error) {
	n, err := fs.one(pid, "oom_score")
	return int(n), err
}

// one reads a file of a process that holds one number.
func (fs FS) one(pid int, name string) (uint64, error) {
	return readWith(fs, func(b []byte) (uint64, error) {
		n, ok := number(bytes.TrimSpace(b))
		if !ok || n > noLogin {
			return 0, ErrFormat
		}
		return n, nil
	}, strconv.Itoa(pid), name)
}

// Link reads a symbolic link of a process, such as cwd, fd/3 or ns/net.
func (fs FS) Link(pid int, name string) (string, error) {
	return fs.readlink(strconv.Itoa(pid), name)
}

// Of returns the view of a process: its net is that of its network namespace.
func (fs FS) Of(pid int) FS {
	fs.process = strconv.Itoa(pid)
	return fs
}
