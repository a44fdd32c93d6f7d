// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// A ProcessStatus holds the fields of /proc/PID/status that tell what a process
// is (proc_pid_status(5)).
type ProcessStatus struct {
	Process int  // Tgid: the process of which the ID is a thread; the ID itself for a process
	Tracer  int  // TracerPid: 0 without one
	UserID  int  // Uid: the real one
	Nested  bool // NSpid: in a PID namespace below that of this /proc; Linux 4.1 and later
}

// Status reads /proc/PID/status. pid may be that of a thread.
func (fs FS) Status(pid int) (ProcessStatus, error) {
	return readWith(fs, parseProcessStatus, strconv.Itoa(pid), "status")
}

// parseProcessStatus demands every field but NSpid. The name, which anyone
// chooses, stands in the first line with its newlines escaped.
func parseProcessStatus(b []byte) (ProcessStatus, error) {
	var s ProcessStatus
	wanted := map[string]*int{"Tgid": &s.Process, "TracerPid": &s.Tracer, "Uid": &s.UserID}
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if string(name) == "NSpid" {
			s.Nested = len(fields) > 1
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
	if len(wanted) > 0 || s.Process == 0 {
		return ProcessStatus{}, fmt.Errorf("status: %w", ErrFormat)
	}
	return s, nil
}
