// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"slices"
	"strconv"
	"time"
)

// maxLent bounds how many programs that lend rights may have started one another, such as sudo.
const maxLent = 16

// owned finds out whom a process belongs to whose files are said to be a system account's: its real user, as
// [FS.UID] tells, or who started a program that lends rights, which has open what that one had. To ask takes of
// a time of its own; once that is spent, it is the effective user.
func (r *FileReader) owned(c candidate) candidate {
	uid, enough, err := r.fs.effectiveUID(c.pid)
	if err != nil {
		return c
	}
	if c.uid = uid; enough || r.asking >= r.fs.filesTime {
		return c
	}
	began := time.Now()
	defer func() { r.asking += time.Since(began) }()
	return r.started(c)
}

// started finds who started a program that lends rights: at(1) and exim take another real user. One of its user IDs
// may still be a person's; otherwise it is the one whose process started it, also through others of that kind. Once
// that process has ended nobody tells, and the audit's number of who logged in is no proof: what a service
// starts has none, and may write one (audit_set_loginuid_perm, kernel/audit.c).
func (r *FileReader) started(c candidate) candidate {
	pid := c.pid
	for range maxLent {
		if !r.fs.Lends(pid) {
			return r.of(c, pid)
		}
		ids, err := readWith(r.fs, parseUserIDs, strconv.Itoa(pid), "status")
		if at := slices.IndexFunc(ids, func(id int) bool { return !SystemAccount(id) }); at >= 0 {
			c.uid = ids[at]
			return c
		}
		p, gone := r.from(pid).process(pid, r.entries)
		if err != nil || gone != nil || p.ParentPID <= 1 {
			break
		}
		pid = p.ParentPID
	}
	c.pool = unclaimed
	return c
}

// of is c as what belongs to the real user of a process. What has lost its parent in a container has the first
// process there for one.
func (r *FileReader) of(c candidate, pid int) candidate {
	uid, err := r.fs.realUID(pid)
	if err != nil {
		return c
	}
	c.uid = uid
	if uid == 0 && r.nested(pid) {
		c.pool = contained
	}
	return c
}

// nested reports whether a process is in a container.
func (r *FileReader) nested(pid int) bool {
	status, err := r.fs.Status(pid)
	return err == nil && status.Nested
}
