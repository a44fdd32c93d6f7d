// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// A ProcessStatus holds the fields of /proc/PID/status that identify a process
// (proc_pid_status(5)).
type ProcessStatus struct {
	TGID      int  // Tgid: the process that a thread belongs to; the PID itself for a process
	TracerPID int  // TracerPid: 0 without a tracer
	UID       int  // Uid: the real user ID
	Nested    bool // NSpid: the process is in a child of this /proc's PID namespace; Linux 4.1 and later
	First     bool // NSpid: it is the first of such a child, with which all others there end
}

// Status reads /proc/PID/status. pid may be the ID of a thread.
func (fs FS) Status(pid int) (ProcessStatus, error) {
	return readWith(fs, parseProcessStatus, strconv.Itoa(pid), "status")
}

// parseProcessStatus requires every field except NSpid. The name, which any process may choose, is
// in the first line with its newlines escaped.
func parseProcessStatus(b []byte) (ProcessStatus, error) {
	var s ProcessStatus
	wanted := map[string]*int{"Tgid": &s.TGID, "TracerPid": &s.TracerPID, "Uid": &s.UID}
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if string(name) == "NSpid" {
			s.Nested = len(fields) > 1
			s.First = s.Nested && string(fields[len(fields)-1]) == "1"
		}
		to, ok := wanted[string(name)]
		if !ok {
			continue
		}
		if len(fields) == 0 {
			return ProcessStatus{}, fmt.Errorf("%s: %w", name, ErrFormat)
		}
		n, ok := number(fields[0])
		if !ok || n >= 1<<32 {
			return ProcessStatus{}, fmt.Errorf("%s: %w", name, ErrFormat)
		}
		*to = int(n)
		delete(wanted, string(name))
	}
	if len(wanted) > 0 || s.TGID == 0 {
		return ProcessStatus{}, fmt.Errorf("status: %w", ErrFormat)
	}
	return s, nil
}
